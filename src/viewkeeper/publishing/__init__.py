"""Views as plain Delta tables for everybody else: one commit for each change, as large as the change."""

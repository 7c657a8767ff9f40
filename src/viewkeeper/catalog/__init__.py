"""What a warehouse defines: tables, views, and the names that they may have."""

"""`docs/support.md`, made by asking every strategy about every example."""

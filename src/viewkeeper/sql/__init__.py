"""The SQL front end, and the way back from algebra to SQL text."""

"""The only folder that knows PySpark: sessions, running SQL text, reading and writing files."""

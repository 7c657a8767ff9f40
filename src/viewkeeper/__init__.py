"""Incremental view maintenance for Apache Spark."""

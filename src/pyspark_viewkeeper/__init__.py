"""Spark looks for data sources in modules whose names begin like this one's, and finds `viewkeeper` here."""

from viewkeeper.spark.source import ViewkeeperSource as DefaultSource

__all__ = ["DefaultSource"]

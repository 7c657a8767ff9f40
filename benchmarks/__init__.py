"""Workloads that measure Viewkeeper against vanilla Spark: `viewkeeper bench NAME`.

A workload is a file with `run(scale: float) -> harness.Table`; scale 1 is the size of the claims.
"""

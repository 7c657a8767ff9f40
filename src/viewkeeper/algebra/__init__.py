"""Relational algebra over signed bags: a closed set of frozen nodes, and pure functions over them."""

"""Definitions that come, change and go: tables, views, Datalog programs."""

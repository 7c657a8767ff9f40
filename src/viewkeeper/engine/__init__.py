"""Engines that run plans: the port between both, and the local one. The other one is Spark."""

"""Choosing a strategy, and the steps that are executed and explained alike."""

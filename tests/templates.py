"""Warehouses that are filled once in a run, and copied for each test."""

from __future__ import annotations

from collections.abc import Callable

import viewkeeper as vk

Filling = Callable[[vk.Warehouse], None]
"""Creates tables and views in an empty warehouse, and gives them rows."""

Filled = Callable[[Filling], vk.Warehouse]
"""The fixture `filled`: the test's warehouse, as a function fills it."""

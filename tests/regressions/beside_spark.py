"""Views beside Spark's own answers to their texts: rows, names of columns and types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

import viewkeeper as vk


def quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


class Beside:
    """A warehouse whose views are compared with their texts, which plain Spark runs over the same tables."""

    def __init__(self, warehouse: vk.Warehouse, *statements: str) -> None:
        self.warehouse = warehouse
        self.views: dict[str, str] = {}
        self.run(*statements)

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.warehouse.sql(statement)

    def define(self, views: Mapping[str, str], policy: str = "incremental") -> None:
        for name, text in views.items():
            self.warehouse.create_view(name, text, policy=policy)
            self.views[name] = text
        self.check()

    def after(self, *statements: str) -> vk.Report:
        """Runs the statements, refreshes, and compares every view."""
        self.run(*statements)
        report = self.warehouse.refresh()
        self.check()
        return report

    def check(self) -> None:
        spark = self.warehouse.spark
        for status in self.warehouse.status():
            if status.kind == "table":
                self.warehouse.table(status.name).createOrReplaceTempView(quoted(status.name))
        for name, text in self.views.items():
            shown, wanted = self.warehouse.table(name), spark.sql(text)
            assert shown.dtypes == wanted.dtypes, text
            assert bag(shown) == bag(wanted), text
            wanted.createOrReplaceTempView(quoted(name))


def bag(frame: DataFrame) -> Counter[Any]:
    """The rows of a small DataFrame; maps have no order."""
    return Counter(tuple(_hashable(value) for value in row) for row in frame.collect())


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return frozenset((key, _hashable(inner)) for key, inner in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value

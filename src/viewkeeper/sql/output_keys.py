"""Which output columns of a query say what a row is about: its group, where it groups.

SELECT store, UPPER(item) AS i, SUM(qty) AS q FROM pos GROUP BY store, item  →  0, 1
"""

from __future__ import annotations

from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from viewkeeper.sql.aggregate_calls import is_aggregate_call
from viewkeeper.sql.dialect import ViewkeeperSpark


@lru_cache(maxsize=1024)
def key_places(sql: str) -> tuple[int, ...] | None:
    """The places of the columns that depend on the group alone; None where the query is no grouping."""
    try:
        tree = sqlglot.parse_one(sql, dialect=ViewkeeperSpark)
    except SqlglotError:
        return None
    if not isinstance(tree, exp.Select) or tree.is_star:
        return None
    if tree.args.get("group") is None and not any(_is_aggregated(item) for item in tree.expressions):
        return None
    return tuple(place for place, item in enumerate(tree.expressions) if _is_of_the_group(item))


def _is_aggregated(item: exp.Expr) -> bool:
    calls = (node for node in item.walk() if is_aggregate_call(node))
    return any(node.find_ancestor(exp.Window, exp.Subquery) is None for node in calls)


def _is_of_the_group(item: exp.Expr) -> bool:
    return item.find(exp.Window, exp.Query) is None and not any(map(is_aggregate_call, item.walk()))

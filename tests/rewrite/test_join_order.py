"""A change meets small tables first, where equalities allow it."""

from __future__ import annotations

from viewkeeper.algebra.relations import Relation, Scan
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.algebra.walk import nodes
from viewkeeper.delta import delta
from viewkeeper.rewrite.join_order import small_first
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view

COLUMNS = {"line": "part supp", "part": "part", "supp": "supp nation", "nation": "nation"}
TABLES = StaticCatalog(
    tuple(
        TableSchema(name, tuple(Column(one, "int") for one in columns.split()))
        for name, columns in COLUMNS.items()
    )
)
SIZES = {"line": 6_000_000, "part": 200_000, "supp": 10_000, "nation": 25}
ALL = """SELECT line.part FROM line JOIN part ON line.part = part.part
         JOIN supp ON line.supp = supp.supp JOIN nation ON supp.nation = nation.nation"""


def order(text: str, sizes: dict[str, int]) -> list[str]:
    """The tables of the delta of `line` in the order in which it meets them."""
    query = parse_view(text, TABLES).relation
    assert query is not None
    change = small_first(delta(query, frozenset({"line"})), sizes)
    return [scan.table for scan in _leaves(change)]


def _leaves(rel: Relation) -> list[Scan]:
    return [node for node in nodes(rel) if isinstance(node, Scan)]


def test_small_tables_come_before_large_ones() -> None:
    assert order(ALL, SIZES) == ["line", "supp", "nation", "part"]


def test_sizes_decide_and_not_the_text() -> None:
    assert order(ALL, {**SIZES, "part": 5}) == ["line", "part", "supp", "nation"]


def test_a_table_waits_for_the_one_that_connects_it() -> None:
    """`nation` is the smallest, and nothing but `supp` leads to it."""
    assert order(ALL, {**SIZES, "part": 20}) == ["line", "part", "supp", "nation"]
    assert order(ALL, {**SIZES, "supp": 150_000}) == ["line", "supp", "nation", "part"]


def test_a_join_that_is_in_order_is_left_as_it_is() -> None:
    query = parse_view("SELECT line.part FROM line JOIN part ON line.part = part.part", TABLES).relation
    assert query is not None
    change = delta(query, frozenset({"line"}))
    assert small_first(change, SIZES) is change

"""katsis15 section 7: what the scripts of the experiments' views read, before anything is run."""

from __future__ import annotations

import pytest

from benchmarks.bsma import KEYS, QUERIES
from benchmarks.ids import SWEEPS, Setting
from tests.reference.scripts import base_table_reads
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.maintenance.id_diffs import Caching, IdView, define
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view

COLUMNS = {
    "users": ("uid", "city", "tweetsnum", "favornum"),
    "friendlist": ("uid", "friendid"),
    "microblog": ("mid", "uid", "time"),
    "rel_event_microblog": ("mid", "tag"),
    "mentions": ("mid", "uid"),
    "retweets": ("mid", "remid"),
    "parts": ("pid", "price"),
    "devices": ("did", "category"),
    "devices_parts": ("did", "pid"),
    **{f"r{n}": ("did", "pid", f"x{n}") for n in range(1, 5)},
}
OWN_KEYS = {"parts": ["pid"], "devices": ["did"], **KEYS}
STRINGS = ("city", "category")


def schema(name: str) -> TableSchema:
    columns = tuple(Column(c, "string" if c in STRINGS else "int") for c in COLUMNS[name])
    return TableSchema(name, columns, tuple(OWN_KEYS.get(name, ("did", "pid"))))


SCHEMAS = {name: schema(name) for name in COLUMNS}


def defined(sql: str, tuple_based: bool = False) -> IdView:
    plan = parse_view(sql, StaticCatalog(tuple(SCHEMAS.values()))).relation
    assert plan is not None
    found = define("v", plan, SCHEMAS, caching=Caching.ALWAYS, tuple_based=tuple_based)
    assert isinstance(found, IdView), found
    return found


def tables_read(definition: IdView, table: str, column: str) -> list[str]:
    """The base tables that are read for an update of one column, each as often as it is read."""
    updates = [diff for diff in definition.diffs_of(table) if diff.schema.kind is DiffKind.UPDATE]
    changed = {diff.name for diff in updates if column in diff.schema.updated}
    return sorted(scan.table for scan in base_table_reads(definition.script(changed)))


@pytest.mark.parametrize("name", QUERIES)
def test_figure_9_updates_of_users_read_no_base_table(name: str) -> None:
    assert tables_read(defined(QUERIES[name]), "users", "tweetsnum") == []


@pytest.mark.parametrize(
    "setting", {s.joins: s for s in SWEEPS["joins"]}.values(), ids=lambda s: str(s.joins)
)
def test_figure_11_new_prices_read_no_base_table_however_many_joins(setting: Setting) -> None:
    assert tables_read(defined(setting.query), "parts", "price") == []


def test_a_tuple_based_diff_reads_every_table_that_it_joins_once() -> None:
    found = tables_read(defined(Setting(joins=3).query, tuple_based=True), "parts", "price")
    assert found == ["devices", "devices_parts", "r1"]
    friends = tables_read(defined(QUERIES["Q*1"], tuple_based=True), "users", "tweetsnum")
    assert friends == ["friendlist", "friendlist", "users"]

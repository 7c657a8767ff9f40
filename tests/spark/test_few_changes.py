"""A few changed rows are read once, by the driver, for all views of a refresh, and mean what the files do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import viewkeeper as vk
from viewkeeper.engine.rows import Held
from viewkeeper.limits import LIMITS
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.frames import Answer

pytestmark = pytest.mark.usefixtures("maintained")

COLUMNS = (
    "a TINYINT, b INT, c BIGINT, d DECIMAL(20, 3), e DOUBLE, f FLOAT, g STRING, h BOOLEAN, i DATE, j BINARY"
)
CHANGED = """
    (1, 2, 3, 4.125, DOUBLE('NaN'), FLOAT('0.25'), 'é', true, DATE'0001-01-01', X'00FF'),
    (-128, -2147483648, 9223372036854775807, -99999999999999999.999, -1.5, FLOAT('Infinity'), '', false,
     DATE'9999-12-31', X''),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Answer]:
    """What was read of changes, for whom it might concern."""
    found: list[Answer] = []
    opens = SparkEngine.open

    def watched(self: SparkEngine, *arguments: object) -> Answer:
        found.append(opens(self, *arguments))  # type: ignore[arg-type]
        return found[-1]

    monkeypatch.setattr(SparkEngine, "open", watched)
    return found


def is_local(rows: Answer) -> bool:
    return isinstance(rows, Held)


def test_every_type_means_the_same(
    warehouse: vk.Warehouse, opened: list[Answer], limit: Callable[..., None]
) -> None:
    warehouse.sql(f"CREATE TABLE t ({COLUMNS})")
    warehouse.create_view("held", "SELECT * FROM t")
    warehouse.create_view("scanned", "SELECT * FROM t")
    warehouse.sql(f"INSERT INTO t VALUES {CHANGED}")
    warehouse.refresh("held")
    assert [is_local(frame) for frame in opened] == [True]
    limit(changes_held=0)
    warehouse.refresh("scanned")
    assert [is_local(frame) for frame in opened] == [True, False]
    both = [sorted(map(repr, warehouse.table(name).collect())) for name in ("held", "scanned", "t")]
    assert both[0] == both[1] == both[2]
    assert len(both[0]) == 3


def test_views_share_what_is_read(warehouse: vk.Warehouse, opened: list[Answer]) -> None:
    warehouse.sql("CREATE TABLE t (a INT, b INT)")
    for number in range(3):
        warehouse.create_view(f"v{number}", f"SELECT a, b + {number} AS b FROM t")
    warehouse.sql("INSERT INTO t VALUES (1, 2), (1, 3)")
    warehouse.refresh()
    assert len(opened) == 3
    assert len({id(frame) for frame in opened}) == 1
    warehouse.sql("DELETE FROM t WHERE b = 3")
    warehouse.refresh()
    assert len({id(frame) for frame in opened}) == 2, "and it is read anew the next time"
    assert [tuple(row) for row in warehouse.table("v2").collect()] == [(1, 4)]


def test_timestamps_and_many_rows_are_read_from_files(warehouse: vk.Warehouse, opened: list[Answer]) -> None:
    warehouse.sql("CREATE TABLE t (a TIMESTAMP)")
    warehouse.create_view("v", "SELECT * FROM t")
    warehouse.sql("INSERT INTO t VALUES (TIMESTAMP'1900-01-01 00:00:00')")
    warehouse.refresh()
    warehouse.sql("CREATE TABLE many (a INT)")
    warehouse.create_view("w", "SELECT * FROM many")
    with warehouse.transaction() as t:
        t.insert("many", [(number,) for number in range(LIMITS.changes_held + 1)])
    warehouse.refresh()
    assert [is_local(frame) for frame in opened] == [False, False]
    assert warehouse.verify("v")
    assert warehouse.verify("w")


def test_a_damaged_file_is_named(warehouse: vk.Warehouse, tmp_path: Path) -> None:
    warehouse.sql("CREATE TABLE t (a INT)")
    warehouse.create_view("v", "SELECT * FROM t")
    warehouse.sql("INSERT INTO t VALUES (1)")
    state = warehouse._work.log.latest().relations["t"]
    [file] = state.log[-1].files
    path = Path(warehouse._work.engine.folder.url, state.folder, file.path)
    path.write_bytes(b"x" * file.bytes)
    with pytest.raises(vk.ViewkeeperError, match=path.name):
        warehouse.refresh()

"""Wrong answers that were found once, against plain Spark on the views' own texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession

import viewkeeper as vk
from tests.regressions.mirrored import Mirrored, bag
from viewkeeper.catalog.catalog import Settings
from viewkeeper.errors import WrongType
from viewkeeper.spark.execute import Execution
from viewkeeper.spark.meaning import settings_of, under
from viewkeeper.spark.session import settings as engine_settings

pytestmark = pytest.mark.usefixtures("maintained")


@pytest.fixture
def mirrored(warehouse: vk.Warehouse) -> Mirrored:
    return Mirrored(warehouse)


PATHS = """WITH RECURSIVE p(a, b, n) AS (
  SELECT a, b, 1 FROM e UNION ALL SELECT p.a, e.b, n + 1 FROM p JOIN e ON p.b = e.a WHERE n < 4) """


class TestFormsOfReading:
    """A relation that is read with its counts and without is two things to read."""

    def test_a_table_inside_a_recursion_and_beside_it(self, mirrored: Mirrored) -> None:
        mirrored.table("e", "a INT, b INT", [(1, 2), (2, 3), (3, 4), (4, 5), (2, 3)])
        mirrored.change("e", delete=[(2, 3)], insert=[(5, 6)])
        mirrored.change("e", delete=[(3, 4)], insert=[(3, 5)])
        mirrored.view("beside", PATHS + "SELECT p.a, p.b, e.b AS c FROM p JOIN e ON p.a = e.a")
        mirrored.view("above", PATHS + "SELECT a, b FROM p UNION ALL SELECT a, b FROM e")
        assert not mirrored.wrong(), "filled over pending deletions"
        mirrored.change("e", delete=[(1, 2)])
        mirrored.change("e", insert=[(1, 2), (1, 2)])
        mirrored.change("e", delete=[(1, 2)])
        assert not mirrored.refreshed(policy="full")
        assert all(mirrored.warehouse.verify(view) for view in mirrored.views)
        mirrored.change("e", delete=[(5, 6)], insert=[(5, 1)])
        assert not mirrored.refreshed(policy="incremental")

    def test_a_scalar_subquery_over_the_table_of_a_recursion(self, mirrored: Mirrored) -> None:
        mirrored.table("e", "a INT, b INT", [(1, 2), (2, 3), (2, 3)])
        counted = PATHS + "SELECT a, COUNT(*) AS n, (SELECT COUNT(*) FROM e) AS m FROM p GROUP BY a"
        mirrored.view("counted", counted, policy="full")
        mirrored.change("e", delete=[(2, 3)], insert=[(3, 1)])
        mirrored.change("e", delete=[(2, 3)])
        assert not mirrored.refreshed()


ZONED = (
    "SELECT id, CAST(at AS STRING) AS s, to_date(at) AS d, date_trunc('DAY', at) AS t FROM seen",
    "SELECT to_date(at) AS d, COUNT(*) AS n, MAX(hour(at)) AS h FROM seen GROUP BY to_date(at)",
    "SELECT id FROM seen WHERE at > TIMESTAMP'2024-01-02 00:00:00'",
    "SELECT a.id, b.id AS other FROM seen a JOIN seen b ON to_date(a.at) = to_date(b.at)",
)


@pytest.fixture
def told(spark: SparkSession) -> Callable[..., AbstractContextManager[None]]:
    """Gives the session settings for a while: `told(ansi__enabled="false")`."""

    @contextmanager
    def tell(**values: str) -> Iterator[None]:
        named = {f"spark.sql.{name.replace('__', '.')}": value for name, value in values.items()}
        before = {name: spark.conf.get(name, None) for name in named}
        for name, value in named.items():
            spark.conf.set(name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                spark.conf.unset(name) if value is None else spark.conf.set(name, value)

    return tell


Tell = Callable[..., AbstractContextManager[None]]


class TestSettings:
    """A view keeps the settings that it was defined under, whoever refreshes it."""

    def test_time_zones(self, warehouse: vk.Warehouse, told: Tell) -> None:
        warehouse.sql("CREATE TABLE seen (id INT, at TIMESTAMP)")
        warehouse.sql(
            "INSERT INTO seen VALUES (1, TIMESTAMP'2024-01-01 23:30:00'), (2, TIMESTAMP'2024-01-02 1:30:00')"
        )
        zones = {"utc": "UTC", "tokyo": "Asia/Tokyo"}
        for name, zone in zones.items():
            with told(session__timeZone=zone):
                for number, query in enumerate(ZONED):
                    warehouse.create_view(f"{name}{number}", query, policy="strict")
        with told(session__timeZone="America/Los_Angeles"):
            warehouse.sql("INSERT INTO seen VALUES (3, TIMESTAMP'2024-01-01 15:30:00')")
            warehouse.sql("INSERT INTO seen VALUES (4, TIMESTAMP'2024-01-01 17:30:00')")
            warehouse.sql("DELETE FROM seen WHERE id = 2")
            warehouse.refresh()
            assert all(warehouse.verify(f"{name}{number}") for name in zones for number in range(len(ZONED)))
            assert warehouse.spark.conf.get("spark.sql.session.timeZone") == "America/Los_Angeles"
        for name, zone in zones.items():
            with told(session__timeZone=zone):
                for number, query in enumerate(ZONED):
                    stored, wanted = warehouse.table(f"{name}{number}"), warehouse.sql(query, use_views=False)
                    assert bag(stored) == bag(wanted), f"{query} in {zone}"

    def test_a_query_is_not_answered_by_a_view_of_another_zone(
        self, warehouse: vk.Warehouse, told: Tell
    ) -> None:
        warehouse.sql("CREATE TABLE seen (id INT, at TIMESTAMP)")
        warehouse.sql("INSERT INTO seen VALUES (1, TIMESTAMP'2024-01-01 23:30:00')")
        warehouse.create_view("days", ZONED[1])
        assert warehouse.explain_query(ZONED[1]).view == "days"
        with told(session__timeZone="Asia/Tokyo"):
            assert warehouse.explain_query(ZONED[1]).rejected[0][1].code == "settings"
            assert [row.d for row in warehouse.sql(ZONED[1]).collect()] == [date(2024, 1, 2)]

    def test_views_over_views_of_other_settings(self, warehouse: vk.Warehouse, told: Tell) -> None:
        """Each level has its own zone: a summary of a summary is then none of the base tables."""
        warehouse.sql("CREATE TABLE seen (id INT, at TIMESTAMP)")
        warehouse.sql("INSERT INTO seen VALUES (1, TIMESTAMP'2024-01-01 23:30:00')")
        warehouse.create_view("days", ZONED[1])
        summed = "SELECT CAST(CAST(d AS TIMESTAMP) AS STRING) AS s, SUM(n) AS n FROM days GROUP BY ALL"
        with told(session__timeZone="Asia/Tokyo"):
            warehouse.create_view("above", summed)
        warehouse.create_view("beside", summed)
        warehouse.sql("INSERT INTO seen VALUES (2, TIMESTAMP'2024-01-01 13:00:00')")
        with told(session__timeZone="America/Los_Angeles"):
            warehouse.refresh(policy="incremental")
        for view in ("above", "beside"):
            assert bag(warehouse.table(view)) == {("2024-01-01 00:00:00", 2): 1}
            assert warehouse.verify(view)

    @pytest.mark.parametrize(
        ("settings", "query", "is_recomputed"),
        [
            ({"ansi__enabled": "false"}, "SELECT id, CAST(x AS INT) AS n, b + 1 AS c FROM s", False),
            (
                {"ansi__enabled": "false"},
                "SELECT CAST(x AS INT) AS n, COUNT(*) AS c FROM s GROUP BY 1",
                False,
            ),
            (
                {"decimalOperations__allowPrecisionLoss": "false"},
                "SELECT d * d AS p, d / 3 AS q FROM s",
                False,
            ),
            ({"caseSensitive": "true"}, "SELECT id, x FROM s WHERE x IS NOT NULL", False),
            ({"caseSensitive": "true"}, "SELECT q.X AS a, q.x AS b FROM (SELECT x, id AS X FROM s) q", True),
            ({"parser__escapedStringLiterals": "true"}, r"SELECT id FROM s WHERE x RLIKE '^\d$'", True),
            ({"groupByOrdinal": "false"}, "SELECT COUNT(*) AS n FROM s GROUP BY 1", True),
        ],
    )
    def test_what_else_a_session_may_say(
        self, mirrored: Mirrored, told: Tell, settings: dict[str, str], query: str, is_recomputed: bool
    ) -> None:
        rows = [(1, "1", Decimal("1.5"), 1), (2, "x", Decimal("2.25"), 2**63 - 1)]
        mirrored.table("s", "id INT, x STRING, d DECIMAL(38,10), b BIGINT", rows)
        with told(**settings):
            mirrored.view("v", query)
        mirrored.change("s", insert=[(3, "y", Decimal("0.1234567891"), 2**63 - 1), (4, "4", None, 5)])
        mirrored.change("s", delete=rows[:1])
        [report] = mirrored.warehouse.refresh()
        assert (report.strategy == "recompute") is is_recomputed
        with told(**settings):
            assert not mirrored.wrong()
        assert mirrored.warehouse.verify("v")

    def test_another_definition_takes_the_settings_of_its_session(
        self, mirrored: Mirrored, told: Tell
    ) -> None:
        query = "SELECT id, CAST(x AS INT) AS n FROM s"
        mirrored.table("s", "id INT, x STRING", [(1, "1")])
        mirrored.view("v", query)
        mirrored.change("s", insert=[(2, "x")])
        with told(ansi__enabled="false"):
            with pytest.raises(vk.ViewkeeperError, match="CAST_INVALID_INPUT"):
                mirrored.warehouse.refresh()
            mirrored.warehouse.alter_view("v", query)
        mirrored.warehouse.refresh()
        with told(ansi__enabled="false"):
            assert not mirrored.wrong()

    def test_views_of_different_settings_wait_for_each_other(
        self, warehouse: vk.Warehouse, told: Tell
    ) -> None:
        """Two threads, two zones, one session: neither sees the zone of the other."""
        spark, zone = warehouse.spark, "spark.sql.session.timeZone"
        here = settings_of(spark)
        there = tuple((name, "Asia/Tokyo" if name == zone else value) for name, value in here)
        found: list[bool] = []

        def look(settings: Settings, wanted: str) -> None:
            for _ in range(20):
                with under(spark, settings):
                    found.append(spark.conf.get(zone) == wanted)

        with ThreadPoolExecutor(3) as pool:
            wanted = [(here, "UTC"), (there, "Asia/Tokyo"), (there, "Asia/Tokyo")]
            for done in [pool.submit(look, *one) for one in wanted]:
                done.result()
        assert found == [True] * 60
        with under(spark, there), under(spark, here):
            assert spark.conf.get(zone) == "UTC"
        assert settings_of(spark) == here

    def test_two_sessions_at_work_at_once(self, spark: SparkSession) -> None:
        """Each has its view's settings and the engine's, whatever the other does, and gets its own back."""
        zone, rule = "spark.sql.session.timeZone", "spark.sql.constraintPropagation.enabled"
        one, other = spark.newSession(), spark.newSession()
        other.conf.set(zone, "Asia/Tokyo")
        own, usual = other.conf.getAll, settings_of(one)
        again = SparkSession(other.sparkContext, other._jsparkSession)  # type: ignore[attr-defined, arg-type]
        with under(one, usual), engine_settings(one), under(other, usual), engine_settings(other):
            assert (other.conf.get(zone), other.conf.get(rule)) == ("UTC", "false")
            with under(again, usual), engine_settings(again):
                assert again.conf.get(zone) == "UTC"
            assert (other.conf.get(zone), other.conf.get(rule)) == ("UTC", "false")
        assert other.conf.getAll == own


class TestRowsThatCameAndWent:
    """An expression is not evaluated for a row that is gone by the time of the refresh."""

    def test_values_that_do_not_fit(self, mirrored: Mirrored) -> None:
        mirrored.table("m", "id INT, a BIGINT, b BIGINT", [(1, 2, 3), (2, 5, 6)])
        mirrored.view("product", "SELECT id, a * b AS c FROM m")
        mirrored.view("summed", "SELECT id, SUM(a * b) AS c FROM m GROUP BY id")
        mirrored.view("chosen", "SELECT id, 10 DIV (a - 7) AS z FROM m WHERE a * b > 0")
        mirrored.view("joined", "SELECT l.id, l.a * r.b AS c FROM m l JOIN m r ON l.id = r.id")
        bad = [(9, 2**62, 4), (7, 7, 1)]
        mirrored.change("m", insert=[*bad, (3, 4, 5)], delete=[(2, 5, 6)])
        with pytest.raises(vk.ViewkeeperError):
            mirrored.warehouse.refresh()
        assert mirrored.warehouse.status()[1].stale, "nothing is half-applied"
        mirrored.change("m", delete=bad)
        assert not mirrored.refreshed()
        mirrored.view("late", "SELECT id, a * b AS c, 10 DIV (a - 7) AS z FROM m WHERE a * b > 0")
        assert not mirrored.wrong(), "filled over the deletions"
        mirrored.change("m", insert=bad)
        mirrored.change("m", delete=[*bad, (1, 2, 3)])
        mirrored.warehouse.compact("m")
        assert not mirrored.refreshed(policy="full")

    def test_questions_over_rows_that_are_gone(self, mirrored: Mirrored) -> None:
        """No condition is moved below the merge of a table with its deletions, of a view with its layers."""
        warehouse = mirrored.warehouse
        mirrored.table("m", "id INT, a BIGINT, s STRING", [(1, 2**62, "x"), (2, 3, "4"), (3, 5, "6")])
        mirrored.table("keyed", "id INT, a BIGINT, s STRING", [(1, 2**62, "x"), (2, 3, "4")], key="id")
        mirrored.view("grouped", "SELECT a, s, COUNT(*) AS n FROM m GROUP BY a, s")
        mirrored.change("m", delete=[(1, 2**62, "x")])
        mirrored.change("keyed", delete=[(1, 2**62, "x")])
        assert not mirrored.refreshed()
        queries = [
            query
            for name in ("m", "keyed", "grouped")
            for query in (
                f"SELECT a FROM {name} WHERE a + a > 0",
                f"SELECT a FROM {name} WHERE CAST(s AS INT) > 0",
                f"SELECT a FROM {name} WHERE s = 4",
                f"SELECT b FROM (SELECT a * a AS b FROM {name}) WHERE b > 0",
                f"SELECT l.a FROM {name} l JOIN {name} r ON l.a * 4 = r.a * 4",
                f"SELECT a FROM {name} WHERE a = 3",
                f"SELECT (SELECT MAX(a) FROM {name} WHERE a + a > 6) AS x",
                f"SELECT a FROM {name} o WHERE EXISTS (SELECT 1 FROM {name} i WHERE i.a + 1 = o.a + 1)",
            )
        ]
        for query, wanted in mirrored.answers(queries).items():
            assert bag(warehouse.sql(query, use_views=False)) == wanted, query
        warehouse.sql("UPDATE m SET a = a + 1 WHERE a * 4 > 0")
        assert {row.a for row in warehouse.table("m").collect()} == {4, 6}


class TestMixedTypes:
    """'1' and '01' both equal 1: an equality of different types is no identity."""

    def test_joins_of_numbers_and_texts(self, mirrored: Mirrored) -> None:
        mirrored.table("t", "i INT, b STRING, v INT", [(1, "1", 1), (2, "01", 2), (3, " 2", None)], key="i")
        mirrored.table("g", "id BIGINT, w INT", [(1, 5), (2, 6)], key="id")
        joined = "SELECT g.id AS k, SUM(t.v) AS n, COUNT(*) AS m FROM t JOIN g ON t.b = g.id GROUP BY g.id"
        missing = "SELECT id, w FROM g WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.b = g.id AND t.v > 0)"
        pairs = "SELECT t.i, t.b, g.id, g.w FROM t JOIN g ON t.b = g.id"
        both = """SELECT q.b, q.n, z.id, z.m FROM (SELECT b, COUNT(*) AS n FROM t GROUP BY b) q
                  FULL JOIN (SELECT id, SUM(w) AS m FROM g GROUP BY id) z ON q.b <=> z.id"""
        for name, query in {"joined": joined, "missing": missing, "pairs": pairs}.items():
            mirrored.view(name, query)
            mirrored.view(f"{name}_ids", query, strategy="id-diffs")
        mirrored.view("both", both)
        mirrored.change("t", delete=[(3, " 2", None)], insert=[(3, "2", 3), (4, "01", 4)])
        mirrored.change("g", delete=[(2, 6)], insert=[(2, 7), (3, None)])
        assert not mirrored.refreshed()
        mirrored.change("t", delete=[(1, "1", 1), (4, "01", 4)], insert=[(1, "03", 1)])
        assert not mirrored.refreshed()


def test_a_plan_that_fails_where_its_text_does_not_is_run_as_text(
    warehouse: vk.Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark chooses what it evaluates; here every plan fails, and no text does."""
    warehouse.sql("CREATE TABLE t (k INT, s STRING)")
    warehouse.sql("INSERT INTO t VALUES (1, 'a'), (2, '5')")
    warehouse.create_view("v", "SELECT k, s FROM t WHERE k > 1")
    warehouse.create_view("above", "SELECT COUNT(*) AS n FROM v")
    warehouse.create_view("careful", "SELECT k FROM t", policy="strict")

    def fail(*given: object, **options: object) -> DataFrame:
        raise WrongType("A value does not fit.", "[CAST_INVALID_INPUT] no number")

    warehouse.sql("INSERT INTO t VALUES (3, 'x')")
    with monkeypatch.context() as patch:
        patch.setattr(Execution, "answer", fail)
        with pytest.raises(WrongType):
            warehouse.refresh("careful")
        assert [one.strategy for one in warehouse.refresh("above")] == ["recompute", "recompute"]
    assert "its plan fails where its text does not ([CAST_INVALID_INPUT] no number)" in str(
        warehouse.explain("v")
    )
    warehouse.sql("DELETE FROM t WHERE k = 2")
    warehouse.refresh()
    assert [row.n for row in warehouse.table("above").collect()] == [1]
    assert all(warehouse.verify(name) for name in ("v", "above", "careful"))


def test_a_text_that_fails_leaves_everything_as_it_was(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (k INT, s STRING)")
    warehouse.sql("INSERT INTO t VALUES (1, 'a'), (2, '5')")
    warehouse.create_view("v", "SELECT CAST(s AS INT) AS n FROM t", populate=False)
    with pytest.raises(WrongType, match="CAST_INVALID_INPUT"):
        warehouse.refresh("v")
    warehouse.sql("DELETE FROM t WHERE k = 1")
    assert warehouse.refresh("v")[0].rows_written == 1
    assert "its plan fails" not in str(warehouse.explain("v"))

"""Forms of SQL that the trees of `views` do not have: stars, NATURAL, LATERAL, PIVOT, pipes, nested CTEs.

A form is a text with holes for columns of relations. Spark is asked about every text: holes are filled with
columns of about the right family, and what Spark rejects is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzz.aggregates import random_aggregate, random_window
from fuzz.expressions import COMPARABLE, NUMBERS, Ref, constant, equality, predicate, value
from fuzz.query import Expr, Text
from fuzz.sources import Draw, quoted
from fuzz.values import family_of


@dataclass(frozen=True)
class Table:
    """A relation under an alias, and its columns."""

    name: str
    alias: str
    scope: tuple[Ref, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.alias}"


class Holes:
    """What holes are filled with: tables, columns, values and conditions."""

    def __init__(self, draw: Draw) -> None:
        self.draw, self.rng = draw, draw.rng

    def table(self, name: str = "") -> Table:
        name = name or self.rng.choice(sorted(self.draw.relations))
        alias = self.draw.fresh("f")
        columns = self.draw.relations[name]
        return Table(
            name, alias, tuple(Ref(f"{alias}.{quoted(c)}", family_of(kind), kind) for c, kind in columns)
        )

    def one(self, scope: Sequence[Ref], families: Sequence[str] = COMPARABLE) -> Ref:
        return self.rng.choice([ref for ref in scope if ref.family in families] or list(scope))

    def some(self, scope: Sequence[Ref], most: int = 3) -> list[Ref]:
        fitting = [ref for ref in scope if ref.family in COMPARABLE] or list(scope)
        return self.rng.sample(fitting, min(len(fitting), self.rng.randint(1, most)))

    def number(self, scope: Sequence[Ref]) -> Expr:
        return value(self.rng, scope, 1, NUMBERS)

    def value(self, scope: Sequence[Ref]) -> Expr:
        return value(self.rng, scope, 2, COMPARABLE)

    def test(self, scope: Sequence[Ref]) -> Expr:
        return predicate(self.rng, scope, 1)

    def equal(self, left: Sequence[Ref], right: Sequence[Ref]) -> Expr:
        return equality(self.rng, left, right)

    def aggregate(self, scope: Sequence[Ref]) -> Expr:
        return random_aggregate(self.rng, scope)

    def window(self, scope: Sequence[Ref]) -> Expr:
        return random_window(self.rng, scope)

    def constant(self, ref: Ref) -> Expr:
        return constant(self.rng, ref)

    def word(self, *words: str) -> str:
        return self.rng.choice(words)


def _listed(refs: Sequence[Ref], prefix: str = "x") -> str:
    return ", ".join(f"{ref.text} AS {prefix}{n}" for n, ref in enumerate(refs))


def _bare(ref: Ref) -> str:
    """A column without the name of its table."""
    return ref.text.split(".", 1)[1]


def star(h: Holes) -> str:
    t = h.table()
    return f"SELECT * FROM {t} WHERE {h.test(t.scope)}"


def star_except(h: Holes) -> str:
    t = h.table()
    return f"SELECT * EXCEPT ({_bare(h.one(t.scope))}) FROM {t}"


def stars_and_more(h: Holes) -> str:
    t, u = h.table(), h.table()
    return f"SELECT {t.alias}.*, {h.value(u.scope)} AS y1 FROM {t} JOIN {u} ON {h.equal(t.scope, u.scope)}"


def natural_join(h: Holes) -> str:
    t, u = h.table(), h.table()
    kind = h.word("", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")
    shown = h.word(f"{t.alias}.{_bare(h.one(t.scope))}", "k", "a", "*")
    return f"SELECT {shown} FROM {t} NATURAL {kind} JOIN {u}"


def using_star(h: Holes) -> str:
    t, u = h.table(), h.table()
    kind = h.word("", "LEFT", "RIGHT", "FULL")
    shown = h.word("*", "k", f"k, {t.alias}.k AS k1, {u.alias}.k AS k2", f"coalesce(k, {u.alias}.k) AS z")
    return f"SELECT {shown} FROM {t} {kind} JOIN {u} USING (k)"


def comma_join(h: Holes) -> str:
    t, u, w = h.table(), h.table(), h.table()
    both = h.equal(t.scope, u.scope)
    return (
        f"SELECT {_listed([h.one(t.scope), h.one(u.scope), h.one(w.scope)])}"
        f" FROM {t}, {u}, {w} WHERE {both} AND {h.equal(u.scope, w.scope)} AND {h.test(w.scope)}"
    )


def self_join(h: Holes) -> str:
    t = h.table()
    u = h.table(t.name)
    ref = h.one(t.scope)
    other = f"{u.alias}.{_bare(ref)}"
    kind = h.word("", "LEFT", "FULL", "LEFT SEMI", "LEFT ANTI")
    shown = (
        ref.text if "LEFT S" in kind or "ANTI" in kind else f"{ref.text} AS x0, {h.one(u.scope).text} AS x1"
    )
    return f"SELECT {shown} FROM {t} {kind} JOIN {u} ON {ref.text} {h.word('=', '<=>', '<')} {other} AND {h.test([*t.scope, *u.scope])}"


def group_by_all(h: Holes) -> str:
    t = h.table()
    return f"SELECT {h.value(t.scope)} AS g, {h.aggregate(t.scope)} AS x1, {h.aggregate(t.scope)} AS x2 FROM {t} GROUP BY ALL"


def group_by_place(h: Holes) -> str:
    t = h.table()
    return (
        f"SELECT {h.value(t.scope)} AS g, {h.value(t.scope)} AS g2, {h.aggregate(t.scope)} AS x1 FROM {t}"
        f" GROUP BY {h.word('1, 2', '2, 1', 'g, g2')} HAVING {h.word('COUNT(*) > 1', 'x1 IS NOT NULL', 'g IS NOT NULL')}"
    )


def of_aggregates(h: Holes) -> str:
    """Expressions over aggregates, and over the keys of groups."""
    t = h.table()
    key = h.value(t.scope)
    n = h.number(t.scope)
    shown = h.word(
        f"SUM({n}) + COUNT(*)", f"CASE WHEN COUNT(*) > 2 THEN MAX({n}) ELSE MIN({n}) END",
        f"coalesce(SUM({n}), 0)", f"MAX({n}) - MIN({n})", f"struct(COUNT(*), MIN({n}))",
        f"try_divide(SUM({n}), COUNT({n}))", f"array(MIN({n}), MAX({n}))", f"SUM({n}) IS NULL",
        f"if(MIN({n}) = MAX({n}), 'one', 'more')", f"SUM(CASE WHEN {h.test(t.scope)} THEN {n} END)",
        f"SUM({n}) FILTER (WHERE {h.test(t.scope)}) <=> SUM({n})", f"round(AVG({n}), 2)",
    )  # fmt: skip
    return f"SELECT {key} AS g, {shown} AS x1, COUNT(*) AS n FROM {t} GROUP BY {key}"


def having_subquery(h: Holes) -> str:
    t, u = h.table(), h.table()
    key = h.one(t.scope)
    return (
        f"SELECT {key.text} AS g, COUNT(*) AS n FROM {t} GROUP BY {key.text}"
        f" HAVING COUNT(*) {h.word('>', '>=', '<>')} (SELECT COUNT(*) FROM {u} WHERE {h.test(u.scope)})"
    )


def grouping_id(h: Holes) -> str:
    t = h.table()
    one, other = h.one(t.scope), h.one(t.scope)
    word = h.word("CUBE", "ROLLUP")
    return (
        f"SELECT {one.text} AS g1, {other.text} AS g2, grouping({one.text}) AS b, grouping_id() AS i, {h.aggregate(t.scope)} AS x1"
        f" FROM {t} GROUP BY {word}({one.text}, {other.text})"
    )


def aggregate_of_window(h: Holes) -> str:
    t = h.table()
    key = h.one(t.scope)
    return f"SELECT g, COUNT(*) AS n, MAX(w) AS m FROM (SELECT {key.text} AS g, {h.window(t.scope)} AS w FROM {t}) q GROUP BY g"


def window_of_aggregate(h: Holes) -> str:
    t = h.table()
    key = h.one(t.scope)
    over = h.word("", "ORDER BY COUNT(*)", f"ORDER BY {key.text}")
    return (
        f"SELECT {key.text} AS g, COUNT(*) AS n, SUM(COUNT(*)) OVER ({over}) AS s, RANK() OVER (ORDER BY COUNT(*)) AS r"
        f" FROM {t} GROUP BY {key.text}"
    )


def range_window(h: Holes) -> str:
    t = h.table()
    key, by = h.one(t.scope), h.one(t.scope, ("integer", "decimal", "date"))
    frame = h.word(
        "1 PRECEDING AND CURRENT ROW",
        "UNBOUNDED PRECEDING AND 1 FOLLOWING",
        "CURRENT ROW AND UNBOUNDED FOLLOWING",
    )
    return (
        f"SELECT {key.text} AS g, {by.text} AS o, COUNT(*) OVER w AS n, MIN({h.one(t.scope).text}) OVER w AS m FROM {t}"
        f" WINDOW w AS (PARTITION BY {key.text} ORDER BY {by.text} RANGE BETWEEN {frame})"
    )


def first_of_group(h: Holes) -> str:
    """The usual way to take the newest row of each key."""
    t = h.table()
    key, by = (
        h.one(t.scope),
        ", ".join(f"{r.text}{h.word('', ' DESC')}" for r in t.scope if r.family in COMPARABLE),
    )
    return (
        f"SELECT * EXCEPT (rn) FROM (SELECT {_listed(list(t.scope))}, ROW_NUMBER() OVER (PARTITION BY {key.text} ORDER BY {by or key.text}) AS rn"
        f" FROM {t}) q WHERE rn {h.word('= 1', '<= 2', '> 1')}"
    )


def lateral(h: Holes) -> str:
    t, u = h.table(), h.table()
    inner = h.word(
        f"SELECT {h.aggregate(u.scope)} AS y FROM {u} WHERE {h.equal(u.scope, t.scope)}",
        f"SELECT {h.one(u.scope).text} AS y FROM {u} WHERE {h.equal(u.scope, t.scope)}",
        f"SELECT {h.value(t.scope)} AS y",
    )
    return f"SELECT {_listed(h.some(t.scope))}, l.y FROM {t} {h.word(',', 'JOIN', 'LEFT JOIN', 'CROSS JOIN')} LATERAL ({inner}) l"


def pivot(h: Holes) -> str:
    t = h.table()
    key, by, of = h.one(t.scope), h.one(t.scope), h.one(t.scope, NUMBERS)
    values = ", ".join(f"{h.constant(by)} AS p{n}" for n in range(2))
    return (
        f"SELECT * FROM (SELECT {key.text} AS g, {by.text} AS p, {of.text} AS v FROM {t}) q"
        f" PIVOT ({h.word('SUM', 'COUNT', 'MAX', 'AVG')}(v) FOR p IN ({values}))"
    )


def unpivot(h: Holes) -> str:
    t = h.table()
    one = h.one(t.scope)
    same = [ref for ref in t.scope if ref.type == one.type][:3]
    return f"SELECT * FROM {t.name} UNPIVOT {h.word('', 'INCLUDE NULLS')} (val FOR what IN ({', '.join(map(_bare, same))}))"


def values_join(h: Holes) -> str:
    t = h.table()
    ref = h.one(t.scope)
    rows = ", ".join(f"({h.constant(ref)}, {n})" for n in range(3))
    kind = h.word("", "LEFT", "FULL", "RIGHT")
    return f"SELECT {_listed(h.some(t.scope))}, d.n FROM {t} {kind} JOIN (VALUES {rows}) AS d(v, n) ON {ref.text} {h.word('=', '<=>')} d.v"


def limit_offset(h: Holes) -> str:
    t = h.table()
    refs = h.some(t.scope)
    by = ", ".join(f"x{n}{h.word('', ' DESC', ' NULLS LAST')}" for n in range(len(refs)))
    inner = f"SELECT {_listed(refs)} FROM {t} ORDER BY {by} LIMIT {h.word('2', '3', '4')}"
    return h.word(
        f"{inner} OFFSET 1",
        f"SELECT COUNT(*) AS n, MAX(x0) AS m FROM ({inner}) q",
        f"SELECT * FROM ({inner}) q UNION ALL SELECT {_listed(refs)} FROM {t}",
    )


def pair_in(h: Holes) -> str:
    t, u = h.table(), h.table()
    one, other = h.one(t.scope), h.one(t.scope)
    same = [h.one(u.scope, (ref.family,)).text for ref in (one, other)]
    return (
        f"SELECT {_listed(h.some(t.scope))} FROM {t} WHERE ({one.text}, {other.text}) {h.word('IN', 'NOT IN')}"
        f" (SELECT {same[0]}, {same[1]} FROM {u} WHERE {h.test(u.scope)})"
    )


def nested_exists(h: Holes) -> str:
    t, u, w = h.table(), h.table(), h.table()
    word = h.word("EXISTS", "NOT EXISTS")
    return (
        f"SELECT {_listed(h.some(t.scope))} FROM {t} WHERE {h.word('EXISTS', 'NOT EXISTS')} (SELECT 1 FROM {u}"
        f" WHERE {h.equal(u.scope, t.scope)} AND {word} (SELECT 1 FROM {w} WHERE {h.equal(w.scope, u.scope)}))"
    )


def exists_or(h: Holes) -> str:
    t, u = h.table(), h.table()
    inner = f"{h.word('EXISTS', 'NOT EXISTS')} (SELECT 1 FROM {u} WHERE {h.equal(u.scope, t.scope)})"
    return h.word(
        f"SELECT {_listed(h.some(t.scope))} FROM {t} WHERE {h.test(t.scope)} OR {inner}",
        f"SELECT {_listed(h.some(t.scope))}, CASE WHEN {inner} THEN 1 ELSE 0 END AS e FROM {t}",
        f"SELECT COUNT(*) AS n FROM {t} WHERE NOT ({h.test(t.scope)} AND {inner})",
    )


def correlated_count(h: Holes) -> str:
    """COUNT of nothing is 0, whatever the subquery is correlated by."""
    t, u = h.table(), h.table()
    what = h.word(
        "COUNT(*)",
        f"COUNT({h.one(u.scope).text})",
        f"coalesce(SUM({h.number(u.scope)}), 0)",
        "COUNT(*) + 1",
        f"MAX({h.one(u.scope).text})",
    )
    inner = f"(SELECT {what} FROM {u} WHERE {h.equal(u.scope, t.scope)})"
    return h.word(
        f"SELECT {_listed(h.some(t.scope))}, {inner} AS s FROM {t}",
        f"SELECT {_listed(h.some(t.scope))} FROM {t} WHERE {inner} {h.word('= 0', '> 0', 'IS NULL', '= 1')}",
        f"SELECT SUM({inner}) AS s, COUNT(*) AS n FROM {t}",
    )


def two_ctes(h: Holes) -> str:
    """A CTE that is used twice, and one that reads another."""
    t, u = h.table(), h.table()
    key = h.one(t.scope)
    first = f"a1 AS (SELECT {key.text} AS g, {h.aggregate(t.scope)} AS x FROM {t} GROUP BY {key.text})"
    second = "b1 AS (SELECT g, COUNT(*) AS n FROM a1 GROUP BY g)"
    kind = h.word("", "LEFT", "FULL")
    return h.word(
        f"WITH {first}, {second} SELECT a1.g, a1.x, b1.n FROM a1 {kind} JOIN b1 ON a1.g {h.word('=', '<=>')} b1.g",
        f"WITH {first} SELECT p.g, p.x, q.x AS y FROM a1 p {kind} JOIN a1 q ON p.g <=> q.g",
        f"WITH {first}, c1 AS (SELECT {h.one(u.scope).text} AS g FROM {u}) SELECT g FROM c1 EXCEPT SELECT g FROM a1",
        f"WITH {first} SELECT g, x, x {h.word('=', '<', '<=>')} (SELECT MAX(x) FROM a1) AS top FROM a1",
    )


def widened_union(h: Holes) -> str:
    """Set operations over columns of different types, which Spark makes wider."""
    t, u = h.table(), h.table()
    mine, theirs = h.one(t.scope, NUMBERS), h.one(u.scope, NUMBERS)
    word = h.word("UNION ALL", "UNION", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")
    text = f"SELECT {mine.text} AS x FROM {t} {word} SELECT {theirs.text} FROM {u}"
    return h.word(text, f"SELECT x, COUNT(*) AS n FROM ({text}) q GROUP BY x", f"{text} UNION ALL SELECT 1")


def three_sets(h: Holes) -> str:
    tables = [h.table() for _ in range(3)]
    ref = h.one(tables[0].scope)
    texts = [f"SELECT {h.one(t.scope, (ref.family,)).text} AS x FROM {t}" for t in tables]
    words = [h.word("UNION", "UNION ALL", "EXCEPT", "INTERSECT") for _ in range(2)]
    return f"{texts[0]} {words[0]} {texts[1]} {words[1]} {texts[2]}"


def higher_order(h: Holes) -> str:
    t = h.table()
    n = h.one(t.scope, NUMBERS).text
    shown = h.word(
        f"transform(array({n}, {n}), e -> e IS NULL)", f"filter(array({n}, NULL), e -> e IS NOT NULL)",
        f"exists(array({n}), e -> e > 1)", "aggregate(array(1, 2), 0, (s, e) -> s + e)", f"array_max(array({n}, {n}))",
        f"named_struct('p', {n}, 'q', 1).p", f"element_at(array({n}, 1), 1)", f"map('a', {n})['a']", f"forall(array({n}), e -> e = 1)",
    )  # fmt: skip
    return h.word(
        f"SELECT {_listed(h.some(t.scope))}, {shown} AS y FROM {t}",
        f"SELECT {shown} AS y, COUNT(*) AS n FROM {t} GROUP BY {shown}",
    )


def generators(h: Holes) -> str:
    t = h.table()
    one, same = h.one(t.scope), None
    same = h.one([ref for ref in t.scope if ref.type == one.type])
    return h.word(
        f"SELECT {_listed(h.some(t.scope))}, explode(array({one.text}, {same.text})) AS e FROM {t}",
        f"SELECT {_listed(h.some(t.scope))}, posexplode(array({one.text}, {same.text})) AS (p, e) FROM {t}",
        f"SELECT e, COUNT(*) AS n FROM {t} LATERAL VIEW posexplode(array({one.text}, {same.text})) l AS p, e GROUP BY e",
        f"SELECT {one.text} AS x, s.a1, s.b1 FROM {t} LATERAL VIEW stack(2, 1, {one.text}, 2, {same.text}) s AS a1, b1",
        f"SELECT {one.text} AS x, i.c1 FROM {t}, LATERAL explode(array({same.text})) AS i(c1)",
        f"SELECT inline(array(struct({one.text}, 1), struct({same.text}, 2))) AS (u, w) FROM {t}",
    )


def pipes(h: Holes) -> str:
    t = h.table()
    key = h.one(t.scope)
    return h.word(
        f"FROM {t} |> WHERE {h.test(t.scope)} |> SELECT {key.text} AS g, 1 AS one |> DISTINCT",
        f"FROM {t} |> AGGREGATE COUNT(*) AS n GROUP BY {key.text}",
        f"FROM {t} |> EXTEND {h.value(t.scope)} AS e1 |> SELECT e1",
    )


def distinct_aggregates(h: Holes) -> str:
    t = h.table()
    key, one, other = h.one(t.scope), h.one(t.scope, NUMBERS), h.one(t.scope)
    return (
        f"SELECT DISTINCT {h.word('SUM', 'AVG', 'COUNT')}(DISTINCT {one.text}) AS a1, COUNT(DISTINCT {other.text}) AS b1,"
        f" MAX({other.text}) AS c1 FROM {t} {h.word('', f'GROUP BY {key.text}')}"
    )


def by_extremes(h: Holes) -> str:
    """MAX_BY by an order that leaves nothing to choose: the value is what it is ordered by."""
    t = h.table()
    key, of = h.one(t.scope), h.one(t.scope)
    word = h.word("MAX_BY", "MIN_BY")
    return f"SELECT {key.text} AS g, {word}(struct({of.text}), struct({of.text})) AS m, {word}({of.text}, {of.text}) AS o FROM {t} GROUP BY {key.text}"


def outer_chain(h: Holes) -> str:
    t, u, w = h.table(), h.table(), h.table()
    kinds = [h.word("LEFT", "RIGHT", "FULL", "") for _ in range(2)]
    tail = h.word("", f"WHERE {h.one(w.scope).text} IS NULL", f"WHERE {h.test([*t.scope, *w.scope])}")
    body = f"FROM {t} {kinds[0]} JOIN {u} ON {h.equal(t.scope, u.scope)} {kinds[1]} JOIN {w} ON {h.equal(u.scope, w.scope)} {tail}"
    key = h.one(t.scope)
    return h.word(
        f"SELECT {_listed([h.one(t.scope), h.one(u.scope), h.one(w.scope)])} {body}",
        f"SELECT {key.text} AS g, COUNT({h.one(w.scope).text}) AS n, {h.aggregate([*t.scope, *u.scope, *w.scope])} AS x {body} GROUP BY {key.text}",
    )


def joined_aggregates(h: Holes) -> str:
    t, u = h.table(), h.table()
    mine = h.one(t.scope)
    theirs = h.one(u.scope, (mine.family,))
    kind = h.word("", "LEFT", "FULL", "LEFT ANTI", "LEFT SEMI")
    shown = "p.g, p.x" if kind in ("LEFT ANTI", "LEFT SEMI") else "p.g, p.x, q.x AS y, q.g AS h"
    return (
        f"SELECT {shown} FROM (SELECT {mine.text} AS g, {h.aggregate(t.scope)} AS x FROM {t} GROUP BY {mine.text}) p {kind}"
        f" JOIN (SELECT {theirs.text} AS g, {h.aggregate(u.scope)} AS x FROM {u} GROUP BY {theirs.text}) q ON p.g {h.word('=', '<=>')} q.g"
    )


FORMS: tuple[Callable[[Holes], str], ...] = (
    star, star_except, stars_and_more, natural_join, using_star, comma_join, self_join, group_by_all, group_by_place,
    of_aggregates, of_aggregates, having_subquery, grouping_id, aggregate_of_window, window_of_aggregate, range_window,
    first_of_group, lateral, pivot, unpivot, values_join, limit_offset, pair_in, nested_exists, exists_or,
    correlated_count, correlated_count, two_ctes, two_ctes, widened_union, three_sets, higher_order, generators, pipes,
    distinct_aggregates, by_extremes, outer_chain, outer_chain, joined_aggregates, joined_aggregates,
)  # fmt: skip


def random_form(draw: Draw) -> Text:
    return Text(draw.rng.choice(FORMS)(Holes(draw)))

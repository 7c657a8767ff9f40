"""What each strategy takes: `docs/support.md`, made by asking every strategy about every example.

    python -m tools.support.page > docs/support.md

Nothing of the page is known here. An answer is what `refuse` says of the compiled example, and a reason
code is listed because some strategy gave it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tools.support.examples import CATALOG, REDEFINED, SALES, SECTIONS, TABLES, defined
from viewkeeper.algebra.relations import Aggregate, TopK, Window
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.algebra.walk import nodes
from viewkeeper.maintenance.id_diffs.strategy import ID_DIFFS, TUPLE_DIFFS, IdDiffs
from viewkeeper.maintenance.incremental import Incremental
from viewkeeper.maintenance.names import of_view
from viewkeeper.maintenance.strategy import Batch, Strategy, View
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.maintenance.top_k import buffer_of
from viewkeeper.report import Reason
from viewkeeper.views import compiled

ASKED = ("auto", ID_DIFFS, TUPLE_DIFFS)
"""What a view can ask for: to be maintained stratum by stratum, or by ID-based diffs."""

INSERTED, MIXED = TableChange(rows=5, only_inserts=True), TableChange(rows=5, only_inserts=False)
UPDATED = replace(MIXED, updates=frozenset(column.name for table in TABLES for column in table.columns))
REPLACED = replace(MIXED, replaced=True)

_CALL = re.compile(r"\b[A-Z_]+\(.*\)|\b[a-z_]+(?= depends on the order)")
"""The function that a sentence is about: it says the same of forty of them."""

HEAD = f"""# What is maintained how

*Made by `make docs` from the answers of the strategies; a test fails when it is not current.*

- **by default**: how the view is maintained, stratum by stratum, as the report names it. With ¹ no state is
  kept for some operator of the view: the groups or partitions that a change touches, or the first rows, are
  computed anew from the input.
- **IDs**: whether `viewkeeper.ids` = `auto` stores it with IDs, so that updates may be ID-based diffs.
- **lattice**: whether its summary-delta can come from that of another view, or be another one's source.
- **yes** for `id-diffs` and `tuple-diffs`, which are for views that ask for them: they take the view, through
  insertions alone and through any other change.
- Else the reason code, see [below](#reason-codes). Of two answers, the first is for insertions alone.

A view that cannot be maintained is recomputed. [Strategies](strategies/README.md) says how each works.

The examples read these tables, and the view `sales`, which is `{SALES}`:
"""


def view_of(sql: str, asked: str) -> View:
    return compiled(defined(sql, CATALOG, asked), CATALOG)


def batch_of(sql: str, change: TableChange) -> Batch:
    """The same change of everything that a query reads."""
    return Batch(dict.fromkeys(defined(sql, CATALOG).tables, change))


def strategy_of(view: View, asked: str) -> Strategy:
    return Incremental(of_view(view)) if asked == "auto" else IdDiffs(asked == TUPLE_DIFFS)


def answers(sql: str, asked: str) -> tuple[Reason | None, ...]:
    """What the strategy that is asked for says to insertions alone, and to any other change."""
    view = view_of(sql, asked)
    strategy = strategy_of(view, asked)
    return tuple(strategy.refuse(view, batch_of(sql, change)) for change in (INSERTED, MIXED))


def refusals() -> Iterator[tuple[str, Reason]]:
    """Every refusal that the examples meet, and those that depend on more than the view's query."""
    yield from ((ID_DIFFS, reason) for sql in queries() for reason in by_default(sql))
    for asked in ASKED:
        for sql in queries():
            name = strategy_of(view_of(sql, asked), asked).name
            yield from ((name, reason) for reason in answers(sql, asked) if reason is not None)
        for before, after in REDEFINED:
            view, mixed = view_of(after, asked), batch_of(after, MIXED)
            strategy = strategy_of(view, asked)
            found = (
                strategy.refuse(view, batch_of(after, REPLACED)),
                strategy.refuse(replace(view, before=view_of(before, asked)), mixed),
                strategy.refuse(view_of(after, "auto"), mixed),
                strategy.refuse(replace(view_of(after, "auto"), by_ids=None), mixed),
            )
            yield from ((strategy.name, reason) for reason in found if reason is not None)


def by_default(sql: str) -> Iterator[Reason]:
    """Why updates of what a view reads are no ID-based diffs though nobody asks for another strategy."""
    view = view_of(sql, "auto")
    reasons = (IdDiffs().refuse(view, batch_of(sql, change)) for change in (MIXED, UPDATED))
    return (reason for reason in reasons if reason is not None)


def queries() -> list[str]:
    return [sql for examples in SECTIONS.values() for sql in examples.values()]


def why_alone(sql: str) -> Reason | None:
    """Why the view of a query takes part in no lattice."""
    found = view_of(sql, "auto").summary
    if isinstance(found, Reason):
        return found
    return None if found is not None else Reason("no-plan", "its SQL has no plan")


def keeps_no_state(view: View) -> bool:
    """Whether an operator that looks at whole groups of its input is left inside a stratum."""
    if view.asked != "auto":
        return False
    inside = [node for stratum in view.strata if stratum.query is not None for node in nodes(stratum.query)]
    tops = (node for node in inside if isinstance(node, TopK))
    return any(isinstance(node, (Aggregate, Window)) for node in inside) or not all(map(buffer_of, tops))


def page() -> str:
    """The whole of `docs/support.md`."""
    parts = [HEAD, *map(_table, TABLES)]
    for title, examples in SECTIONS.items():
        parts += ["", f"## {title}", "", *_matrix(examples)]
    return "\n".join([*parts, "", "## Reason codes", "", *_codes(), ""])


def _table(table: TableSchema) -> str:
    foreign = ", ".join(f"`{key.columns[0]}` refers to `{key.table}`" for key in table.foreign_keys)
    key = f"key `{', '.join(table.key)}`" if table.key else "no key"
    return f"- `{table.name}({', '.join(table.names)})`: {key}{'; ' + foreign if foreign else ''}"


def _matrix(examples: Mapping[str, str]) -> Iterator[str]:
    yield _row("construct", "example", "by default", "IDs", "lattice", f"`{ID_DIFFS}`", f"`{TUPLE_DIFFS}`")
    yield _row(*("---" for _ in range(7)))
    for construct, sql in examples.items():
        default, *others = (_cell(sql, asked) for asked in ASKED)
        alone = why_alone(sql)
        ids = view_of(sql, "auto").by_ids
        told = (f"`{why.code}`" if isinstance(why, Reason) else "yes" for why in (ids, alone))
        yield _row(construct, f"`{sql}`", default, *told, *others)


def _cell(sql: str, asked: str) -> str:
    view = view_of(sql, asked)
    taken = f"`{of_view(view)}`" if asked == "auto" else "yes"
    taken += "¹" if keeps_no_state(view) else ""
    texts = (taken if reason is None else f"`{reason.code}`" for reason in answers(sql, asked))
    return ", ".join(dict.fromkeys(texts))


def _codes() -> Iterator[str]:
    names, sentences = defaultdict(set), defaultdict(set)
    alone = (("lattice", reason) for sql in queries() if (reason := why_alone(sql)) is not None)
    for name, reason in (*refusals(), *alone):
        names[reason.code].add(f"`{name}`")
        sentences[reason.code].add(_CALL.sub("f(…)", reason.sentence))
    yield _row("code", "given by", "sentences")
    yield _row("---", "---", "---")
    for code in sorted(names):
        yield _row(f"`{code}`", ", ".join(sorted(names[code])), "<br>".join(sorted(sentences[code])))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(page(), end="")

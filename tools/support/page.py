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
from viewkeeper.maintenance.id_diffs.strategy import IdDiffs
from viewkeeper.maintenance.strategy import Batch, Strategy, TableChange, View
from viewkeeper.maintenance.top_k import buffer_of
from viewkeeper.planning.planner import STRATEGIES
from viewkeeper.report import Reason
from viewkeeper.views import compiled

ASKED: tuple[tuple[Strategy, str], ...] = (
    *((strategy, "auto") for strategy in STRATEGIES),
    *((strategy, strategy.name) for strategy in (IdDiffs(), IdDiffs(tuple_based=True))),
)
"""Every strategy, and what a view must ask for to get it."""

INSERTED, MIXED = TableChange(rows=5, only_inserts=True), TableChange(rows=5, only_inserts=False)
REPLACED = replace(MIXED, replaced=True)

_CALL = re.compile(r"\b[A-Z_]+\(.*\)|\b[a-z_]+(?= depends on the order)")
"""The function that a sentence is about: it says the same of forty of them."""

HEAD = f"""# What is maintained how

*Made by `make docs` from the answers of the strategies; a test fails when it is not current.*

- **yes**: the strategy takes the view, through insertions alone and through any other change.
- **yes¹**: it does, but keeps no state for some operator of the view. The groups or partitions that a
  change touches, or the first rows, are computed anew from the input.
- Else the reason code, see [below](#reason-codes). Of two answers, the first is for insertions alone.

`id-diffs` and `tuple-diffs` are for views that ask for them. A view that all strategies refuse is
recomputed. [Strategies](strategies/README.md) says which is chosen, and how each works.

The examples read these tables, and the view `sales`, which is `{SALES}`:
"""


def view_of(sql: str, asked: str) -> View:
    return compiled(defined(sql, CATALOG, asked), CATALOG)


def batch_of(sql: str, change: TableChange) -> Batch:
    """The same change of everything that a query reads."""
    return Batch(dict.fromkeys(defined(sql, CATALOG).tables, change))


def answers(sql: str, strategy: Strategy, asked: str) -> tuple[Reason | None, ...]:
    """What a strategy says to insertions alone, and to any other change."""
    view = view_of(sql, asked)
    return tuple(strategy.refuse(view, batch_of(sql, change)) for change in (INSERTED, MIXED))


def refusals() -> Iterator[tuple[str, Reason]]:
    """Every refusal that the examples meet, and those that depend on more than the view's query."""
    queries = [sql for examples in SECTIONS.values() for sql in examples.values()]
    for strategy, asked in ASKED:
        found = [reason for sql in queries for reason in answers(sql, strategy, asked)]
        for before, after in REDEFINED:
            view, mixed = view_of(after, asked), batch_of(after, MIXED)
            found += [
                strategy.refuse(view, batch_of(after, REPLACED)),
                strategy.refuse(replace(view, before=view_of(before, asked)), mixed),
                strategy.refuse(view_of(after, "auto"), mixed),
            ]
        yield from ((strategy.name, reason) for reason in found if reason is not None)


def keeps_no_state(view: View) -> bool:
    """Whether an operator that looks at whole groups of its input is left inside a stratum."""
    if view.by_ids is not None:
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
    yield _row("construct", "example", *(f"`{strategy.name}`" for strategy, _ in ASKED))
    yield _row(*("---" for _ in range(2 + len(ASKED))))
    for construct, sql in examples.items():
        yield _row(construct, f"`{sql}`", *(_cell(sql, strategy, asked) for strategy, asked in ASKED))


def _cell(sql: str, strategy: Strategy, asked: str) -> str:
    taken = "yes¹" if keeps_no_state(view_of(sql, asked)) else "yes"
    texts = (taken if reason is None else f"`{reason.code}`" for reason in answers(sql, strategy, asked))
    return ", ".join(dict.fromkeys(texts))


def _codes() -> Iterator[str]:
    names, sentences = defaultdict(set), defaultdict(set)
    for name, reason in refusals():
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

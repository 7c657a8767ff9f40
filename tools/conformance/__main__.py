"""`python -m tools.conformance`: exit code 0 when no case failed, 1 otherwise."""

from __future__ import annotations

import json as json_format
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from tools.conformance.cases import Case, choose, load
from tools.conformance.run import Outcome, Verdict, run_case
from viewkeeper.cli.options import Policy

if TYPE_CHECKING:
    from viewkeeper.warehouse import Warehouse

Cases = Annotated[Path, typer.Argument(help="A file of cases, one JSON object per line.", exists=True)]
Limit = Annotated[int | None, typer.Option(help="Only the first so many.", min=1)]
Only = Annotated[str | None, typer.Option(help="Only the cases of a tag, or whose id starts so.")]
Spread = Annotated[int | None, typer.Option(help="So many, spread evenly over the tags.", min=1)]
Jobs = Annotated[int, typer.Option(help="Cases at a time.", min=1)]
Json = Annotated[bool, typer.Option("--json", help="One JSON object per case.")]

out = Console(highlight=False, soft_wrap=True)


def conformance(
    cases: Cases,
    limit: Limit = None,
    only: Only = None,
    spread: Spread = None,
    policy: Policy = Policy.auto,
    jobs: Jobs = 1,
    json: Json = False,
) -> None:
    """Run conformance cases through the public API."""
    chosen = choose(load(cases), only, limit, spread)
    if not chosen:
        raise typer.BadParameter("no case is left after --only and --limit")
    outcomes = []
    for outcome in run_all(chosen, policy.value, jobs):
        outcomes.append(outcome)
        print_json(outcome) if json else print_outcome(outcome, len(outcomes), len(chosen))
    if not json:
        print_summary(outcomes)
    raise typer.Exit(int(any(outcome.verdict is Verdict.FAILED for outcome in outcomes)))


def run_all(cases: Sequence[Case], policy: str, jobs: int) -> Iterator[Outcome]:
    """Outcomes as they come; one Spark session serves all cases."""
    import viewkeeper

    with tempfile.TemporaryDirectory(prefix="viewkeeper-conformance-") as folder:
        host = viewkeeper.open(folder)

        def open_at(path: str) -> Warehouse:
            return viewkeeper.open(path, spark=host.spark)

        try:
            with ThreadPoolExecutor(jobs) as pool:
                yield from pool.map(lambda case: run_case(case, open_at, policy), cases)
        finally:
            host.close()


def print_json(outcome: Outcome) -> None:
    print(json_format.dumps(outcome.to_dict(), ensure_ascii=False))


def print_outcome(outcome: Outcome, number: int, total: int) -> None:
    if outcome.verdict is Verdict.PASSED:
        out.print(f"[dim]{number}/{total}[/] {outcome.case} [green]passed[/]")
        return
    colour = "red" if outcome.verdict is Verdict.FAILED else "yellow"
    reason = escape(outcome.reason)
    out.print(f"[dim]{number}/{total}[/] {outcome.case} [{colour}]{outcome.verdict.value}[/] ({reason})")
    if outcome.verdict is Verdict.FAILED:
        out.print(escape(outcome.detail))


def print_summary(outcomes: Sequence[Outcome]) -> None:
    """Refusals by reason code, failing cases, strategies used, and the line of totals."""
    tally("refused", (o.reason for o in outcomes if o.verdict is Verdict.REFUSED))
    tally("strategy", (name for o in outcomes for name in o.strategies.elements()))
    failed = [outcome.case for outcome in outcomes if outcome.verdict is Verdict.FAILED]
    if failed:
        out.print(f"failed: {' '.join(failed)}")
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    out.print(", ".join(f"{verdicts[verdict]} {verdict.value}" for verdict in Verdict))


def tally(what: str, values: Iterable[str]) -> None:
    for value, count in Counter(values).most_common():
        out.print(f"{what}: {count:5} {escape(value)}")


if __name__ == "__main__":
    typer.run(conformance)

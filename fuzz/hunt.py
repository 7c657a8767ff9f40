"""A hunt: scenario after scenario on one Spark session, with each failure made small and kept as a file."""

from __future__ import annotations

import itertools
import re
import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from time import strftime

from pyspark.sql import SparkSession

from fuzz import values
from fuzz.case import Case, to_json
from fuzz.kinds import taken_kinds
from fuzz.outcome import Failure, Outcome
from fuzz.run import run
from fuzz.scenarios import BLOCK, choice_of, scenario
from fuzz.session import choosing
from fuzz.shrink import shrunk

FAILURES = Path(__file__).parent / "failures"


class Hunt:
    """What was played so far, and what was found."""

    def __init__(
        self, spark: SparkSession, folder: Path, views: int, rounds: int, seconds: float, avoid: str = ""
    ) -> None:
        self.spark, self.folder = spark, folder
        self.views, self.rounds, self.seconds = views, rounds, seconds
        self.avoid = re.compile(avoid) if avoid else None
        self.counts: Counter[str] = Counter()
        self.failures: list[Failure] = []
        self.known: Counter[str] = Counter()
        self._numbers = itertools.count(1)
        self._one = Lock()
        kinds, self.refused = taken_kinds(spark, folder / "types", avoid)
        values.use(kinds)

    def scenario(self, seed: int) -> Outcome:
        """Plays the scenario of a seed; failures are shrunk and written."""
        counts: Counter[str] = Counter()
        case = scenario(self.spark, seed, counts, self.views, self.rounds, self.avoid)
        outcome = self.play(case)
        with self._one:
            self.counts.update(counts + outcome.counts)
        for failure in outcome.failures:
            self._keep(case, failure)
        print(f"{strftime('%H:%M:%S')} {self.line(seed)}", flush=True)
        return outcome

    def blocks(self, first: int, jobs: int, goes_on: Callable[[], bool]) -> int:
        """Scenario after scenario, several at once, until it is time to end; how many were played.

        Scenarios of one block choose strategies in one way, which is said to the whole process."""
        seed = first
        while goes_on():
            end = seed - seed % BLOCK + BLOCK
            with choosing(choice_of(seed)), ThreadPoolExecutor(jobs) as pool:
                played = pool.map(lambda n: goes_on() and bool(self.scenario(n)), range(seed, end))
            seed += sum(played)
        return seed - first

    def play(self, case: Case, stop_at_first: bool = False) -> Outcome:
        path = self.folder / f"w{next(self._numbers)}"
        try:
            return run(self.spark, case, path, stop_at_first)
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def _keep(self, case: Case, failure: Failure) -> None:
        """Errors that were met before are only counted; the first ones, and wrong answers, are shrunk."""
        with self._one:
            self.failures.append(failure)
            self.known[failure.signature] += 1
        small, told = case, failure
        if failure.kind == "wrong" or self.known[failure.signature] <= 2:
            small = shrunk(case, failure, lambda c: self._fails(c, failure) is not None, self.seconds)
            told = self._fails(small, failure) or failure
        elif self.known[failure.signature] > 4:
            return
        FAILURES.mkdir(exist_ok=True)
        name = f"{case.seed}-{failure.kind}-{failure.view or 'all'}.json"
        (FAILURES / name).write_text(to_json(small, {"failure": told.kind, "view": told.view, **told.told}))
        print(f"  {name}: {told.kind} {_short(small, told)}", flush=True)

    def _fails(self, case: Case, failure: Failure) -> Failure | None:
        """The same kind of failure, where a smaller case has one."""
        try:
            found = self.play(case, stop_at_first=True).failures
        except Exception:
            return None
        same = [f for f in found if f.signature == failure.signature]
        return same[0] if same else None

    def line(self, seed: int) -> str:
        c = self.counts
        return f"seed {seed}: {c['views']} views, {c['compared']} compared, {len(self.failures)} failures"


def _short(case: Case, failure: Failure) -> str:
    text = next((view.text for view in case.views if view.name == failure.view), "")
    told = {name: value for name, value in failure.told.items() if value}
    return f"{text}\n      {str(told)[:400]}"

"""`python -m fuzz --minutes 10 --seed 1`: plays scenarios until the time is over, and says what was found."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import monotonic, strftime, time

from fuzz.hunt import FAILURES, Hunt
from fuzz.session import started


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int(time()))
    parser.add_argument("--one", action="store_true", help="only the scenario of this seed")
    parser.add_argument("--jobs", type=int, default=2, help="scenarios that are played side by side")
    parser.add_argument("--views", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds to make one failure small")
    parser.add_argument(
        "--avoid", default="", help="a pattern: texts of values and views that match are left out"
    )
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="viewkeeper-fuzz-"))
    hunt = Hunt(started(), folder, options.views, options.rounds, options.shrink, options.avoid)
    print(
        f"{strftime('%H:%M')} seed {options.seed}; types refused: {', '.join(hunt.refused) or 'none'}",
        flush=True,
    )
    began, number = monotonic(), 1
    try:
        if options.one:
            hunt.scenario(options.seed)
        else:
            end = began + 60 * options.minutes
            number = hunt.blocks(options.seed, options.jobs, lambda: monotonic() < end)
    except KeyboardInterrupt:
        print("stopped")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    minutes = (monotonic() - began) / 60
    print(summary(hunt.counts, options.seed, number, len(hunt.failures), minutes))
    return 1 if hunt.failures else 0


LISTED = ("by ", "refused:", "rule", "alter", "travel", "feed", "verified", "did ", "raise in")


def summary(counts: Counter[str], seed: int, number: int, failures: int, minutes: float) -> str:
    accepted = 1 - counts["texts rejected"] / max(counts["texts"], 1)
    kept = {name: n for name, n in counts.items() if name.startswith("by ") and name != "by none"}
    maintained = 1 - kept.get("by recompute", 0) / max(sum(kept.values()), 1)
    lines = [
        f"{number} scenarios, seeds {seed} to {seed + number - 1};"
        f" {counts['views'] / minutes:.0f} views a minute",
        f"{maintained:.0%} of {sum(kept.values())} later refreshes of views that changed were maintained",
        f"{counts['views']} views, {counts['steps']} steps;"
        f" {counts['compared']} answers compared, {counts['empty']} of them empty, {counts['rows']} rows",
        f"{accepted:.0%} of {counts['texts']} texts accepted by Spark; {counts['undecided']} undecided,"
        f" {counts['raising']} raise in Spark too",
        *(f"  {name}: {n}" for name, n in sorted(counts.items()) if name.startswith(LISTED)),
        f"{failures} failures" + (f", see {FAILURES}" if failures else ""),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

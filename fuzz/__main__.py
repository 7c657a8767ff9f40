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
    end, number = monotonic() + 60 * options.minutes, 0
    try:
        while number == 0 or (monotonic() < end and not options.one):
            hunt.scenario(options.seed + number)
            number += 1
            print(f"{strftime('%H:%M:%S')} {hunt.line(options.seed + number - 1)}", flush=True)
    except KeyboardInterrupt:
        print("stopped")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(summary(hunt.counts, options.seed, number, len(hunt.failures)))
    return 1 if hunt.failures else 0


def summary(counts: Counter[str], seed: int, number: int, failures: int) -> str:
    accepted = 1 - counts["texts rejected"] / max(counts["texts"], 1)
    lines = [
        f"{number} scenarios, seeds {seed} to {seed + number - 1}",
        f"{counts['views']} views, {counts['steps']} steps;"
        f" {counts['compared']} answers compared, {counts['empty']} of them empty, {counts['rows']} rows",
        f"{accepted:.0%} of {counts['texts']} texts accepted by Spark; {counts['undecided']} undecided,"
        f" {counts['raising']} raise in Spark too",
        *(f"  {name}: {n}" for name, n in sorted(counts.items()) if name.startswith(("by ", "refused:"))),
        f"{failures} failures" + (f", see {FAILURES}" if failures else ""),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

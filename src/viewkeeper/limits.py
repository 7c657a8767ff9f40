"""Sizes from which something is done in another way, with the measurements behind them.

Measured on two cores with Spark 4. A Spark action takes 0.04 to 0.2 s there, whatever it does, and a join in
it 0.02 s more: most limits are where the work comes to take as long as an action.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Numbers of rows, unless a limit says otherwise."""

    # How Spark runs a plan (`planning/physical`).

    one_task: int = 120_000
    """An input of so few rows is read by one task, so that nothing above it is shuffled: 100,000 changes take
    0.12 s to sum up by value and by group in one task, 0.22 s in two."""

    looked_up: int = 1_000_000
    """So many rows are read by one task where few are looked up in them: with 650,000 rows 0.18 s instead of
    0.29 s in several tasks; at 1.9 million both take 0.29 to 0.39 s."""

    in_listed: int = 4_000_000
    """So many rows are read by one task where an IN-list leaves few: 100 keys in 1.95 million rows take 0.08
    to 0.13 s."""

    worth_in_list: int = 120_000
    """Inputs of more rows get IN-lists of known keys: 14 keys in 800,000 rows of `partsupp` took 0.22 s with
    a list and 0.35 to 0.41 s by a join. Plans over smaller ones keep their text, and its compiled code."""

    in_list: int = 2_000
    """Keys in one IN-list. Up to 400 are compiled into the code of the scan unless Spark is told not to;
    1,000 that are pushed down to the files overflow the task's stack."""

    hashed: int = 50_000
    """So many rows are hashed where they are looked up."""

    hash_tables: int = 2
    """Hash tables in one plan: a task holds each until it ends, and cannot spill it."""

    joins_in_task: int = 6
    """Joins of one task that sort both sides there: each holds memory until the task ends."""

    broadcast: int = 50_000
    """A result of at most so many rows is broadcast …"""

    broadcast_to: int = 200_000
    """… to inputs of at least so many: TPC-H's q17 fell from 4.6 to 2.4 s. Others are left
    to Spark."""

    unions: int = 8
    """Unions above each other in one plan: to place a task Spark visits 2ⁿ inputs of a chain of n."""

    # What the driver holds, and what it writes.

    opened: int = 500
    """Sets of files that stay open: to open some takes Spark 10 ms."""

    changes_held: int = 1_000
    """So few changed rows are read once, by the driver, for all views of a refresh."""

    result_held: int = 200_000
    """So many rows of a result that several steps share stay on the driver."""

    written_by_driver: int = 30_000
    """A result of at most so many rows is written by the driver: Spark takes 0.1 s to write a file."""

    one_file: int = 200_000
    """A result of at most so many rows is written as one file."""

    laid: int = 100_000
    """Layers of so few rows in all are laid over each other by the driver: two plans of 0.4 s each instead of
    one of 1.2 s."""

    layers_joined: int = 4
    """So many layers are joined one by one; more are added up first, which costs a shuffle of them."""

    fresh_keys_read: int = 500_000
    """Keys of more changed rows are not read to find out which of them only came or went."""

    driver_join: int = 200_000
    """So many rows at most the driver puts together in a join."""

    # Rounds of a recursion.

    overdeleted_share: float = 0.5
    """Where more than this share of a recursion is overdeleted, evaluating it from scratch is cheaper …"""

    overdeleted: int = 1_000
    """… but for so many rows it never is."""

    candidates_stored: int = 300_000
    """Candidates are stored before they are looked up in more rows than this."""

    round_held: int = 50_000
    """Results of rounds of at most so many rows stay on the driver."""

    round_fetched: int = 500_000
    """Results of at most so many rows are written by the driver, more by Spark, which evaluates the first of
    them twice."""

    gathered: int = 2_000_000
    """A stored relation of more rows is not written once more to spare rounds the merging of its layers,
    which took 0.35 to 0.5 s in every round of a closure, and 0.15 to 0.2 s once it was written."""

    result_files: int = 32
    """A result of more files than this is written anew as one."""

    # ID-based diffs.

    diff_operators: int = 80
    """Operators in the plan of a diff: Spark plans a result anew wherever it is used, so a larger one is
    written out first."""

    scan_operators: int = 5
    """About how many operators stand behind a stored relation and its layers."""

    diff_expected: int = 50_000
    """Diffs are put together by the driver where about so many rows will be found."""

    diff_lookups: int = 1
    """So many lookups at most are made for a diff, each an action: Spark takes one to write it."""

    diff_fetched: int = 4_000_000
    """Of so many stored rows the driver fetches whatever a lookup finds: to be told where to stop, Spark
    gathers the rows in one task first (0.12 s instead of 0.15 s)."""

    # What is maintained how (`maintenance/`, `planning/`, `refresh/`).

    groups_looked_up: int = 50_000
    """Of so many stored groups only those that changed are joined with their changes; to join fewer takes
    less than to find out which."""

    groups_written: int = 20_000
    """So many groups at most are written whole where most of them change: 2,000 took 0.35 s instead of
    0.55 s (docs/decisions/0014)."""

    aggregated_first: int = 1_000_000
    """Changes are aggregated before they meet dimensions where that spares joining so many rows: one more
    aggregation costs something itself."""

    top_k: int = 10_000
    """A `LIMIT` of more rows keeps no buffer of the next ones: it is sorted by the driver of the change."""

    pass_fetched: int = 500_000
    """At most so many rows come to the driver from one pass: every change may be a group of every view
    (docs/decisions/0013)."""

    relevance_counted: int = 1_000
    """More changed rows than this are hardly all irrelevant to a view that had use for some of the last ones:
    how many matter is not found out, which takes an action."""

    changed_share: float = 0.5
    much_changed: int = 100_000
    """Where an input changed by this share of its rows (an updated row is two changes), and by so many that
    fixed costs decide nothing, recomputation is chosen as soon as it is expected to take less, by what was
    learned or without it: small batches have taught little about one as large as what it leads to."""

    priced_as_broadcast: int = 200_000
    """A side of a join with fewer rows is thought to be broadcast to the other, which then need not be
    shuffled."""

    # Layers (docs/decisions/0005: a fold is an action, 0.2 to 0.4 s, as long as a commit).

    layers: int = 16
    """Layers of one relation; then they are folded."""

    main_written: int = 100_000
    """A relation of at most so many rows is folded into main, of a larger one the layers are made one …"""

    layers_share: float = 0.2
    """… unless they exceed this share of it."""

    layer_adopted: int = 50_000
    """Files of layers that only insert become files of main as they are, from so many rows in each on."""

    merged_whole: int = 20_000
    """Without Spark, all of so few rows are merged: to tell apart those that no layer names takes as long."""

    commits_logged: int = 100
    """The log of a relation holds the changes of so many commits, and of older ones those that some view has
    not seen. What changed since a version before it is found by comparing the two states."""


LIMITS = Limits()

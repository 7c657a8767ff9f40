"""Plays a case on a warehouse and compares each view with the oracle wherever it was refreshed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

import viewkeeper as vk
from fuzz.bags import shown
from fuzz.case import Case, Settings, Step, View
from fuzz.compare import dependents, is_same, may_raise, one_of_several, sums_floats
from fuzz.elsewhere import refreshed_elsewhere
from fuzz.looks import Album, Look, look, looks
from fuzz.model import Model
from fuzz.oracle import BASE, Answer, Oracle, told
from fuzz.outcome import Failure, Outcome, first_lines
from fuzz.session import choosing
from fuzz.statements import apply_change, statement_text
from viewkeeper.errors import CannotMaintain, CheckFailed, InvalidSQL, ViewkeeperError


class Player:
    """One warehouse, one model, and the views that are still compared."""

    def __init__(self, spark: SparkSession, case: Case, path: Path, stop_at_first: bool = False) -> None:
        self.spark, self.case, self.path = _session(spark, case.settings), case, path
        self.oracle = Oracle(spark, tuple((n, v) for n, v in case.settings if "adaptive" not in n))
        self.model = Model.of(case)
        self.wh = vk.open(str(path), spark=self.spark)
        self.album = Album()
        self.alive: list[View] = []
        self.strategies: dict[str, list[str]] = {}
        self.outcome = Outcome()
        self.stop_at_first = stop_at_first
        self.at = -1

    def play(self) -> Outcome:
        """The whole case; what is found is in the outcome, also what nothing else expected to fail."""
        try:
            with choosing(self.case.choice):
                self._played()
        except Exception as error:
            self.outcome.failures.append(Failure("crash", "", self.at, {"error": first_lines(error)}))
        return self.outcome

    def _played(self) -> None:
        self._start()
        for number, step in enumerate(self.case.steps):
            self.at = number
            if self.stop_at_first and self.outcome.failures:
                break
            self.outcome.counts.update(["steps", f"did {step['do']}"])
            self._step(step)

    def _start(self) -> None:
        for table in self.case.tables:
            self.wh.sql(table.ddl)
        with told(self.spark, BASE), self.wh.transaction() as t:
            for name, rows in self.case.rows.items():
                if rows:
                    apply_change(self.spark, t, self.model.tables[name], {"kind": "insert", "rows": rows})
        for view in self.case.views:
            self._create(view)
        self._refresh({"views": [], "policy": "auto"})

    def _create(self, view: View) -> None:
        try:
            if view.language == "datalog":
                self.wh.datalog(view.text)
            else:
                options = {"strategy": view.strategy, "refresh": view.refresh, "populate": False}
                with told(self.spark, dict(view.settings)):
                    self.wh.create_view(view.name, view.text, **options)
            self.alive.append(view)
            self.strategies |= {name: [] for name in view.predicates}
            self.outcome.counts["views"] += 1
        except ViewkeeperError as error:
            if type(error) is InvalidSQL:
                self._fail("create", view.name, {"error": first_lines(error)})
                return
            self.outcome.counts["refused"] += 1
            self.outcome.counts[f"refused: {first_lines(error, 100).splitlines()[0]}"] += 1
        except Exception as error:
            self._fail("create", view.name, {"error": first_lines(error)})

    def _step(self, step: Step) -> None:
        match step["do"]:
            case "transaction" | "sql":
                self._change(step)
            case "refresh":
                self._refresh(step)
            case "propagate":
                self._quietly("propagate", self.wh.propagate)
            case "compact":
                self._quietly("compact", self.wh.compact)
            case "vacuum":
                self._quietly("vacuum", lambda: self.wh.vacuum(keep=2))
            case "reopen":
                self.spark = _session(self.spark, self.case.settings)
                self.wh = vk.open(str(self.path), spark=self.spark)
            case "recreate":
                self._recreate(step)
            case "alter":
                self._alter(step)
            case "rules":
                self._rules(step)
            case "look":
                self._look_back(step["views"])

    def _quietly(self, name: str, action: Any) -> None:
        """What must not change any answer; propagation may meet the errors of the views' own queries."""
        try:
            action()
        except Exception as error:
            if name != "propagate" or not self._raising():
                self._fail(name, "", {"error": first_lines(error)})

    def _raising(self) -> set[str]:
        """Views whose text Spark cannot evaluate now, and those that read them."""
        found = self.oracle.answers(self.model, self.alive)
        return dependents(self.alive, {name for name, answer in found.items() if answer.error})

    def _change(self, step: Step) -> None:
        after = self.model.copy()
        after.apply(step)
        try:
            self._apply(step)
        except Exception as error:
            self.model, before = after, self.model
            eager = {view.name for view in self.alive if view.refresh == "on_commit"}
            excused = bool(eager & self._raising())
            self._forget(eager)
            try:
                self._apply(step)
            except Exception:
                self.model = before
                self._fail("change", "", {"error": first_lines(error)})
                return
            if not excused:
                self._fail("change", " ".join(sorted(eager)), {"error": first_lines(error)})
        self.model = after

    def _apply(self, step: Step) -> None:
        if step["do"] == "sql":
            with told(self.spark, BASE):
                self.wh.sql(statement_text(self.model.tables[step["table"]], step))
            return
        with told(self.spark, BASE), self.wh.transaction() as t:
            for change in step["changes"]:
                table = self.model.tables[change["table"]]
                apply_change(self.spark, t, table, change, as_list=step.get("how") == "list")

    def _refresh(self, step: Step) -> None:
        names: Iterable[str] = step["views"]
        alive = [name for view in self.alive for name in view.predicates]
        chosen = [name for name in names if name in alive] or alive
        if names and chosen is alive:
            return
        found = self.oracle.answers(self.model, self.alive)
        raising = dependents(self.alive, {name for name, answer in found.items() if answer.error})
        self.outcome.counts["raising"] += len(raising & set(chosen))
        whole = not names and not raising and len(self.alive) == len(self.case.views)
        fine = [name for name in chosen if name not in raising]
        try:
            failed = self._refreshed(fine, whole, step) if fine else {}
        except CheckFailed as error:
            self._fail("check", error.view or "", {"error": first_lines(error)})
            self._refresh({name: value for name, value in step.items() if name != "check"})
            return
        for name, error in failed.items():
            if not self._may_raise(name, error):
                self._fail("refresh", name, {"error": error})
        self._compare([name for name in fine if name not in failed], found)
        kept = {name for view in self.alive for name in view.predicates}
        for name in raising & set(chosen) & kept:
            self._try_raising(name)

    def _refreshed(self, names: list[str], whole: bool, step: Step) -> dict[str, str]:
        """Refreshes views together; where that fails one by one, to say which ones fail."""
        asked = [] if whole else names
        options = {name: step[name] for name in ("policy", "check", "use_lattice") if name in step}
        try:
            with told(self.spark, dict(step.get("settings", ()))):
                if "elsewhere" in step and (report := refreshed_elsewhere(self.spark, self.path, asked)):
                    self._count(report)
                else:
                    self._count(
                        [(entry.view, entry.strategy) for entry in self.wh.refresh(*asked, **options)]
                    )
            return {}
        except CannotMaintain:
            return self._refreshed(names, whole, {**step, "policy": "incremental"})
        except CheckFailed:
            raise
        except Exception as error:
            return self._one_by_one(names, step["policy"], first_lines(error))

    def _one_by_one(self, names: list[str], policy: str, told: str) -> dict[str, str]:
        failed: dict[str, str] = {}
        for name in names:
            if name in dependents(self.alive, set(failed)):
                continue
            try:
                self._count([(e.view, e.strategy) for e in self.wh.refresh(name, policy=policy)])
            except Exception as error:
                failed[name] = first_lines(error)
        return failed or {names[0]: f"together only: {told}"}

    def _count(self, report: Iterable[tuple[str, str]]) -> None:
        """The first refresh fills a view; how often later ones maintain it is what the weights are about."""
        for view, strategy in report:
            known = self.strategies.setdefault(view, [])
            if known:
                self.outcome.counts[f"by {strategy}"] += 1
            known.append(strategy)

    def _try_raising(self, name: str) -> None:
        """A view whose query raises may fail to be refreshed; what it shows must stay readable."""
        try:
            self.wh.refresh(name)
        except Exception:
            self.outcome.counts["raised as Spark does"] += 1
        try:
            look(self.wh, name)
        except Exception as error:
            self._fail("unreadable", name, {"error": first_lines(error)})

    def _compare(self, names: list[str], found: dict[str, Answer]) -> None:
        wrong: set[str] = set()
        version = self.wh.version
        for name, seen in looks(self.wh, names).items():
            if name in wrong:
                continue
            if isinstance(seen, Exception):
                told = {"kind": "unreadable", "error": first_lines(seen)}
            else:
                self.album.keep(name, version, seen)
                told = self._difference(name, seen, found[name])
            if told:
                wrong |= dependents(self.alive, {name})
                self._fail(told.pop("kind"), name, told)

    def _difference(self, name: str, seen: Look, wanted: Answer) -> dict[str, Any]:
        columns, got = seen
        if columns != wanted.columns:
            return {"kind": "columns", "expected": wanted.columns, "got": columns}
        self.outcome.counts["compared"] += 1
        self.outcome.counts["rows"] += sum(got.values())
        self.outcome.counts["empty"] += not got
        assert wanted.rows is not None
        if is_same(self.alive, name, self.model, got, wanted.rows):
            return {}
        rng, settings = Random(self.case.seed), self.oracle.settings
        if one_of_several(self.spark, settings, self.alive, name, self.model, got, rng):
            self.outcome.counts["undecided"] += 1
            return {}
        told = {"missing": shown(wanted.rows - got), "extra": shown(got - wanted.rows)}
        return {"kind": "wrong", **told, "verify": self._verified(name)}

    def _look_back(self, names: list[str]) -> None:
        """Views as they were, what changed in them since, and what `verify` says of those that are right."""
        for name in [n for view in self.alive for n in view.predicates if n in names]:
            exact = not sums_floats(self.alive, name)
            asked = {"travel": self.album.travelled, "feed": self.album.changed} if exact else {}
            for kind, question in asked.items():
                try:
                    told = question(self.wh, name)
                except Exception as error:
                    told = {"error": first_lines(error)}
                self.outcome.counts[kind] += 1
                if told:
                    self._fail(kind, name, told)
            verdict = self._verified(name)
            self.outcome.counts[f"verified {verdict}"[:20]] += 1
            if verdict not in ("right", "undecided") and not self._may_raise(name, verdict):
                self._fail("verify", name, {"error": verdict})

    def _may_raise(self, name: str, told: str) -> bool:
        """Whether it is the order of rows that makes a text raise; the view is then not looked at again."""
        if told == "different" or name not in {n for view in self.alive for n in view.predicates}:
            return False
        rng = Random(self.case.seed)
        if not may_raise(self.spark, self.oracle.settings, self.alive, name, self.model, rng):
            return False
        self.outcome.counts["raise in some order"] += 1
        self._forget({name})
        return True

    def _verified(self, name: str) -> str:
        try:
            return str(self.wh.verify(name).verdict)
        except Exception as error:
            return first_lines(error)

    def _fail(self, kind: str, view: str, told: dict[str, Any]) -> None:
        self.outcome.failures.append(Failure(kind, view, self.at, told))
        self._forget({view} if view else set())

    def _forget(self, names: set[str]) -> None:
        """Views that are wrong, and those that read them, are not looked at again."""
        gone = dependents(self.alive, names)
        for view in reversed([view for view in self.alive if set(view.predicates) & gone]):
            self.alive.remove(view)
            for name in view.predicates:
                self.album.forget(name)
                try:
                    self.wh.drop(name, cascade=True)
                except ViewkeeperError:
                    self.outcome.counts["dropped with others"] += 1

    def _recreate(self, step: Step) -> None:
        """Drops a table with all views above it, and makes them again over other rows."""
        table = self.model.tables[step["table"]]
        gone = dependents(self.alive, {table.name})
        again = [view for view in self.alive if set(view.predicates) & gone]
        self.wh.drop(table.name, cascade=True)
        self.alive = [view for view in self.alive if view not in again]
        self.model.apply(step)
        self.album = Album()
        self.wh.sql(table.ddl)
        if step["rows"]:
            with told(self.spark, BASE), self.wh.transaction() as t:
                apply_change(self.spark, t, table, {"kind": "insert", "rows": step["rows"]})
        for view in again:
            self._create(view)

    def _alter(self, step: Step) -> None:
        """Gives a view another text; those that read it keep theirs."""
        known = next((view for view in self.alive if view.name == step["view"]), None)
        if known is None:
            return
        try:
            with told(self.spark, dict(known.settings)):
                self.wh.alter_view(known.name, step["text"])
        except ViewkeeperError:
            self.outcome.counts["alteration refused"] += 1
            return
        except Exception as error:
            self._fail("alter", known.name, {"error": first_lines(error)})
            return
        self._replace(known, replace(known, text=step["text"], query=None))

    def _rules(self, step: Step) -> None:
        """Adds rules to a Datalog program, or drops some; its views and those above them are maintained."""
        known = next((view for view in self.alive if view.name == step["view"]), None)
        if known is None:
            return
        try:
            change = self.wh.add_rule if step["change"] == "add" else self.wh.drop_rule
            change(step["rule"])
        except ViewkeeperError:
            self.outcome.counts["rule refused"] += 1
            self._forget(set(known.predicates))
            return
        except Exception as error:
            self._fail("rules", known.name, {"error": first_lines(error)})
            return
        self.outcome.counts[f"rules: {step['change']}"] += 1
        equations = tuple((name, text) for name, text in step["equations"])
        self._replace(known, replace(known, text=step["text"], equations=equations))

    def _replace(self, known: View, changed: View) -> None:
        self.alive = [changed if view is known else view for view in self.alive]
        for name in dependents(self.alive, set(changed.predicates)):
            self.album.forget(name)


def _session(spark: SparkSession, settings: Settings) -> SparkSession:
    """A session of its own for a warehouse: others may be played beside it."""
    session = spark.newSession()
    for name, value in settings:
        session.conf.set(name, value)
    return session


def run(spark: SparkSession, case: Case, path: Path, stop_at_first: bool = False) -> Outcome:
    return Player(spark, case, path, stop_at_first).play()

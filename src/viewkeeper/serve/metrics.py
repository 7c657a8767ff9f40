"""What a service measures, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Sample = tuple[Mapping[str, str], float]

FAMILIES = {
    "viewkeeper_warehouse_version": ("gauge", "The newest committed version."),
    "viewkeeper_staleness_seconds": ("gauge", "Age of the oldest change that a view does not show."),
    "viewkeeper_target_lag_seconds": ("gauge", "How far a view may be behind."),
    "viewkeeper_rows": ("gauge", "Rows that are stored of a table or view."),
    "viewkeeper_layers": ("gauge", "Layers of a table or view that are not folded."),
    "viewkeeper_rows_behind": ("gauge", "Changed rows that a view has not seen."),
    "viewkeeper_refresh_seconds": ("gauge", "Seconds of the last refresh of a view."),
    "viewkeeper_refresh_rows_written": ("gauge", "Rows that the last refresh of a view wrote."),
    "viewkeeper_refresh_strategy": ("gauge", "1 for the strategy of the last refresh of a view."),
    "viewkeeper_refreshes_total": ("counter", "Refreshes of a view that the log remembers, by strategy."),
    "viewkeeper_failures_total": ("counter", "Refreshes of a view that failed since the service began."),
    "viewkeeper_lag_unmet": ("gauge", "1 where a refresh takes longer than the target lag."),
}


def text(families: Mapping[str, Iterable[Sample]]) -> str:
    """The samples of some families in Prometheus' text format."""
    lines: list[str] = []
    for name, samples in families.items():
        kind, words = FAMILIES[name]
        lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{_labels(labels)} {value:g}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def of_warehouse(overview: Mapping[str, Any]) -> str:
    """The metrics of what the page shows of a warehouse."""
    found: dict[str, list[Sample]] = {name: [] for name in FAMILIES}
    found["viewkeeper_warehouse_version"].append(({}, overview["version"]))
    for one in overview["relations"]:
        own = {"name": one["name"], "kind": one["kind"]}
        found["viewkeeper_rows"].append((own, one["main_rows"] + one["layer_rows"]))
        found["viewkeeper_layers"].append((own, one["layers"]))
        if one["kind"] == "view":
            _of_view(found, one)
    return text(found)


def _of_view(found: Mapping[str, list[Sample]], one: Mapping[str, Any]) -> None:
    name, last = {"view": one["name"]}, one["last"]
    if one["seconds_behind"] is not None:
        found["viewkeeper_staleness_seconds"].append((name, one["seconds_behind"]))
    if one["lag_seconds"] is not None:
        found["viewkeeper_target_lag_seconds"].append((name, one["lag_seconds"]))
    found["viewkeeper_rows_behind"].append((name, one["rows_behind"]))
    found["viewkeeper_failures_total"].append((name, one["failures"]))
    found["viewkeeper_lag_unmet"].append((name, float(bool(one["unmet"]))))
    for strategy, number in one["refreshes"].items():
        found["viewkeeper_refreshes_total"].append(({**name, "strategy": strategy}, number))
    if last is not None:
        found["viewkeeper_refresh_seconds"].append((name, last["seconds"]))
        found["viewkeeper_refresh_rows_written"].append((name, last["rows_written"]))
        found["viewkeeper_refresh_strategy"].append(({**name, "strategy": last["strategy"]}, 1))

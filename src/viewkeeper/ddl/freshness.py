"""Says of a view how fresh it is to be; what it holds stays as it is."""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.algebra.inner_names import shown
from viewkeeper.catalog.catalog import view_named
from viewkeeper.catalog.freshness import Properties, with_freshness
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.publish import publish
from viewkeeper.workspace import Workspace


def set_freshness(work: Workspace, name: str, fresh: Properties) -> int:
    """Gives a view a target lag or a schedule, or takes both away."""

    def build(base: Entry) -> Draft | None:
        known = view_named(base.catalog, name)
        draft = Draft(base, f"set freshness of view {shown(known.name)}")
        draft.put_view(replace(known, properties=with_freshness(known.properties, fresh)))
        return None if draft.catalog == base.catalog else draft

    return publish(work.log, build).version

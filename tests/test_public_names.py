"""What users may rely on. A change here is a change of the public surface."""

from __future__ import annotations

import inspect

import viewkeeper as vk
from viewkeeper import errors


def methods_of(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def test_a_warehouse_has_the_documented_methods():
    assert methods_of(vk.Warehouse) == set(
        """add_rule advise alter_view apply_changes changes close compact create_table create_view
        create_views datalog drop drop_rule explain explain_query extend_views follow history
        ingest lattice on_progress propagate publish published refresh sql status table
        transaction unpublish vacuum verify verify_published version""".split()
    )


def test_open_takes_a_path_and_a_session():
    assert list(inspect.signature(vk.open).parameters)[:2] == ["path", "spark"]


def test_every_public_name_exists():
    classes = {"Reason", "Report", "Rows", "ViewReport", "ViewkeeperError", "Warehouse"}
    public = {*classes, "__version__", "changes", "open", "read", "register"}
    assert public == set(vk.__all__)
    assert [name for name in vk.__all__ if not hasattr(vk, name)] == []


def test_every_error_is_drawn_in_the_tree():
    drawn = errors.__doc__ or ""
    classes = [
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and value.__module__ == errors.__name__
    ]
    assert [name for name in classes if name not in drawn.split()] == []
    assert all(issubclass(getattr(errors, name), errors.ViewkeeperError) for name in classes)

"""What texts of views leave open: several answers may be right, of which a view shows one."""

from __future__ import annotations

from viewkeeper.catalog.catalog import DATALOG, ViewDefinition
from viewkeeper.sql.choices import Choices, choices


def opened_by(view: ViewDefinition) -> Choices:
    """What the text of a view leaves open; recursion by rules adds floats up in an order of its own."""
    return Choices(adds_up=True) if view.language == DATALOG else choices(view.sql)


def one_of_several(view: ViewDefinition) -> str:
    """What the text of a view leaves open, as a note to the user; empty where its answer is the only one."""
    return sentence(opened_by(view))


def left_open(view: ViewDefinition) -> frozenset[int] | None:
    """The places of columns whose values a text leaves open; None where it leaves open which rows there
    are."""
    found = opened_by(view)
    return None if found.columns is None else found.columns | found.lists


def sentence(open_ones: Choices) -> str:
    """What is left open, in words."""
    notes = "; ".join(open_ones.notes)
    return f"one of several right answers: {notes}" if notes else ""

"""The page on Datalog shows programs that are accepted and errors that are given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.datalog.programs import CATALOG
from viewkeeper.datalog.parse import parse_program
from viewkeeper.datalog.translate import translate
from viewkeeper.errors import InvalidDatalog

PAGE = (Path(__file__).parents[2] / "docs" / "datalog.md").read_text(encoding="utf-8")


def test_the_program_is_accepted() -> None:
    (program,) = re.findall(r"```datalog\n(.*?)```", PAGE, re.DOTALL)
    assert [predicate.name for predicate in translate(parse_program(program), CATALOG)] == [
        "reach",
        "cut_off",
        "degree",
    ]


def test_the_error_is_given() -> None:
    (shown,) = re.findall(r"```\n(Line .*?)\n```", PAGE, re.DOTALL)
    text = "win(X) :- move(X, Y), not lose(Y).\nmove(X, Y) :- link(X, Y).\nlose(X) :- move(X, Y), win(Y)."
    with pytest.raises(InvalidDatalog) as error:
        translate(parse_program(text), CATALOG)
    assert str(error.value) == shown

"""What a program must obey; every error names the place, the reason and a way out."""

from __future__ import annotations

import pytest

from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.datalog.parse import parse_program
from viewkeeper.datalog.translate import translate
from viewkeeper.errors import InvalidDatalog
from viewkeeper.sql.known_relations import StaticCatalog

CATALOG = StaticCatalog(
    [
        TableSchema("link", (Column("src", "int"), Column("dst", "int"))),
        TableSchema("person", (Column("name", "string"), Column("born", "date"), Column("age", "int"))),
    ]
)


def error_of(text: str) -> str:
    with pytest.raises(InvalidDatalog) as error:
        translate(parse_program(text), CATALOG)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "column", "variable"),
    [
        ("p(X, Y) :- link(X, _).", 6, "Y"),
        ("p(X) :- link(X, _), not link(X, Z).", 33, "Z"),
        ("p(X) :- link(X, _), Z > 3.", 21, "Z"),
        ("p(X) :- link(X, _), Z = W + 1, W = Z - 1.", 21, "Z"),
        ("p(X) :- X = Y.", 3, "X"),
        ("p(X) :- not link(X, X).", 3, "X"),
        ("p(X).", 3, "X"),
        ("p(X) :- link(X, Y + 1).", 17, "Y"),
    ],
)
def test_unsafe_rules(text: str, column: int, variable: str) -> None:
    assert error_of(text).startswith(
        f"Line 1, column {column}: unsafe rule: {variable} is not bound by any positive subgoal.\n"
        f"  {text}\n  {' ' * (column - 1)}^\n"
    )


def test_anonymous_variables_have_no_value() -> None:
    assert "“_” has no value here" in error_of("p(_) :- link(_, _).")
    assert "“_” has no value here" in error_of("p(X) :- link(X, _), X < _.")


def test_unstratified_negation_shows_the_cycle() -> None:
    text = "win(X) :- move(X, Y), not lose(Y).\nmove(X, Y) :- link(X, Y).\nlose(X) :- move(X, Y), win(Y)."
    assert error_of(text) == (
        "Line 1, column 23: unstratified negation: win → not lose → win.\n"
        "  win(X) :- move(X, Y), not lose(Y).\n"
        "                        ^\n"
        "Derive lose without using win, or leave the negation to another predicate."
    )
    assert "unstratified negation: p → not p." in error_of("p(X) :- link(X, _), not p(X).")


def test_unstratified_aggregation_shows_the_cycle() -> None:
    text = """total(X, S) :- groupby(part(X, C), [X], S = sum(C)).
              part(X, C) :- link(X, C).
              part(X, S) :- step(X, S).
              step(X, S) :- total(X, S)."""
    assert "unstratified aggregation: total → groupby part → step → total." in error_of(text)


def test_arity() -> None:
    assert error_of("p(X) :- link(X).").startswith(
        "Line 1, column 9: link has 2 arguments, here it is given 1.\n"
        "  p(X) :- link(X).\n          ^\nIts columns are src, dst."
    )
    assert "Line 2, column 1: p has 1 argument, here it is given 2." in error_of(
        "p(X) :- link(X, _).\np(X, Y) :- link(X, Y)."
    )


def test_names_of_columns() -> None:
    assert "Line 1, column 16: person has no column nam." in error_of("p(X) :- person(nam: X).")
    assert "the column NAME is given twice" in error_of("p(X) :- person(name: X, NAME: 'a').")
    assert "mixes arguments by position and by name" in error_of("p(X) :- person(X, age: 3).")
    assert "a head has its arguments by position" in error_of("p(a: X) :- link(X, _).")


def test_unknown_predicates() -> None:
    message = error_of("p(X) :- lnk(X, _).")
    assert message.startswith("Line 1, column 9: there is no predicate, table or view lnk.")
    assert message.endswith("Did you mean link?")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "p(X) :- link(X, _), person(X, _, _).",
            "Line 1, column 28: type clash: X is int in the column link.src, and string in the column",
        ),
        ("p(X) :- link(X, _), X = 'a'.", "type clash: X is int in the column link.src, and the string 'a'."),
        ("p(N) :- person(N, _, A), A > N.", "type clash: A is int in the column person.age, and string"),
        ("p(N + 1) :- person(N, _, _).", "type clash: “+” with what is string in the column person.name."),
        (
            "p(X) :- link(X, _). p(N) :- person(N, _, _).",
            "type clash: N is string in the column person.name, and int in",
        ),
        ("p(T) :- groupby(person(N, _, _), [], T = sum(N)).", "type clash: sum of what is string"),
        ("p(X) :- link(X, _), 'a' < 3.", "type clash: the comparison is the number 3, and the string 'a'."),
        ("p(X) :- link(X, _), q(X). q('a').", "type clash"),
    ],
)
def test_type_clashes(text: str, message: str) -> None:
    assert message in error_of(text)


def test_a_string_may_stand_for_a_date() -> None:
    (predicate,) = translate(parse_program("p(N) :- person(N, '1990-01-01', _)."), CATALOG)
    assert predicate.columns == ("n",)


def test_local_variables_of_groupby() -> None:
    assert "C exists only inside groupby" in error_of("p(X, C) :- groupby(link(X, C), [X], N = count()).")
    assert "Z does not occur in the grouped predicate" in error_of(
        "p(Z) :- groupby(link(X, C), [Z], N = count())."
    )
    assert "Z does not occur in the grouped predicate" in error_of(
        "p(N) :- groupby(link(X, C), [X], N = sum(Z))."
    )
    assert "C is a variable of the grouped predicate already" in error_of(
        "p(X) :- groupby(link(X, C), [X], C = sum(C))."
    )
    assert "variables or constants" in error_of("p(X) :- groupby(link(X, X + 1), [X], N = count()).")

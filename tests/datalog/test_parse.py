"""Datalog text: what is read, and what a syntax error says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.datalog.programs import EXAMPLES, Example
from tests.laws.settings import cases
from viewkeeper.datalog.parse import parse_program, with_rules, without_rules
from viewkeeper.datalog.syntax import (
    AggregateTerm,
    Argument,
    Arithmetic,
    Atom,
    Clause,
    Comparison,
    Constant,
    GroupBy,
    Negation,
    Variable,
)
from viewkeeper.datalog.write import program_text
from viewkeeper.errors import InvalidDatalog

X, Y = Variable("X"), Variable("Y")
ONE = Constant("1", is_number=True)


def atom(name: str, *terms: object) -> Atom:
    return Atom(name, tuple(Argument(term) for term in terms))  # type: ignore[arg-type]


def test_rules_facts_and_comments() -> None:
    program = parse_program(
        """% reachability
        p('a', 1).          // a fact
        p(X, -2.5) :- q(X) & X != "b", /* both
        kinds */ not r(X, _), !s(X, true).
        """
    )
    fact, rule = program.rules
    assert fact == Clause(atom("p", Constant("a"), ONE))
    assert rule == Clause(
        atom("p", X, Constant("-2.5", is_number=True)),
        (
            atom("q", X),
            Comparison("!=", X, Constant("b")),
            Negation(atom("r", X, Variable("_"))),
            Negation(atom("s", X, Constant(True))),
        ),
    )


def test_arithmetic_binds_as_usual() -> None:
    (rule,) = parse_program("p(X) :- q(Y), X = 1 + Y * 2 - (Y mod 3) / -Y.").rules
    equation = rule.body[1]
    assert isinstance(equation, Comparison)
    product = Arithmetic("*", Y, Constant("2", is_number=True))
    rest = Arithmetic("mod", Y, Constant("3", is_number=True))
    negative = Arithmetic("-", Constant("0", is_number=True), Y)
    assert equation.right == Arithmetic("-", Arithmetic("+", ONE, product), Arithmetic("/", rest, negative))


def test_groupby() -> None:
    (rule,) = parse_program("m(S, M, N) :- GROUPBY(hop(S, _, C), [S], M = MIN(C + 1), N = count(*)).").rules
    assert rule.body == (
        GroupBy(
            atom("hop", Variable("S"), Variable("_"), Variable("C")),
            (Variable("S"),),
            (
                AggregateTerm(Variable("M"), "min", Arithmetic("+", Variable("C"), ONE)),
                AggregateTerm(Variable("N"), "count", None),
            ),
        ),
    )


def test_arguments_by_name_and_capital_predicates() -> None:
    (rule,) = parse_program("p(S) :- SID_sales(storeID: S, `item id`: 'it''s').").rules
    (subgoal,) = rule.body
    assert subgoal == Atom(
        "SID_sales", (Argument(Variable("S"), "storeID"), Argument(Constant("it's"), "item id"))
    )


def test_predicates_are_one_whatever_their_case() -> None:
    program = parse_program("hop(X) :- link(X). p(X) :- HOP(X), Link(X).")
    assert program.predicates == ("hop", "p")
    assert program.rules[1].body == (atom("hop", X), atom("link", X))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_text_of_a_program_parses_to_it(example: Example) -> None:
    program = parse_program(" ".join((example.rules, *example.optional)))
    assert parse_program(program_text(program)) == program


def test_rules_are_added_and_taken_away() -> None:
    program = parse_program("p(X) :- q(X).")
    more = with_rules(program, "P(X) :- r(X).  p(X) :- q(X).")
    assert program_text(more) == "p(X) :- q(X).\np(X) :- r(X).\n"
    assert without_rules(more, "p(X):-r(X).") == program
    with pytest.raises(InvalidDatalog, match="no such rule for p"):
        without_rules(program, "p(Y) :- q(Y).")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "p(X) :- q(X)\np(Y) :- r(Y).",
            "Line 2, column 1: expected “,” or “.”, found “p”.\n  p(Y) :- r(Y).\n  ^",
        ),
        (
            "p(X) :- q(abc).",
            "Line 1, column 11: expected a variable or a constant, found “abc”.\n"
            "  p(X) :- q(abc).\n            ^\nA string is written 'abc', a variable Abc.",
        ),
        ("p(X) :- q('abc).", "Line 1, column 11: this string does not end."),
        ("p(X) :- q(X), X ~ 3.", "Line 1, column 17: “~” means nothing here."),
        ("p(X) :- q(X), X.", "Line 1, column 16: expected a comparison, found “.”."),
        ("p().", "Line 1, column 3: p has no arguments."),
        ("p(X) :- /* never", "Line 1, column 9: this comment does not end."),
        ("p(X) :- q(X", "Line 1, column 12: expected “)”, found the end of the program."),
        (
            "p(X) :- not X > 3.",
            "Line 1, column 13: a negation is of a predicate, such as not p(X); found “X”.",
        ),
        (
            "p(X) :- groupby(q(X), [X], M = median(X)).",
            "Line 1, column 32: “median” is no aggregate function.",
        ),
        ("p(X) :- groupby(q(X), [X], M = sum()).", "Line 1, column 32: sum needs an argument."),
        ("p(X) :- groupby(q(X), [3], M = sum(X)).", "Line 1, column 24: expected a variable here."),
        ("X = 3.", "Line 1, column 1: a rule begins with a predicate, such as p(X); found “X”."),
    ],
)
def test_syntax_errors_point_at_the_place(text: str, message: str) -> None:
    with pytest.raises(InvalidDatalog) as error:
        parse_program(text)
    assert str(error.value).startswith(message)


FRAGMENTS = """p(X) :- . , q(X,Y) not ! groupby( [X] X _ = < 3 1.5 'a' a ( ) + - * / mod M=min(X) name: %c
    `x` & true " /*"""
WORDS = st.sampled_from([*FRAGMENTS.split(), "\n"])


@cases(200)
@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_any_text_is_a_program_or_an_error_that_points_into_it(text: str) -> None:
    error, program = None, None
    try:
        program = parse_program(text)
    except InvalidDatalog as raised:
        error = raised
    if program is not None:
        assert parse_program(program_text(program)) == program
    else:
        assert error is not None
        assert error.what.startswith("Line ")
        assert error.detail.endswith("^")

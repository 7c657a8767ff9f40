"""Names of users and names inside: no two become one, and none is the engine's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewkeeper.algebra.inner_names import inner_column, inner_relation, shown, with_shown_names
from viewkeeper.algebra.schema import is_hidden

NAMES = st.one_of(st.text(min_size=1), st.text("_q5fx a(.éß😀Q", min_size=1, max_size=9))


@given(NAMES)
def test_a_name_is_found_again_and_is_none_of_the_engines(name: str) -> None:
    column, relation = inner_column(name), inner_relation(name)
    assert shown(column) == shown(relation) == name
    assert not is_hidden(column)
    assert "__" not in relation
    assert relation[-1] != "_"
    assert column.replace("_", "a").isalnum()
    assert relation.replace("_", "a").isalnum()


@given(NAMES)
def test_names_that_differ_only_in_case_do_so_inside(name: str) -> None:
    if name.isascii():
        assert inner_column(name.upper()).lower() == inner_column(name.lower())
        assert inner_relation(name.upper()).lower() == inner_relation(name.lower())


@pytest.mark.parametrize("name", ["region", "storeID", "größe", "таблица", "a_b", "_quantity", "2020"])
def test_ordinary_columns_stay_as_they_are(name: str) -> None:
    assert inner_column(name) == name


@pytest.mark.parametrize(
    ("name", "inner"),
    [
        ("avg(x)", "_qavg_28_x_29_q"),
        ("__count", "_q_5fx5f_countq"),
        ("a.b", "_qa_2e_bq"),
        ("_qaq", "_q_5f_qaqq"),
    ],
)
def test_odd_names_are_written_by_their_codes(name: str, inner: str) -> None:
    assert inner_column(name) == inner


def test_sentences_show_the_users_names() -> None:
    text = f"There is no view {inner_relation('my view')} over {inner_relation('sales__groups')}."
    assert with_shown_names(text) == "There is no view my view over sales__groups."

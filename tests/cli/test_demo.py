from __future__ import annotations

import pytest

from viewkeeper.cli.demo import MARK, claim
from viewkeeper.demo import retail
from viewkeeper.errors import AlreadyExists


def test_the_demo_makes_its_folder_and_replaces_an_earlier_demo(tmp_path):
    folder = tmp_path / "demo"
    claim(folder)
    (folder / "old").touch()
    claim(folder)
    assert [path.name for path in folder.iterdir()] == [MARK]


def test_the_demo_touches_nothing_that_is_not_a_demo(tmp_path):
    mine = tmp_path / "mine"
    mine.touch()
    with pytest.raises(AlreadyExists):
        claim(tmp_path)
    with pytest.raises(AlreadyExists):
        claim(mine)
    assert mine.exists()


def test_a_folder_that_is_taken_is_an_error_of_the_command(run, warehouse, tmp_path):
    (tmp_path / "mine").touch()
    result = run("demo", "--path", str(tmp_path))
    assert result.exit_code == 1
    assert warehouse.log == []


@pytest.mark.parametrize(
    ("rows", "day"), [(500_000, retail.Day(5_000, 1_000, 1_000)), (1, retail.Day(1, 1, 1))]
)
def test_the_day_grows_with_the_fact_table(rows, day):
    assert retail.day_for(rows) == day

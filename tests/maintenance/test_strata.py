"""gupta93 Definition 3.1."""

from __future__ import annotations

from viewkeeper.maintenance.recursion.strata import is_recursive, path, stratum_numbers, strongly_connected

TRI_HOP = {"only_tri_hop": ["tri_hop", "hop"], "tri_hop": ["hop", "link"], "hop": ["link"]}
MUTUAL = {"far": ["odd"], "odd": ["link", "even"], "even": ["odd"], "loop": ["loop"]}


def test_strata_of_a_nonrecursive_program() -> None:
    assert stratum_numbers(TRI_HOP) == {"hop": 1, "tri_hop": 2, "only_tri_hop": 3}


def test_mutual_recursion_is_one_stratum() -> None:
    components = strongly_connected(MUTUAL)
    assert set(components) == {("odd", "even"), ("far",), ("loop",)}
    assert components.index(("odd", "even")) < components.index(("far",))
    assert stratum_numbers(MUTUAL) == {"odd": 1, "even": 1, "far": 2, "loop": 1}
    assert [is_recursive(component, MUTUAL) for component in (("odd", "even"), ("far",), ("loop",))] == [
        True,
        False,
        True,
    ]


def test_every_component_follows_what_it_uses() -> None:
    seen: set[str] = set()
    for component in strongly_connected({**TRI_HOP, **MUTUAL}):
        uses = {used for name in component for used in {**TRI_HOP, **MUTUAL}[name]}
        assert uses - set(component) - {"link"} <= seen
        seen |= set(component)


def test_a_long_chain() -> None:
    chain = {f"p{n}": [f"p{n + 1}"] for n in range(5000)}
    assert stratum_numbers(chain)["p0"] == 5000


def test_paths() -> None:
    assert path(MUTUAL, "far", "even") == ("far", "odd", "even")
    assert path(MUTUAL, "odd", "odd") == ("odd", "even", "odd")
    assert path(MUTUAL, "odd", "far") == ()

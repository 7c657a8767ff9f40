from __future__ import annotations

import json


def test_publish_says_where(run, warehouse):
    assert run("publish", "v").stdout == "v is published at here/published/v.\n"
    layout = ("--cdf", "--partition-by", "a, b", "--cluster-by", "c")
    told = run("publish", "v", "--to", "there", "--mode", "copy-on-write", *layout, "--json").stdout
    assert json.loads(told) == {
        "name": "v",
        "place": "there",
        "version": 9,
    }
    asked = [call for call in warehouse.log if call[0] == "publish"]
    assert asked == [
        ("publish", "v", None, "merge-on-read", False, [], []),
        ("publish", "v", "there", "copy-on-write", True, ["a", "b"], ["c"]),
    ]
    assert run("publish", "v", "--mode", "fast").exit_code == 2
    assert run("unpublish", "v").stdout == "v is published no longer: version 10.\n"


def test_verify_published_compares_all_and_exits_with_3(run, warehouse):
    assert run("verify", "--published").stdout == (
        "v: equal, published at version 7\nw: equal, published at version 7\n"
    )
    warehouse.wrong = {"w"}
    result = run("verify", "w", "--published")
    assert result.exit_code == 3
    assert result.stdout.startswith(
        "w: different, published at version 7\nmissing from the published table\n"
    )
    found = json.loads(run("verify", "--published", "--json").stdout)
    assert [one["equal"] for one in found] == [True, False]

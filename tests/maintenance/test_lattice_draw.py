"""A lattice as text, Mermaid and SVG."""

from __future__ import annotations

from xml.etree import ElementTree

from tests.maintenance.retail import FIGURE_1
from tests.papers.test_mumick97 import TABLE_3
from tests.reference.summary_refresh import batch
from viewkeeper.maintenance.lattice.draw import as_mermaid, as_svg, as_text, drawing, levels
from viewkeeper.maintenance.lattice.friendly import lattice_friendly
from viewkeeper.maintenance.lattice.parents import choose_for_deltas

NODES = lattice_friendly(FIGURE_1)
DRAWN = drawing(NODES, TABLE_3.delta_rows, choose_for_deltas(NODES, TABLE_3, batch("pos")))


def test_levels_are_longest_paths_from_the_top():
    assert [[v.name for v in level] for level in levels(NODES)] == [
        ["SID_sales"],
        ["sCD_sales", "SiC_sales"],
        ["sR_sales"],
    ]


def test_as_text():
    assert as_text(DRAWN) == (
        "SID_sales  (storeID, itemID, date)  1,000 rows\n"
        "sCD_sales  (city, date, [region])  100 rows\n"
        "    ┗━ from SID_sales ⋈ stores\n"
        "SiC_sales  (storeID, category)  1,000 rows\n"
        "    ┗━ from SID_sales ⋈ items\n"
        "sR_sales  (region)  10 rows\n"
        "    ┗━ from sCD_sales\n"
        "    └─ from SiC_sales ⋈ stores"
    )


def test_as_mermaid():
    assert as_mermaid(DRAWN) == (
        "flowchart TD\n"
        '  n0["SID_sales<br/>(storeID, itemID, date)<br/>1,000 rows"]\n'
        '  n1["sCD_sales<br/>(city, date, [region])<br/>100 rows"]\n'
        '  n2["SiC_sales<br/>(storeID, category)<br/>1,000 rows"]\n'
        '  n3["sR_sales<br/>(region)<br/>10 rows"]\n'
        "  n0 ==>|stores| n1\n"
        "  n0 ==>|items| n2\n"
        "  n1 ==> n3\n"
        "  n2 -->|stores| n3\n"
    )


def test_as_svg_is_well_formed_and_complete():
    root = ElementTree.fromstring(as_svg(DRAWN))
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f"{space}line")) == 4
    assert len(root.findall(f"{space}rect")) == 1 + 4
    texts = [text.text for text in root.findall(f"{space}text")]
    assert texts.count("⋈ stores") == 2
    assert "(city, date, [region])" in texts


def test_an_empty_lattice_draws_nothing():
    empty = drawing(NODES.restricted_to(()))
    assert as_text(empty) == ""
    assert as_mermaid(empty) == "flowchart TD\n"
    assert ElementTree.fromstring(as_svg(empty)).tag.endswith("svg")

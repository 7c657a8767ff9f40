"""The page in a real browser, over a service without Spark: every screen is opened, used, and compared with
what the API says; nothing that keeps people out is on it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect, sync_playwright

from tests.serve.shown import TOKEN, Listening, listening

SCREENSHOTS = Path(__file__).parents[2] / "screenshots"
BROWSERS = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")

expect.set_options(timeout=60_000)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    with listening(str(tmp_path_factory.mktemp("shown") / "warehouse")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = next((found for name in BROWSERS if name and (found := shutil.which(name))), None)
    assert path is not None, "there is no Chromium: scripts/ensure-chromium installs one, or says how"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Page]:
    """A page on which nothing may go wrong."""
    context, wrong = browser.new_context(viewport={"width": 1280, "height": 900}), []
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda told: wrong.append(told.text) if "Content Security" in told.text else None)
    yield opened
    context.close()
    assert wrong == []


def relations(served: Listening) -> dict[str, Any]:
    return {one["name"]: one for one in served.get("/api/warehouse").json["relations"]}


def show(page: Page, served: Listening, address: str, screen: str) -> None:
    """Opens a screen, keeps a picture of it, and looks for what keeps people out."""
    page.goto(f"{served.url}/{address}")
    expect(page.locator(f"main[data-ready={screen}]")).to_be_visible()
    keep(page, screen)


def keep(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


def test_the_warehouse_at_a_glance(served: Listening, page: Page):
    show(page, served, "#/", "warehouse")
    told = relations(served)
    expect(page.get_by_role("row", name="large")).to_contain_text(f"{told['large']['main_rows']:,}")
    expect(page.locator("[data-name]")).to_have_count(len(told))
    page.keyboard.press("/")
    page.keyboard.type("CIT")
    expect(page.locator("[data-name]")).to_have_text(["cities"])
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme="dark")
    keep(page, "warehouse-phone-dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("link", name="cities").click()
    expect(page.get_by_role("heading", name="cities", exact=True)).to_be_visible()


def test_a_view_is_refreshed_and_verified_by_its_buttons(served: Listening, page: Page):
    served.desk.change()
    show(page, served, "#/view/cities", "view")
    told = served.get("/api/views/cities/history").json
    expect(page.get_by_label("What each refresh did", exact=True).locator("tbody tr")).to_have_count(
        len(told)
    )
    expect(page.get_by_label("Definition").locator(".k").first).to_have_text("SELECT")
    rows = served.get("/api/relations/cities/rows").json["rows"]
    expect(page.get_by_label("Some rows").locator("tbody tr")).to_have_count(len(rows))
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_role("alert")).to_contain_text("token")
    page.get_by_role("button", name="Token").click()
    page.get_by_label("Token", exact=True).fill(TOKEN)
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator("#run")).to_contain_text("cities by")
    assert not relations(served)["cities"]["stale"]
    page.get_by_role("button", name="Verify").click()
    expect(page.locator("#verdict")).to_have_text("right")
    keep(page, "view")


def test_the_plan_of_a_view_is_a_graph(served: Listening, page: Page):
    told = served.get("/api/views/cities/explain").json
    show(page, served, "#/explain/cities", "explain")
    expect(page.locator("#strategy")).to_have_text(told["strategy"])
    expect(page.locator(".node.made")).to_have_count(len(told["steps"]))
    expect(page.get_by_label("Steps").locator("ol > li")).to_have_count(len(told["steps"]))
    page.get_by_label("Steps").locator("ol > li").first.focus()
    expect(page.locator(".node.made.lit")).to_have_count(1)
    page.locator("summary").first.click()
    expect(page.get_by_label("Steps").locator("pre").first).to_contain_text("SELECT")


def test_the_lineage_moves_and_replays_the_last_refresh(served: Listening, page: Page):
    show(page, served, "#/lineage", "lineage")
    told = served.get("/api/lineage").json
    expect(page.locator(".canvas .node")).to_have_count(len(told["nodes"]))
    canvas = page.locator(".canvas")
    before = canvas.get_attribute("viewBox")
    canvas.focus()
    page.keyboard.press("+")
    assert canvas.get_attribute("viewBox") != before
    page.keyboard.press("0")
    assert canvas.get_attribute("viewBox") == before
    page.locator("#next").click()
    lit = page.locator(f".node.lit[data-id={told['last']['views'][0]['view']}]")
    expect(lit).to_have_count(1)
    keep(page, "lineage-replayed")
    expect(page.locator("#replay > li")).to_have_count(len(told["last"]["views"]))


def test_a_query_is_run_and_says_who_answered(served: Listening, page: Page):
    show(page, served, "#/query", "query")
    page.locator("#sql").fill("SELECT storeID, SUM(qty) AS q FROM pos GROUP BY storeID ORDER BY storeID")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer tbody tr")).to_have_count(2)
    keep(page, "query-answered")
    page.locator("#sql").fill("SELECT * FROM parquet.`/etc/passwd`")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("not a table or view")


def test_the_api_describes_itself(served: Listening, page: Page):
    page.goto(f"{served.url}/docs")
    expect(page.get_by_role("heading", name="POST /api/refresh")).to_be_visible()
    keep(page, "docs")

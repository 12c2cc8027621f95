"""The board in a real browser: order, filters, an address that keeps them, a narrow screen."""

import csv

import pytest
from in_browser import MARKS, PHONE, axe, browser, opening  # noqa: F401
from recorded import a_site

from repro.core.suite import load
from repro.transfer_bench import leaders

pytestmark = MARKS


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return a_site(tmp_path_factory.mktemp("clone"), "transfer/leaderboard,transfer/shift")


@pytest.fixture
def visit(browser, site):  # noqa: F811
    with opening(browser, site) as visit:
        yield lambda asked="", **options: visit(f"board.html{asked}", **options)


@pytest.fixture(scope="module")
def rows():
    """Of the board, those that were sent in among them."""
    found = leaders.board(load(["scale=reduced"])).rows
    assert len(found) >= 7
    return found


def names(page):
    return page.locator("#board tbody tr:visible").evaluate_all("r => r.map(x => x.dataset.name)")


def keys(page, column):
    cells = page.locator(f"#board tbody tr:visible td[data-column={column}]")
    found = cells.evaluate_all("c => c.map(x => x.dataset.key ?? '')")
    return [float(key) for key in found if key], found


def test_a_column_s_head_orders_by_it_and_what_is_undefined_comes_last(visit, rows):
    page = visit()
    first = names(page)
    page.get_by_role("button", name="GRU").click()
    numbers, every = keys(page, "gru")
    defined = [row for row in rows if "gru" in row.defined]
    assert numbers == sorted(numbers) and len(numbers) == len(defined) >= 5
    assert every[len(numbers) :] == [""] * (len(every) - len(numbers))
    page.get_by_role("button", name="GRU").click()
    assert keys(page, "gru")[0] == numbers[::-1]
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("GRU")
    page.reload()
    assert keys(page, "gru")[0] == numbers[::-1], "the address keeps it"
    page.get_by_role("button", name="Reset").click()
    assert names(page) == first


def test_filters_leave_the_entries_asked_for(visit, rows):
    page = visit("#optimizer=Muon")
    assert names(page) and all(name.endswith("Muon") for name in names(page))
    page.locator("[name=optimizer]").select_option("")
    page.locator("[name=trained]").select_option("bart")
    assert sorted(names(page)) == ["SP, AdamW", "muP, AdamW"]
    page.locator("article").get_by_role("searchbox").fill("nobody")
    assert names(page) == []
    page.get_by_role("button", name="Show all").click()
    assert names(page) == [row.name for row in rows]


def test_a_cell_opens_and_leads_to_its_curves_and_runs(visit, site):
    page = visit()
    cell = page.locator("tr[data-name='LVP, AdamW'] td[data-column=gru]")
    assert not cell.get_by_role("link", name="curves").is_visible()
    cell.locator("summary").click()
    assert "regret" in cell.inner_text() and "nats" in cell.inner_text()
    cell.get_by_role("link", name="curves").click()
    page.wait_for_url("**/shift.html#workload=gru&parametrization=LVP")
    page.go_back()
    cell.locator("summary").click()
    cell.get_by_role("link", name="runs").click()
    page.locator("#plot details[open]").wait_for()
    cells = page.locator("#plot tbody tr").first.locator("td").all_inner_texts()
    with (site / "figures/reduced/embedded/transfer/shift.csv").open(newline="") as lines:
        runs = [
            each
            for each in csv.DictReader(lines)
            if (each["workload"], each["parametrization"], each["model.width"])
            == ("gru", "LVP", "64")
        ]
    rate = min(float(run["lr"]) for run in runs)
    losses = [float(run["train_loss"]) for run in runs if float(run["lr"]) == rate]
    said = [float(text.partition(": ")[2]) for text in cells[-1].split(", ")]
    assert len(said) == 6 and said == pytest.approx(losses, abs=1e-3)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("opened", [False, True])
def test_at_390_pixels_nothing_runs_over_and_all_can_be_read(visit, scheme, opened):
    page = visit(viewport=PHONE, color_scheme=scheme)
    if opened:
        page.locator("#board details").evaluate_all("all => all.forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    table = page.locator("#board")
    assert table.evaluate("t => t.scrollWidth <= t.parentElement.clientWidth")
    label = page.locator("#board tbody tr").first.locator("td[data-column=decoder]")
    assert label.evaluate("c => getComputedStyle(c, '::before').content") == '"decoder"'
    found = axe.Axe().run(page, options={"preload": False})
    assert not found.response["violations"], found.generate_report()

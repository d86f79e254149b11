"""The Runs pages: an experiment is built, run, compared, stepped through; problems stand at their field."""

import json
import re
import time

import pytest
from playwright.sync_api import expect

from core.bootstrap import open_workspace
from core.config import Settings
from core.experiments.spec_reader import read_experiment
from tests.browser.serving import axe_in_both_schemes, unfit, visit
from tests.builders import SIX_JOBS
from tests.experiments.test_queue_measures import QUEUE


@pytest.fixture(scope="module")
def experiment(stocked):
    """A small experiment that has been run; its id."""
    return run_of(stocked, SIX_JOBS.replace("Six jobs", "Small box"))


@pytest.fixture(scope="module")
def queue(stocked):
    """An experiment whose jobs wait and take turns; its id."""
    return run_of(stocked, QUEUE)


def run_of(stocked, text):
    """Run an experiment; its id."""
    space = open_workspace(Settings(home=stocked.home))
    task = space.runs.submit(read_experiment(text))
    end = time.monotonic() + 90
    while not space.tasks.get(task).state.ended and time.monotonic() < end:
        time.sleep(0.2)
    done = space.tasks.get(task)
    space.close()
    assert done.error is None
    assert done.progress == 1.0
    return str(done.params["experiment"])


def field(page, name):
    return f'[data-field="{name}"] input'


def wait_for_chart(page):
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible(timeout=60_000)


def unfold(page, title):
    page.locator("details.runfold > summary").filter(has_text=title).click()


@pytest.mark.usefixtures("stocked")
def test_build_run_compare_two_policies_and_step_through_the_ledger(page):
    build_and_run(page)
    compare(page)
    step_through(page)


def build_and_run(page):
    build(page, "Built by hand")
    expect(page.locator(".runstate")).to_contain_text("finished", timeout=90_000)
    expect(page.locator("table.board tbody tr")).to_have_count(3)
    wait_for_chart(page)


def build(page, name):
    visit(page, "/runs?look=build")
    expect(page.get_by_role("heading", level=1)).to_have_text("New experiment")
    page.locator(field(page, "name")).fill(name)
    page.locator(field(page, "drawn/count")).fill("5")
    page.locator(field(page, "seeds/count")).fill("3")
    expect(page.locator(".yaml")).to_contain_text(name)
    expect(page.locator(".yaml")).to_contain_text("count: 5")
    page.get_by_role("button", name="Add a policy").click()
    third = page.locator("input[id*='policies/2/policy']")
    expect(third).to_be_visible()
    third.click()
    page.get_by_role("option", name="FlowCon", exact=True).click()
    expect(page.locator(".yaml")).to_contain_text("flowcon")
    expect(page.get_by_text("Settings of flowcon")).to_be_visible()
    expect(page.locator(".notice.ok")).to_contain_text("9 runs")
    page.get_by_role("button", name="Start").click()
    expect(page).to_have_url(re.compile(r"/runs\?experiment=\w+$"))
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def compare(page):
    page.locator("table.board").get_by_role("link", name="SpeCon", exact=True).click()
    expect(page).to_have_url(re.compile(r"arms=fewest(%7C|\|)specon&lit=specon"))
    expect(page.locator(".armkey")).to_have_count(4)
    unfold(page, "Over time")
    page.get_by_role("link", name="Lists", exact=True).click()
    expect(page.get_by_role("heading", name="Lists, SpeCon")).to_be_visible()
    page.get_by_role("link", name="Jobs per worker").click()
    expect(page.get_by_role("heading", name="Jobs per worker, Fewest jobs")).to_be_visible()
    page.get_by_role("link", name="Draw the usual ones").click()
    expect(page.get_by_role("heading", name="Jobs per worker, FlowCon")).to_be_visible()


LATE_RESULTS = """
const send = window.fetch;
window.fetch = async (address, options) => {
  const answer = await send(address, options);
  const asked = String(options?.body);
  if (asked.includes('"output":"run-fresh') && asked.includes('"changedPropIds":["changed.data"]'))
    await new Promise((done) => setTimeout(done, 2_500));
  return answer;
};
"""


ANSWER = """([mark, address, at]) => dash_clientside.set_props("run-fresh", {
  data: {mark, at, address: address ?? window.location.search, page: "Other results"}})"""


@pytest.mark.long
@pytest.mark.usefixtures("stocked")
def test_results_that_come_late_are_drawn_once(page):
    """The page polls while the answer is on its way; a second drawing would close a menu."""
    page.add_init_script(LATE_RESULTS)
    build(page, "Answered late")
    # the head may say so a moment before the last results are drawn
    expect(page.locator("#run-mark")).to_have_attribute("data-mark", re.compile("^done"), timeout=90_000)
    expect(page.locator(".runstate")).to_contain_text("finished")
    table = page.locator("table.differences").element_handle()
    page.wait_for_timeout(3_000)
    assert table.evaluate("node => node.isConnected")
    mark = page.locator("#run-mark").get_attribute("data-mark")
    later = time.time() + 60
    for answer in ([mark, None, later], ["other", "?b=other", later], ["other", None, time.time() - 600]):
        page.evaluate(ANSWER, answer)
        page.wait_for_timeout(500)
        assert table.evaluate("node => node.isConnected"), answer
    page.evaluate(ANSWER, ["other", None, later])
    expect(page.locator("#runs-page")).to_have_text("Other results")


def step_through(page):
    page.get_by_role("link", name="Step through SpeCon").click()
    expect(page).to_have_url(re.compile("look=ledger"))
    expect(page.locator("#tick-body")).to_contain_text("Tick 0,")
    page.get_by_role("button", name="Next decision").click()
    expect(page).to_have_url(re.compile(r"tick=\d+"))
    first = int(re.search(r"tick=(\d+)", page.url)[1])  # type: ignore[index]
    expect(page.locator("#tick-body")).to_contain_text(f"Tick {first},")
    expect(page.locator("tr.decided").first).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(f"tick={first + 2}"))
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#tick-body")).to_contain_text(f"Tick {first + 1},")
    page.reload()
    expect(page.locator("#tick-body")).to_contain_text(f"Tick {first + 1},")
    page.locator("input[aria-label='Only this job']").click()
    page.get_by_role("option", name="Job-1", exact=True).click()
    expect(page).to_have_url(re.compile("job=Job-1"))
    expect(page.get_by_role("heading", name="Changes of Job-1")).to_be_visible()
    page.locator(".moment").last.click()
    expect(page.locator(".moment.on")).to_have_count(1)


@pytest.mark.long
def test_tables_pictures_and_files_are_taken_away(page, experiment):
    visit(page, f"/runs?experiment={experiment}&a=fewest&b=flowcon&over=workers")
    wait_for_chart(page)
    page.get_by_role("button", name="Export jobs per worker flowcon").click()
    with page.expect_download() as picture:
        page.get_by_role("button", name="Picture, SVG").click()
    assert "<svg" in picture.value.path().read_text()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as file:
        page.get_by_role("link", name="Experiment, YAML").click()
    assert read_experiment(file.value.path().read_text()).name == "Small box"
    with page.expect_download() as run:
        page.get_by_role("link", name="Run of flowcon, JSON").click()
    assert json.loads(run.value.path().read_text())["label"] == "flowcon"


@pytest.mark.long
def test_any_number_of_policies_stand_side_by_side(page, experiment):
    visit(page, f"/runs?experiment={experiment}")
    wait_for_chart(page)
    rows = page.locator("table.board tbody tr")
    expect(rows).to_have_count(3)
    page.get_by_role("link", name="Makespan", exact=True).click()
    expect(page).to_have_url(re.compile("sort=makespan"))
    expect(page.locator("table.board th[aria-sort=ascending]")).to_contain_text("Makespan")
    page.get_by_role("link", name="Hide FlowCon in the figures").click()
    expect(page).to_have_url(re.compile(r"arms=fewest(%7C|\|)specon"))
    expect(page.locator(".armkey", has_text="FlowCon")).to_have_count(0)
    unfold(page, "Over time")
    page.get_by_role("link", name="CPU per job").click()
    expect(page.get_by_role("heading", name="CPU per job, SpeCon")).to_be_visible()
    page.locator("input[aria-label='Baseline']").click()
    page.get_by_role("option", name="SpeCon", exact=True).click()
    expect(page).to_have_url(re.compile("base=specon"))
    expect(rows.filter(has_text="baseline")).to_contain_text("SpeCon")
    page.get_by_role("button", name="Export leaderboard Small box").click()
    with page.expect_download() as table:
        page.get_by_role("link", name="Table, CSV").click()
    assert ",specon,3," in table.value.path().read_text()
    with page.expect_download() as picture:
        page.get_by_role("button", name="Picture, SVG").click()
    drawn_ = picture.value.path().read_text()
    assert all(text in drawn_ for text in ("against SpeCon", "FlowCon", "Mean completion"))


@pytest.mark.long
def test_a_queue_is_compared_and_stepped_through(page, queue):
    visit(page, f"/runs?experiment={queue}")
    wait_for_chart(page)
    unfold(page, "Waiting and steps")
    expect(page.get_by_role("heading", name="Where jobs’ time goes")).to_be_visible()
    page.get_by_role("link", name="Waiting and cores").click()
    expect(page).to_have_url(re.compile("columns=queue"))
    page.get_by_role("link", name="Jobs per hour", exact=True).click()
    expect(page.locator("table.board th[aria-sort=descending]")).to_contain_text("Jobs per hour")
    unfold(page, "Over time")
    page.get_by_role("link", name="Queue", exact=True).click()
    expect(page.get_by_role("heading", name="Queue, Turns")).to_be_visible()
    visit(page, f"/runs?experiment={queue}&look=ledger&of=Turns&tick=12")
    expect(page.get_by_role("heading", name="Waiting after this tick")).to_be_visible()
    wait_for_chart(page)
    assert line(page) == pytest.approx(time_of_tick(page, 12), abs=1e-5)
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tick-body")).to_contain_text("Tick 13,")
    until = time.monotonic() + 20
    while line(page) == pytest.approx(time_of_tick(page, 12), abs=1e-5) and time.monotonic() < until:
        page.wait_for_timeout(100)
    assert line(page) == pytest.approx(time_of_tick(page, 13), abs=1e-5)
    for address in (f"experiment={queue}&columns=queue", f"experiment={queue}&a=Static&b=Turns&over=limits",
                    f"experiment={queue}&look=ledger&of=Turns&tick=12"):  # fmt: skip
        visit(page, f"/runs?{address}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.wait_for_timeout(700)
        assert unfit(page, 1280, 390) == [], address


LINE = """() => {
  const plots = [...document.querySelectorAll('.js-plotly-plot')];
  const plot = plots.find((each) => each.layout && each.layout.yaxis2 && each.layout.shapes.length === 1);
  return plot ? plot.layout.shapes[0].x0 : null;
}"""


def line(page):
    """Where the line at the tick is in the figure of the queue."""
    return float(page.evaluate(LINE))


def time_of_tick(page, tick):
    """When a tick of the ledger was."""
    run = page.locator(".tickbar").get_attribute("data-run")
    found = page.request.get(f"{page.url.partition('/runs')[0]}/api/runs/{run}.json").json()
    return float(found["series"]["time"][tick])


@pytest.mark.long
@pytest.mark.usefixtures("stocked")
def test_an_experiment_is_edited_as_text(page):
    visit(page, "/runs?look=build")
    page.locator(field(page, "name")).fill("Typed by hand")
    page.get_by_role("button", name="Edit as text").click()
    text = page.get_by_label("Experiment as YAML or JSON")
    expect(text).to_have_value(re.compile("name: Typed by hand"))
    for part in ("#run-fields", "#run-edit"):
        expect(page.locator(part)).to_be_hidden()
    text.fill(text.input_value().replace("count: 8", "count: 0.5"))
    expect(page.locator(".notice.bad")).to_contain_text("Line 9")
    text.fill(text.input_value().replace("count: 0.5", "count: 3"))
    expect(page.locator(".notice.ok").first).to_contain_text("3 jobs")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Typed by hand")


@pytest.mark.long
def test_the_list_is_filtered_started_from_and_deleted_from(page, experiment):
    visit(page, "/runs")
    row = page.locator("table[data-table=experiments] tbody tr", has_text="Small box").first
    expect(row).to_contain_text("finished")
    page.get_by_label("Filter experiments").fill("nothing of that name")
    expect(row).to_be_hidden()
    expect(page).to_have_url(re.compile("text=nothing"))
    page.get_by_label("Filter experiments").fill("small")
    expect(row).to_be_visible()
    bundled = page.locator("table.bundled tr", has_text="FlowCon, 3 jobs, fixed")
    bundled.get_by_role("button", name="Run").click()
    expect(page).to_have_url(re.compile(r"/runs\?experiment=\w+$"))
    expect(page.locator(".runstate")).to_contain_text("finished", timeout=90_000)
    visit(page, "/runs?state=done")
    row = page.locator("table[data-table=experiments] tbody tr", has_text="FlowCon, 3 jobs, fixed").first
    row.get_by_role("button", name="Delete FlowCon, 3 jobs, fixed").click()
    window = page.get_by_role("dialog")
    expect(window).to_contain_text("with their ledgers are deleted")
    assert axe_in_both_schemes(page) == []
    window.get_by_role("button", name="Delete", exact=True).click()
    expect(
        page.locator("table[data-table=experiments] tbody tr", has_text="FlowCon, 3 jobs, fixed")
    ).to_have_count(0)


def test_every_step_counts_however_fast_and_slow_the_browser(page, experiment):
    visit(page, f"/runs?experiment={experiment}&look=ledger&of=specon")
    expect(page.locator("#tick-body")).to_contain_text("Tick 0,")
    browser = page.context.new_cdp_session(page)
    browser.send("Emulation.setCPUThrottlingRate", {"rate": 6})
    for pause in (0, 30, 0, 90, 0, 200, 15, 0):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(pause)
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    thumb = page.locator(".tickbar [role=slider]")
    expect(page).to_have_url(re.compile(r"tick=5(&|$)"))
    expect(page.locator("#tick-body")).to_contain_text("Tick 5,")
    expect(thumb).to_have_attribute("aria-valuenow", "5")
    track = page.locator(".tickbar .mantine-Slider-track").bounding_box()
    thumb.hover()
    page.mouse.down()
    page.mouse.move(track["x"] + track["width"] / 2, track["y"], steps=8)
    expect(thumb).not_to_have_attribute("aria-valuenow", "5")
    half = int(thumb.get_attribute("aria-valuenow") or 0)
    expect(page.locator("#tick-body")).to_contain_text(f"Tick {half},")
    page.mouse.up()
    page.keyboard.press("Tab")
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tick-body")).to_contain_text(f"Tick {half + 1},")
    browser.detach()


def test_the_pages_are_accessible_and_fit(page, experiment):
    for address in (
        "/runs",
        f"/runs?experiment={experiment}",
        "/runs?look=build&traces=all",
        f"/runs?experiment={experiment}&columns=spread&over=stages",
        f"/runs?experiment={experiment}&look=ledger&of=flowcon&tick=8&job=Job-2",
    ):
        visit(page, address)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.wait_for_timeout(700)
        assert unfit(page, 1440, 390) == [], address

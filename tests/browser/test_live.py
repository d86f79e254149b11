"""The page of running containers over a real Docker Engine: look, change, undo, attach, release, record."""

import re
import time

import pytest
from playwright.sync_api import expect

from tests.app.live.feed import Feed, container
from tests.browser.serving import start_server, stop, unfit
from tests.live import host
from tests.live.limits import docker_cores
from tests.live.waiting import until
from tests.live.workloads import FAST, SLOW, program

pytestmark = [pytest.mark.live, pytest.mark.browser, pytest.mark.timeout(300)]

MOST_MS = 100
"""What a tick may cost the script of the page."""
LOSSES = {"mlp": FAST, "autoencoder": SLOW, "elman": FAST, "factors": SLOW}


@pytest.fixture(scope="module", autouse=True)
def containers(docker_client, light_image):
    """Four that seem to train, computing little, and carry the label; and one of somebody else's."""
    labels = {"phasedock": "", "phasedock.loss": "loss"}
    made = {
        f"page-{name}": host.run_job(
            docker_client,
            light_image,
            ["python3", "-c", program(loss, busy=0.02, rest=0.18)],
            name=f"page-{name}",
            labels=labels,
        )
        for name, loss in LOSSES.items()
    }
    made["page-foreign"] = host.run_job(docker_client, light_image, ["sleep", "3600"], name="page-foreign")
    yield made
    for each in made.values():
        each.remove(force=True, v=True)


def opened(page, live):
    page.goto(f"{live.base_url}/live?engine=box")
    expect(page.locator("#live-lead")).to_contain_text("box,")
    expect(row(page, "page-mlp")).to_be_visible()


def row(page, name):
    return page.locator("#live-grid .ag-center-cols-container .ag-row", has_text=name)


def test_containers_are_shown_a_limit_is_set_and_taken_back(page, live, containers):
    opened(page, live)
    expect(page.locator("#live-age")).to_contain_text(re.compile(r"updated \d s ago"))
    expect(row(page, "page-foreign")).to_have_count(0)
    expect(page.locator("#live-others")).to_contain_text("page-foreign")
    page.get_by_role("button", name="Inspect or change page-mlp").first.click()
    window = page.get_by_role("dialog")
    expect(window.locator(".js-plotly-plot .ytick").first).to_be_visible()
    window.get_by_label("CPU, cores").fill("0.3")
    window.get_by_role("button", name="Set the limits of page-mlp").click()
    message = page.locator(".mantine-Notification-root", has_text="page-mlp changed.")
    expect(message).to_contain_text("CPU from no limit to 0.30 cores.")
    assert docker_cores(containers["page-mlp"]) == 0.3
    expect(row(page, "page-mlp")).to_contain_text("/ 0.30 cores")
    message.get_by_role("button", name="Undo").click()
    expect(page.locator(".mantine-Notification-root", has_text="are restored")).to_be_visible()
    expect(row(page, "page-mlp")).not_to_contain_text("/ 0.30")
    assert docker_cores(containers["page-mlp"]) is None


def test_a_change_is_taken_back_in_its_row_and_a_foreign_container_is_picked_and_left(page, live, containers):
    opened(page, live)
    page.locator("#live-others tr", has_text="page-foreign").get_by_role("button").click()
    expect(row(page, "page-foreign")).to_contain_text("selected")
    page.get_by_role("button", name="Inspect or change page-foreign").first.click()
    window = page.get_by_role("dialog")
    window.get_by_label("CPU, cores").fill("0.5")
    window.get_by_role("button", name="Set the limits of page-foreign").click()
    page.get_by_role("button", name="Restore the limits of page-foreign").click()
    expect(page.get_by_role("button", name="Restore the limits of page-foreign")).to_have_count(0)
    assert docker_cores(containers["page-foreign"]) is None
    page.locator("#live-others tr", has_text="page-foreign").get_by_role("button").click()
    expect(row(page, "page-foreign")).to_have_count(0)
    assert docker_cores(containers["page-foreign"]) is None


def attach(page, mode):
    page.locator("#live-policy").get_by_text("Settings", exact=True).click()
    page.get_by_role("textbox", name="Interval", exact=True).fill("2")
    page.locator("#live-mode").get_by_text(mode, exact=True).click()
    page.get_by_role("button", name="Attach", exact=True).click()


def test_flowcon_in_control_changes_limits_and_release_puts_them_back(page, live, containers):
    opened(page, live)
    attach(page, "Control")
    window = page.get_by_role("dialog")
    expect(window).to_contain_text("page-autoencoder")
    expect(window).not_to_contain_text("page-foreign")
    window.get_by_role("button", name="Attach in control mode").click()
    expect(page.locator("#live-policy-card .state")).to_have_text("control")
    expect(page.locator(".decisions li").first).to_contain_text("cores", timeout=60_000)
    expect(page.locator("#rail-links .dot")).to_be_visible()
    expect(page.locator("#live-grid .listbadge").first).to_be_visible()
    assert docker_cores(containers["page-foreign"]) is None
    page.get_by_role("button", name="Release everything").click()
    asking = page.get_by_role("dialog")
    expect(asking).to_contain_text("FlowCon is detached")
    asking.get_by_role("button", name="Release everything").click()
    expect(page.locator("#live-policy")).to_contain_text("none attached", timeout=60_000)
    assert [docker_cores(each) for each in containers.values()] == [None] * len(containers)
    page.goto(f"{live.base_url}/runs")
    page.get_by_role("link", name="FlowCon controls box").click()
    expect(page.locator("#tick-body")).to_contain_text("page-autoencoder")
    page.get_by_role("button", name="Next decision").click()
    expect(page.locator("tr.decided").first).to_contain_text("page-")


@pytest.mark.long
def test_watching_touches_nothing_and_says_so(page, live, containers):
    opened(page, live)
    attach(page, "Watch")
    expect(page.locator("#live-policy")).to_contain_text("Nothing was changed", timeout=60_000)
    expect(page.locator(".decisions li .what").first).to_be_visible(timeout=60_000)
    assert [docker_cores(each) for each in containers.values()] == [None] * len(containers)
    page.get_by_role("button", name="Detach").first.click()
    expect(page.locator("#live-policy")).to_contain_text("none attached", timeout=60_000)


@pytest.mark.long
@pytest.mark.usefixtures("containers")
def test_a_recording_counts_and_ends_in_a_trace_set(page, live):
    opened(page, live)
    page.locator("#live-record-name").fill("From the page")
    page.get_by_role("button", name="Record", exact=True).click()
    samples = page.locator('[data-moving="samples"]')
    expect(samples).to_have_text(re.compile(r"^([1-9]\d+)$"), timeout=60_000)
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("link", name="See the task").click()
    expect(page.locator(".taskrow.on")).to_contain_text("done", timeout=60_000)
    page.goto(f"{live.base_url}/traces")
    expect(page.get_by_text("From the page").first).to_be_visible()


@pytest.mark.long
def test_what_was_typed_stays_while_containers_come_and_go(page, live, containers):
    named = [each for name, each in containers.items() if name != "page-foreign"]
    record, name = page.locator("#live-record-start"), page.locator("#live-record-name")
    opened(page, live)
    name.fill("Tonight")
    for each in named:
        each.stop(timeout=0)
    try:
        expect(record).to_be_disabled(timeout=60_000)
        expect(page.locator("#live-attach")).to_be_disabled()
    finally:
        for each in named:
            each.start()
    expect(record).to_be_enabled(timeout=60_000)
    expect(page.locator("#live-attach")).to_be_enabled()
    expect(name).to_have_value("Tonight")


@pytest.mark.usefixtures("containers")
def test_pause_filter_csv_and_keys(page, live):
    opened(page, live)
    page.get_by_label("Filter containers").fill("page-elman")
    expect(row(page, "page-mlp")).to_have_count(0)
    expect(page).to_have_url(re.compile("text=page-elman"))
    with page.expect_download() as file:
        page.get_by_role("button", name="Export the table, CSV").click()
    lines = file.value.path().read_text().splitlines()
    assert lines[0].startswith("container,image,state")
    assert [line.split(",")[0] for line in lines[1:]] == ["page-elman"]
    page.get_by_label("Filter containers").fill("")
    page.locator("h1").click()
    page.keyboard.press("p")
    expect(page.locator("#live-age")).to_contain_text("paused")
    page.keyboard.press("p")
    expect(page.locator("#live-age")).to_contain_text("updated")
    row(page, "page-mlp").locator(".ag-cell").first.click()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Selected")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Memory", exact=True).click()
    expect(page).to_have_url(re.compile("measure=memory"))
    expect(page.locator(".smallone .what").first).to_contain_text("Memory")


@pytest.mark.usefixtures("containers")
def test_the_page_is_accessible_and_fits(page, live):
    page.goto(f"{live.base_url}/live?engine=box")
    expect(page.locator("#live:not(.waiting)")).to_be_visible()
    expect(page.locator("#live-policy")).to_contain_text("Policy")
    page.wait_for_timeout(700)
    assert unfit(page, 1440, 1280, 390) == []
    expect(page.locator(".livecard", has_text="page-mlp")).to_be_visible()


@pytest.mark.long
@pytest.mark.usefixtures("containers")
def test_an_engine_that_stops_is_said_and_its_figures_stay(page, live):
    opened(page, live)
    stop(live.worker)
    expect(page.locator("#live-notice")).to_contain_text("No worker is running", timeout=30_000)
    expect(page.locator("#live-late")).to_contain_text("limits are unchanged", timeout=30_000)
    expect(row(page, "page-mlp")).to_be_visible()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "phasedock worker"
    live.start_worker()
    expect(page.locator("#live-late .notice")).to_have_count(0, timeout=60_000)
    expect(page.locator("#live-notice")).to_be_empty()


@pytest.fixture
def fed(tmp_path, guard, page):
    """Fifty containers with ten minutes of history, fed from here: nobody else measures this engine."""
    running = start_server(tmp_path / "home", PHASEDOCK_DOCKER="fed=tcp://127.0.0.1:9")
    stop(running.worker)
    guard.servers.append(running)
    feed = Feed(running.home, "fed", tuple(container(i) for i in range(50)))
    feed.past(time.time())
    feed.publish()
    yield running, feed
    page.goto("about:blank")  # or it would go on asking a server that is gone, in the next test's time
    running.stop()


@pytest.mark.long
def test_a_tick_of_fifty_containers_costs_the_browser_little(page, fed):
    server, feed = fed
    page.goto(f"{server.base_url}/live?engine=fed")
    costs = []
    for _ in range(8):
        feed.publish()
        page.wait_for_timeout(1000)
        costs += page.evaluate("performance.getEntriesByName('phasedock-tick').map((e) => e.duration)")
    expect(page.locator("#live-lead")).to_contain_text("50 of 50")
    expect(page.locator(".smallone")).to_have_count(6)
    assert sorted(costs)[len(costs) // 2] <= MOST_MS
    page.locator("#live-all").click()
    expect(page.locator(".smallone")).to_have_count(50)


@pytest.mark.usefixtures("containers")
def test_a_crashed_container_shows_its_log_and_is_started_again(page, live, docker_client, light_image):
    program = "import time; print('no data', flush=True); time.sleep(0.5); raise SystemExit(3)"
    crashed = host.run_job(
        docker_client, light_image, ["python3", "-c", program], name="page-crashed", labels={"phasedock": ""}
    )
    try:
        crashed.wait()
        opened(page, live)
        expect(row(page, "page-crashed")).to_contain_text("exit 3", timeout=60_000)
        page.get_by_role("button", name="Inspect or change page-crashed").first.click()
        window = page.get_by_role("dialog")
        expect(window.get_by_role("log")).to_contain_text("no data")
        window.get_by_role("button", name="Restart page-crashed").click()
        window.get_by_role("button", name="Restart page-crashed", exact=True).click()
        expect(
            page.locator(".mantine-Notification-root", has_text="page-crashed was restarted")
        ).to_be_visible()
        until(lambda: b"no data\nno data" in crashed.logs())
    finally:
        crashed.remove(force=True)

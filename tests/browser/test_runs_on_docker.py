"""FlowCon on a real engine from the page: started, watched as it moves limits, compared, released.

What limits really are is read from the control groups while the run goes on, not from what PhaseDock says.
"""

import re
import time
from contextlib import closing, suppress

import docker
import pytest
from playwright.sync_api import expect

from core.bootstrap import open_workspace
from core.config import Settings
from core.scheduling.actions import SetLimit, Start
from core.scheduling.model import JobState
from tests.live import host
from tests.live.limits import KernelLimits, docker_cores
from tests.live.workloads import FLOWCON

pytestmark = [pytest.mark.live, pytest.mark.browser, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def bystander(docker_client, light_image):
    """A labelled container that takes no part in the run, and has a limit set by hand during it."""
    made = host.run_job(
        docker_client, light_image, ["sleep", "3600"], name="bystander", labels={"phasedock": ""}
    )
    yield made
    made.remove(force=True, v=True)


@pytest.fixture
def kernel(docker_client):
    """Notes what limits are while the test goes on."""
    noting = KernelLimits(docker_client)
    yield noting
    noting.stop()


@pytest.mark.long
def test_flowcon_is_started_watched_compared_and_released(page, live, docker_client, bystander, kernel):
    start(page, live)
    limit_the_bystander(page, live, bystander)
    watch_limits_change(page, docker_client)
    compare(page, live)
    limits_were_those_of_the_ledger(live, kernel.stop())
    release(page, live, docker_client, bystander)


def start(page, live):
    page.goto(f"{live.base_url}/runs?look=build")
    page.get_by_role("button", name="Edit as text").click()
    area = page.get_by_label("Experiment as YAML or JSON")
    expect(area).to_have_value(re.compile("version: 1"))
    area.fill(FLOWCON)
    expect(page.locator("#run-preview")).to_contain_text("Real, on Docker")
    expect(page.locator("#run-preview .notice.ok")).to_contain_text("2 runs")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page).to_have_url(re.compile(r"/runs\?experiment=\w+$"))
    expect(page.locator(".runstate")).to_contain_text("running", timeout=60_000)


def limit_the_bystander(page, live, bystander):
    page.goto(f"{live.base_url}/live?engine=box")
    page.get_by_role("button", name="Inspect or change bystander").first.click()
    window = page.get_by_role("dialog")
    window.get_by_label("CPU, cores").fill("0.4")
    window.get_by_role("button", name="Set the limits of bystander").click()
    expect(page.locator(".mantine-Notification-root", has_text="bystander changed.")).to_be_visible()
    assert docker_cores(bystander) == 0.4


def watch_limits_change(page, client):
    """The page shows limits of the run's containers, and they are those that Docker says."""
    rows = page.locator("#live-grid .ag-center-cols-container .ag-row", has_not_text="bystander")
    seen = set()
    real = set()
    end = time.monotonic() + 480  # the run without a policy comes first, and other tests may run beside it
    while (len(seen) < 2 or min(seen) == 1.0) and time.monotonic() < end:
        for text in rows.all_inner_texts():
            seen |= {float(each) for each in re.findall(r"/ (\d\.\d\d) cores", text)}
        for each in client.containers.list(filters={"label": "phasedock.run"}, ignore_removed=True):
            with suppress(docker.errors.NotFound):  # it ended between two calls
                real |= {round(docker_cores(each) or 1.0, 2)}
        time.sleep(0.5)
    assert len(seen) >= 2
    assert min(seen) < 1.0
    assert seen <= real | {1.0}


def compare(page, live):
    page.goto(f"{live.base_url}/runs")
    page.get_by_role("link", name="FlowCon, real", exact=True).click()
    expect(page.locator(".runstate")).to_contain_text("finished", timeout=240_000)
    page.get_by_role("link", name="Spread and overhead").click()
    expect(page.locator("table.board thead")).to_contain_text("PhaseDock’s own CPU")
    expect(page.get_by_role("heading", name="Simulator’s prediction")).to_be_visible()
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Step through FlowCon").click()
    page.get_by_role("button", name="Next decision").click()
    expect(page.locator("tr.decided").first).to_be_visible()


def limits_were_those_of_the_ledger(live, seen):
    with closing(open_workspace(Settings(home=live.home))) as space:
        (info,) = space.runs.experiments()
        run = info.runs["FlowCon"][1]
        asked = {}
        for entry in space.runs.ledgers.entries(run):
            for action in entry.actions:
                if isinstance(action, Start | SetLimit):
                    limits = asked.setdefault(action.job, [])
                    if not limits or limits[-1] != action.limit:
                        limits.append(action.limit)
        assert any(len(limits) > 1 for limits in asked.values())
        for job, limits in asked.items():
            # a limit that stood for less than a look may be missed; none is there that was not asked for
            assert [value for value in limits if value in seen[run, job]] == seen[run, job]
            assert len(seen[run, job]) >= len(limits) - 1
        assert space.runs.replay(run) == []
        assert seen[info.runs["NA"][1], "long"] in ([None], [1.0])
        results = [space.runs.result(runs[1]) for runs in info.runs.values()]
        assert all(job.state == JobState.DONE for result in results for job in result.jobs)
        assert info.report is not None
        assert info.report["predicted"]["fits"]["1"]["left_out"] == []


def release(page, live, client, bystander):
    """The run has taken its containers with it; what a person set goes back by one button."""
    assert client.containers.list(all=True, filters={"label": "phasedock.run"}) == []
    assert docker_cores(bystander) == 0.4
    page.goto(f"{live.base_url}/live?engine=box")
    page.get_by_role("button", name="Release everything").click()
    page.get_by_role("dialog").get_by_role("button", name="Release everything").click()
    expect(page.get_by_role("button", name="Restore the limits of bystander")).to_have_count(0)
    expect(page.locator("#live-grid")).not_to_contain_text("/ 0.40 cores")
    assert docker_cores(bystander) is None

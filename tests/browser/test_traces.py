"""The Traces page in a browser: send, map, import, rename, throw away, take back, delete."""

import math
import re

import pytest
from playwright.sync_api import expect

from tests.browser.serving import axe_findings, unfit, visit

HEADER = "execution,timestamp,cpu_cores,memory_bytes,workload"


def rows(n_executions=4, n_samples=30):
    return [row(e, t) for e in range(n_executions) for t in range(n_samples)]


def row(e, t):
    time, cpu, memory = 1_700_000_000 + 5 * t, 1 + math.sin(t / 5 + e), 2_000_000_000 + 10_000_000 * t
    return f"job-{e},{time},{cpu:.3f},{memory},group-{e % 2}"


def write(folder, name, lines):
    path = folder / name
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


def send(page, *files):
    visit(page, "/traces")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose files").click()
    chooser.value.set_files(files)


def import_it(page, name):
    expect(page.locator("#map-import")).to_be_enabled()
    page.get_by_label("Name of the set").fill(name)
    page.locator("#map-import").click()
    expect(page.locator(".importcard")).to_contain_text(f"Imported “{name}”", timeout=30_000)


def set_row(page, name):
    return page.locator("table.sets tbody tr").filter(has=page.get_by_text(name, exact=True))


def choose(page, name, action):
    page.get_by_role("button", name=f"Actions on {name}", exact=True).click()
    page.get_by_role("menuitem", name=action).click()


def test_a_csv_becomes_a_trace_set(page, tmp_path):
    send(page, write(tmp_path, "night batch.csv", rows()))
    expect(page.locator(".mapcard")).to_contain_text("Recognised as PhaseDock's recorder")
    expect(page.get_by_label("Name of the set")).to_have_value("night batch")
    marked = page.locator("table.preview th.on")
    expect(marked).to_have_count(5)
    assert axe_findings(page) == []
    import_it(page, "Night batch")
    expect(page).to_have_url(re.compile("traces="))
    expect(page.locator(".importcard")).to_contain_text("All 120 rows were kept, in 4 executions.")
    expect(page.locator(".ag-center-cols-container .ag-row")).to_have_count(4)
    expect(page.locator("#pick-traces")).to_have_value("Night batch")
    assert axe_findings(page) == []
    page.reload()
    expect(page.locator(".importcard")).to_contain_text("Imported “Night batch”")
    page.get_by_label("Find executions by name or attribute").fill("job-2")
    expect(page.locator("#executions-count")).to_have_text("1 of 4")
    expect(page.locator(".ag-center-cols-container .ag-row")).to_have_count(1)
    page.locator(".ag-row").filter(has_text="job-2").first.click()
    expect(page).to_have_url(re.compile(r"/phases\?.*execution=job-2"))


def test_two_files_dropped_at_once_are_one_timeline_a_click_later(page, tmp_path):
    def file(name, header, column):
        lines = [row(e, t).split(",") for e in range(4) for t in range(60)]
        path = tmp_path / name
        path.write_text(
            "\n".join([header, *(f"{each[0]},{each[1]},{each[column]}" for each in lines)]) + "\n"
        )
        return path

    send(page, file("cpu.csv", "pod,time,cpu_cores", 2), file("memory.csv", "pod,time,memory_bytes", 3))
    expect(page.locator(".mapcard")).to_contain_text("2 files joined by execution and time")
    expect(page.locator(".mini")).to_have_count(3)
    assert axe_findings(page) == []
    page.locator("#map-find").click()
    expect(page).to_have_url(re.compile(r"/phases\?.*traces="), timeout=90_000)
    expect(page.locator("#pick-traces")).to_have_value("cpu + memory")


def test_what_further_columns_measure_is_said_by_keyboard(page, tmp_path):
    path = tmp_path / "gpu.csv"
    lines = (f"a,{1_700_000_000 + 5 * t},1.5,{2048 + t},{200 + t}" for t in range(40))
    path.write_text("\n".join(["run,time,cpu_cores,memory_mib,gpu_power", *lines]) + "\n")
    send(page, path)
    role = page.locator('#map-roles input[aria-label="What “gpu_power” measures"]')
    expect(role).to_have_value("Other")
    role.focus()
    page.keyboard.press("Enter")
    page.get_by_role("option", name="GPU power").click()
    unit = page.locator('#map-roles input[aria-label="Unit of “gpu_power”"]')
    expect(page.locator("#map-state")).to_have_text("Choose the unit of “gpu_power”.")
    expect(unit).to_have_value("")
    # the select that was just used is still there to go on from
    expect(role).to_be_focused()
    page.keyboard.press("Tab")
    expect(unit).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("option", name="W", exact=True).click()
    expect(page.locator("#map-evidence")).to_contain_text("GPU power up to 239 W")
    expect(unit).to_have_value("W")
    expect(page.locator("#map-import")).to_be_enabled()
    assert unfit(page, 390, 1280) == []


def test_the_preview_follows_the_form(page, tmp_path):
    send(page, write(tmp_path, "plain.csv", rows()))
    expect(page.locator("#map-cores-box")).to_be_hidden()
    page.locator("#map-cpu-unit").click()
    page.get_by_role("option", name="% of the machine or limit").click()
    expect(page.locator("#map-cores-box")).to_be_visible()
    expect(page.locator("#map-state")).to_contain_text("CPU is kept as a share")
    page.locator("#map-time").click()
    page.get_by_role("option", name="None: row number × period").click()
    expect(page.locator("table.preview th.on")).to_have_count(4)
    page.locator("#map-memory").click()
    page.get_by_role("option", name="cpu_cores").click()
    expect(page.locator("#map-state")).to_contain_text("Column “cpu_cores” is mapped twice.")
    expect(page.locator("#map-import")).to_be_disabled()
    page.get_by_role("button", name="Discard", exact=True).first.click()
    expect(page).to_have_url(re.compile(r"/traces$"))


@pytest.mark.long
def test_a_flawed_file_is_imported_with_a_report(page, tmp_path):
    lines = rows()
    lines[6] = lines[6].replace(lines[6].split(",")[2], "n/a!")
    lines[40] = "job-1,17"
    send(page, write(tmp_path, "flawed.csv", lines))
    import_it(page, "Flawed")
    table = page.locator(".importcard .problems")
    expect(table).to_contain_text("cpu_cores")
    expect(table.get_by_role("row").filter(has_text="Row 42 has 2 cells")).to_contain_text("dropped")
    page.get_by_title("Close", exact=True).click()
    expect(page.locator(".importcard")).to_have_count(0)
    choose(page, "Flawed", "Import report")
    expect(page.get_by_role("dialog")).to_contain_text("rows were kept, in 4 executions")


@pytest.mark.long
def test_what_cannot_be_a_trace_says_why_and_can_be_discarded(page, tmp_path):
    broken = tmp_path / "broken.csv"
    broken.write_bytes(bytes(range(256)) * 8)
    send(page, broken)
    notice = page.locator("main .notice.bad")
    expect(notice).to_contain_text("“broken.csv”")
    assert axe_findings(page) == []
    notice.get_by_role("button", name="Discard this one").click()
    expect(page).to_have_url(re.compile(r"/traces$"))
    expect(page.get_by_text("broken.csv", exact=True)).to_have_count(0)


@pytest.mark.long
def test_rename_trash_undo_restore_delete(page, tmp_path):
    send(page, write(tmp_path, "life.csv", rows(2)))
    import_it(page, "Life")
    visit(page, "/traces")
    choose(page, "Life", "Rename")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("")
    dialog.get_by_role("button", name="Rename").click()
    expect(dialog).to_contain_text("name")
    dialog.get_by_label("Name").fill("Second life")
    dialog.get_by_role("button", name="Rename").click()
    expect(set_row(page, "Second life")).to_be_visible()
    expect(set_row(page, "Life")).to_have_count(0)

    choose(page, "Second life", "Move to trash")
    expect(set_row(page, "Second life")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(set_row(page, "Second life")).to_be_visible()

    choose(page, "Second life", "Move to trash")
    expect(set_row(page, "Second life")).to_have_count(0)
    visit(page, "/traces?show=trash")
    thrown = page.locator(".item").filter(has_text="Second life")
    assert axe_findings(page) == []
    thrown.get_by_role("button", name="Restore").click()
    expect(thrown).to_have_count(0)
    visit(page, "/traces")
    choose(page, "Second life", "Move to trash")
    visit(page, "/traces?show=trash")
    thrown.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_role("dialog")).to_contain_text("“Second life” (2 executions, 60 samples")
    page.get_by_role("dialog").get_by_role("button", name="Delete for good").click()
    expect(thrown).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_file_too_large_is_refused_before_it_is_sent(page, tmp_path):
    visit(page, "/traces")
    page.locator("#drop").evaluate("zone => { zone.dataset.max = 100; }")
    sent = []

    def note(request):
        if "/api/uploads" in request.url:
            sent.append(request.url)

    page.on("request", note)
    with page.expect_file_chooser() as chooser:
        page.locator("#choose-file").press("Enter")
    chooser.value.set_files(write(tmp_path, "large.csv", rows()))
    expect(page.locator(".sending.failed")).to_contain_text("the limit is 100 B")
    assert sent == []
    page.remove_listener("request", note)
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator(".sending")).to_have_count(0)


def test_a_slow_upload_shows_its_progress_and_can_be_cancelled(page, tmp_path):
    large = write(tmp_path, "slow.csv", rows(40, 2000))
    visit(page, "/traces")
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    limits = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 400_000}
    network.send("Network.emulateNetworkConditions", limits)
    with page.expect_file_chooser() as chooser:
        page.locator("#choose-file").click()
    chooser.value.set_files([large, write(tmp_path, "after.csv", rows(2))])
    expect(page.locator(".sending").first).to_contain_text(re.compile(r"MiB of .* · \d+% · .*B/s · .* left"))
    expect(page.locator(".sending").nth(1)).to_contain_text("Waiting for the previous file")
    with page.expect_request(lambda request: request.method == "DELETE"):
        page.locator(".sending").first.get_by_role("button", name="Cancel").click()
    expect(page.locator(".mapcard")).to_contain_text("after.csv", timeout=20_000)
    page.get_by_role("button", name="Discard", exact=True).first.click()
    expect(page).to_have_url(re.compile(r"/traces$"))
    network.detach()


@pytest.mark.long
def test_a_server_that_refuses_is_quoted(page, tmp_path, guard):
    guard.allow(r"422")
    answer = {"error": {"message": "The disk is full.", "hint": "Make room."}}
    page.route("**/api/uploads", lambda route: route.fulfill(status=422, json=answer))
    send(page, write(tmp_path, "refused.csv", rows(1)))
    expect(page.locator(".sending.failed")).to_contain_text("The disk is full. Make room.")
    page.unroute("**/api/uploads")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".mapcard")).to_contain_text("refused.csv")
    page.get_by_role("button", name="Discard", exact=True).first.click()


DROP = """text => {
  const carried = new DataTransfer();
  carried.items.add(new File([text], "dropped.csv"));
  const send = (name) => document.querySelector("main").dispatchEvent(
    new DragEvent(name, { bubbles: true, cancelable: true, dataTransfer: carried }));
  send("dragenter");
  const lit = document.querySelector("#drop").classList.contains("over");
  send("drop");
  return lit;
}"""


def test_a_file_may_be_dropped_anywhere_on_the_page(page):
    visit(page, "/traces")
    page.locator("#drop").wait_for()
    assert page.evaluate(DROP, "\n".join([HEADER, *rows(1)]))
    expect(page.locator(".mapcard")).to_contain_text("dropped.csv")
    page.get_by_role("button", name="Discard", exact=True).first.click()
    expect(page).to_have_url(re.compile(r"/traces$"))


@pytest.mark.long
def test_a_broken_connection_is_explained(page, tmp_path, guard):
    guard.allow(r"net::ERR_FAILED")
    page.route("**/api/uploads/*", lambda route: route.abort())
    send(page, write(tmp_path, "cut.csv", rows(1)))
    expect(page.locator(".sending.failed")).to_contain_text("The connection broke off")
    page.get_by_role("button", name="Dismiss").click()


def test_a_table_below_the_fold_is_there_without_scrolling(page, stocked, samples):
    page.set_viewport_size({"width": 1280, "height": 300})
    page.goto(f"{stocked.base_url}/traces?{samples}")
    expect(page.get_by_role("columnheader", name="Duration")).to_be_visible()
    expect(page.get_by_role("gridcell", name="image-classifier-0001")).to_be_visible()
    assert axe_findings(page) == []


def test_nothing_is_clipped(page, tmp_path):
    send(page, write(tmp_path, "a name that is rather long, so that it would not fit anywhere.csv", rows(2)))
    expect(page.locator("#map-import")).to_be_enabled()
    for address in (page.url, "/traces", "/traces?show=trash"):
        visit(page, address)
        page.get_by_role("heading", name="Traces", level=1).wait_for()
        page.wait_for_timeout(300)
        assert unfit(page, 1440, 1280, 390) == [], address

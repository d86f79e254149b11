"""Files in a folder are read as one: what belongs together is found by content, what does not is said."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.errors import InputError
from core.reading import group_files, inspect_file, read_first_part, read_with_report
from core.reading.mapping import UNKNOWN
from core.traces.model import Role
from core.units import MIB

START = 1_700_000_000


def write(folder, files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def at(i, step=10, shift=0.0):
    return f"{START + step * i + shift:.3f}"


def cpu(names=("a", "b"), n=20, step=10, shift=0.0, column="cpu_cores"):
    rows = [f"{name},{at(i, step, shift)},{0.5 + 0.1 * i:.3f}" for name in names for i in range(n)]
    return f"pod,time,{column}\n" + "\n".join(rows) + "\n"


def memory(names=("a", "b"), n=20, step=10, shift=0.0):
    rows = [f"{at(i, step, shift)};{name};{100 + i}" for i in range(n) for name in names]
    return "timestamp;container;memory_mib\n" + "\n".join(rows) + "\n"


def test_cpu_here_and_memory_there_are_one_set(tmp_path):
    folder = write(tmp_path / "two", {"cpu.csv": cpu(), "memory.csv": memory(shift=2.0)})
    found = inspect_file(folder)
    assert found.mapping is not None
    assert [(one.column, one.role) for one in found.mapping.features] == [
        ("cpu_cores", Role.CPU),
        ("memory_mib", Role.MEMORY),
    ]
    assert [column.name for column in found.columns] == ["execution", "timestamp", "cpu_cores", "memory_mib"]
    assert found.rows_preview[0] == ("a", "2023-11-14 22:13:20", "0.50 cores", "100 MiB")
    traces, report = read_with_report(folder, found.mapping)
    assert traces.ids == ("a", "b")
    assert traces.execution("b").columns["memory_mib"].tolist() == [(100 + i) * MIB for i in range(20)]
    assert report.faultless
    assert (report.rows_read, report.rows_kept) == (80, 80)
    part = read_first_part(folder, found.mapping)
    assert part is not None
    assert part.whole
    assert part.traces.n_samples == 40


def test_rows_without_a_partner_are_counted_by_file_and_are_no_green_tick(tmp_path, sentence):
    folder = write(tmp_path / "two", {"cpu.csv": cpu(n=20), "memory.csv": memory(n=7, step=30)})
    traces, report = read_with_report(folder)
    assert traces.n_samples == 14
    assert not report.faultless
    sentence(*[one.message for one in report.harmful if one.kind == "no_partner"])
    assert report.rows_kept == 28


def test_with_a_period_every_file_is_resampled_to_it_first(tmp_path):
    folder = write(tmp_path / "two", {"cpu.csv": cpu(n=19), "memory.csv": memory(n=7, step=30)})
    mapping = inspect_file(folder).mapping
    traces, report = read_with_report(folder, replace(mapping, period=30.0))
    assert traces.period == 30.0
    assert traces.execution("a").columns["cpu_cores"] == pytest.approx([0.5 + 0.3 * i for i in range(7)])
    assert report.count("irregular") > 0  # that it was resampled is said


def test_one_container_per_file_and_one_metric_per_file(tmp_path):
    def one(column, base):
        return f"time,{column}\n" + "".join(f"{at(i)},{base + i}\n" for i in range(12))

    files = {
        f"{what}-{job}.csv": one(column, base + more)
        for job, more in (("vae", 0), ("gan", 5))
        for what, column, base in (("cpu", "cpu_cores", 0.5), ("mem", "memory_mib", 100.0))
    }
    traces, report = read_with_report(write(tmp_path / "four", files))
    assert sorted(traces.ids) == ["gan", "vae"]
    assert traces.execution("vae").columns["memory_mib"][0] == 100 * MIB
    assert traces.execution("gan").columns["cpu_cores"][0] == 5.5
    assert report.faultless
    alike = write(tmp_path / "alike", {name: text for name, text in files.items() if name.startswith("cpu")})
    assert sorted(read_with_report(alike)[0].ids) == ["cpu-gan", "cpu-vae"]


def test_metrics_without_a_name_are_told_apart_by_their_files(tmp_path):
    rows = [f"{name},{at(i)},{{}}" for name in ("a-1", "b-2") for i in range(10)]
    text = "pod,time,value\n" + "\n".join(rows) + "\n"
    files = {"cpu.csv": text.replace("{}", "0.5"), "memory.csv": text.replace("{}", "2000000000")}
    folder = write(tmp_path / "two", files)
    mapping = inspect_file(folder).mapping
    assert [one.column for one in mapping.features] == ["value (cpu)", "value (memory)"]
    roles = ((Role.CPU, "cores"), (Role.MEMORY, "bytes"))
    features = tuple(
        replace(one, role=role, unit_key=unit)
        for one, (role, unit) in zip(mapping.features, roles, strict=True)
    )
    traces, report = read_with_report(folder, replace(mapping, features=features))
    assert float(traces.values(Role.CPU).max()) == 0.5
    assert float(traces.values(Role.MEMORY).min()) == 2e9
    assert report.rows_kept == 40


def test_candidates_are_called_as_in_the_joined_table(tmp_path):
    header, *rows = cpu(column="cpu_old_cores").splitlines()
    both = "\n".join([f"{header},cpu_new_cores", *(f"{row},{i}.5" for i, row in enumerate(rows))])
    found = inspect_file(write(tmp_path / "two", {"cpu.csv": both, "memory.csv": memory()}))
    (asked,) = found.questions
    assert asked.sentence.startswith("cpu.csv: Which column is CPU usage")
    assert len(asked.candidates) == 2
    assert set(asked.candidates) <= {one.column for one in found.mapping.features}


def test_questions_say_of_which_file_they_are(tmp_path, refuses):
    files = {"cpu.csv": cpu(column="cpu_percent"), "memory.csv": memory()}
    found = inspect_file(write(tmp_path / "two", files))
    assert found.mapping.unknown == ("cpu_percent",)
    assert [question.sentence.split(":")[0] for question in found.questions] == ["cpu.csv"]
    with refuses(InputError):
        read_with_report(tmp_path / "two")
    known = tuple(replace(one, unit_key="percent_of_core") if one.unit_key == UNKNOWN else one
                  for one in found.mapping.features)  # fmt: skip
    traces, _ = read_with_report(tmp_path / "two", replace(found.mapping, features=known))
    assert float(traces.values(Role.CPU).max()) == pytest.approx(0.024)


@pytest.mark.parametrize(
    "other",
    [
        memory(names=("x", "y")),
        memory(shift=7200.0),
        "pod,memory_mib\n" + "a,100\nb,200\n" * 5,
        cpu(),
        "nothing,here\nx,y\n",
        memory().replace("mib\n", "gib\n").replace(";1", ";1,1"),
    ],
)
def test_what_cannot_be_joined_is_said_by_file_name(tmp_path, other, refuses):
    folder = write(tmp_path / "two", {"cpu.csv": cpu(), "memory.csv": other})
    with refuses(InputError):
        inspect_file(folder)
    with pytest.raises(InputError):
        read_with_report(folder)


def test_problems_say_in_which_file_they_are(tmp_path):
    lines = cpu().splitlines()
    lines[5] = "a,nonsense,0.5"
    folder = write(tmp_path / "two", {"cpu.csv": "\n".join(lines) + "\n", "memory.csv": memory()})
    _, report = read_with_report(folder)
    assert any(one.message.startswith("cpu.csv: Column “time”") for one in report.problems)
    assert any("memory.csv: 1 of 40 rows" in one.message for one in report.problems)


def test_execution_and_time_of_joined_files_are_their_own(tmp_path, refuses):
    folder = write(tmp_path / "two", {"cpu.csv": cpu(), "memory.csv": memory()})
    mapping = inspect_file(folder).mapping
    for wrong in ({"execution": "pod"}, {"time": "time"}, {"time": None, "time_unit": "none"}):
        with refuses(InputError):
            read_with_report(folder, replace(mapping, **wrong))
    only = replace(mapping, features=mapping.features[:1])
    traces, report = read_with_report(folder, only)
    assert (traces.n_samples, report.count("file_unused")) == (40, 1)


def test_what_belongs_together_is_found_among_strangers(tmp_path):
    folder = write(
        tmp_path / "many",
        {
            "cpu.csv": cpu(),
            "other.csv": cpu(names=("z",), column="cpu_millicores"),
            "memory.csv": memory(),
            "notes.csv": "a,b\nx,y\n",
        },
    )
    groups, reasons = group_files(sorted(folder.iterdir()))
    names = [sorted(path.name for path in group) for group in groups]
    assert sorted(names) == [["cpu.csv", "memory.csv"], ["notes.csv"], ["other.csv"]]
    assert any("other.csv" in reason for reason in reasons)
    assert any(reason.startswith("notes.csv:") for reason in reasons)


def test_first_parts_that_do_not_meet_are_no_reason_to_refuse(tmp_path, monkeypatch):
    names = [f"job-{i}" for i in range(40)]
    backwards = memory(names=names).splitlines()
    files = {
        "cpu.csv": cpu(names=names),
        "memory.csv": "\n".join([backwards[0], *reversed(backwards[1:])]) + "\n",
    }
    monkeypatch.setattr("core.reading.inspection.PART_BYTES", 2_000)
    found = inspect_file(write(tmp_path / "two", files))
    assert found.mapping is not None
    assert len(found.mapping.features) == 2


def machine(cores, n=10):
    head = "Timestamp [ms];CPU cores;CPU usage [%];Memory usage [KB]\n"
    return head + "".join(f"{START + 300 * i};{cores};50;{6129274 + i}\n" for i in range(n))


def test_every_virtual_machine_has_its_own_cores(tmp_path):
    folder = write(tmp_path / "vms", {"1.csv": machine(4), "2.csv": machine(16), "3.csv": machine(2)})
    found = inspect_file(folder)
    assert found.mapping is not None
    assert found.mapping.cores is None
    traces, report = read_with_report(folder, found.mapping)
    assert [float(traces.execution(name).columns["CPU usage [cores]"][0]) for name in "123"] == [2, 8, 1]
    assert report.faultless


def test_cores_that_a_person_gives_are_those_of_every_file(tmp_path):
    def share(base):
        return "time,cpu_pct_host\n" + "".join(f"{at(i)},{base + i}\n" for i in range(12))

    folder = write(tmp_path / "two", {"a.csv": share(10), "b.csv": share(50)})
    mapping = inspect_file(folder).mapping
    assert mapping is not None
    traces, _ = read_with_report(folder, replace(mapping, cores=8.0))
    assert float(traces.execution("a").columns["cpu_pct_host"][0]) == pytest.approx(0.8)
    assert float(traces.execution("b").columns["cpu_pct_host"][0]) == pytest.approx(4.0)


def test_seconds_that_are_only_assumed_are_said_of_joined_files_too(tmp_path):
    files = {
        name: f"pod,t,{column}\n" + "".join(f"a,{5 * i},{value}\n" for i in range(20))
        for name, column, value in (("cpu.csv", "cpu_cores", 1), ("memory.csv", "memory_mib", 100))
    }
    folder = write(tmp_path / "both", files)
    _, report = read_with_report(folder, inspect_file(folder).mapping)
    assert [one.kind for one in report.harmful] == ["own_starts", "assumed_unit"]
    assert report.harmful[1].message.endswith("has no unit in the file; it was read as seconds.")


def of_times(folder, cpu_times, memory_times):
    """A file of CPU and one of memory of one pod at these times."""
    files = {
        name: f"timestamp,pod,{column}\n"
        + "".join(f"{when},p,{base + i % 7}\n" for i, when in enumerate(times))
        for name, column, base, times in (
            ("cpu.csv", "cpu_cores", 1, cpu_times),
            ("memory.csv", "memory_mib", 100, memory_times),
        )
    }
    return write(folder, files)


def stamps(n, shift_s=0.0, zone="", step=300.0):
    first = datetime(2026, 1, 31, 12, tzinfo=UTC) + timedelta(seconds=shift_s)
    return [(first + timedelta(seconds=step * i)).strftime("%Y-%m-%d %H:%M:%S") + zone for i in range(n)]


@pytest.mark.parametrize(
    ("shift", "zones", "kinds"),
    [
        (3600, ("", "Z"), ["mixed_zones"]),
        pytest.param(0, ("", "+00:00"), ["mixed_zones"], marks=pytest.mark.long),
        (0, ("Z", "+00:00"), []),
        pytest.param(0, ("", ""), [], marks=pytest.mark.long),
    ],
)
def test_files_of_two_time_zones_are_marked(tmp_path, shift, zones, kinds):
    folder = of_times(tmp_path / "z", stamps(2016, shift, zones[0]), stamps(2016, 0.0, zones[1]))
    _, report = read_with_report(folder)
    assert [one.kind for one in report.harmful] == kinds


def test_times_that_count_from_a_start_are_marked(tmp_path):
    files = {
        name: f"elapsed_s,{column}\n" + "".join(f"{5 * i},{50 + i}\n" for i in range(40))
        for name, column in (("cpu_run1.csv", "cpu_percent_of_core"), ("gpu_run1.csv", "gpu_util_percent"))
    }
    _, report = read_with_report(write(tmp_path / "own", files))
    assert [one.kind for one in report.harmful] == ["own_starts"]

"""What MLflow and W&B record of runs: system metrics, charts, losses."""

import numpy as np
import pytest

from core.reading import inspect_file, read_with_report
from core.traces.model import Role
from core.units import GIB, MIB, Unit
from tests.reading.layouts.files import of, read_rows, write


def test_mlflow_and_wandb(tmp_path):
    mlflow = "run_id,key,value,timestamp,step,is_nan\n" + "".join(
        f"r1,{key},{value},{1_700_000_000_000 + 10_000 * i},{i},False\n"
        for i in range(4)
        for key, value in (
            ("system/cpu_utilization_percentage", 50),
            ("system/system_memory_usage_megabytes", 2000 + i),
            ("system/gpu_0_utilization_percentage", 80),
            ("system/gpu_1_utilization_percentage", 10),
            ("loss", 1 / (i + 1)),
        )
    )
    wandb = (
        "_timestamp,system.cpu,system.proc.memory.rssMB,system.gpu.0.gpu,system.gpu.0.memoryAllocatedBytes\n"
        + "".join(f"{1.7e9 + 15 * i},50,{2000 + i},80,{4 * GIB:.0f}\n" for i in range(4))
    )
    traces, _ = read_with_report(write(tmp_path, "mlflow.csv", mlflow))
    assert of(traces, Role.MEMORY) == [(2000 + i) * 1e6 for i in range(4)]
    assert [feature.role for feature in traces.features].count(Role.GPU) == 2
    assert of(traces, Role.LOSS) == pytest.approx([1, 0.5, 1 / 3, 0.25])
    assert traces.feature(Role.CPU).unit is Unit.SHARE
    traces, _ = read_with_report(write(tmp_path, "wandb.csv", wandb))
    assert of(traces, Role.MEMORY) == [(2000 + i) * MIB for i in range(4)]
    assert of(traces, Role.GPU_MEMORY) == [4 * GIB] * 4


def chart(axis, metric="system.cpu", runs=("fluffy-cloud-7", "run-2")):
    """What W&B's *Export as CSV* of a chart writes: per run the value, its lowest and its highest."""
    ends = ("", "__MIN", "__MAX")
    header = [axis, *(f"{run} - {metric}{end}" for run in runs for end in ends)]
    lines = [",".join(f'"{name}"' for name in header)]
    for i in range(8):
        values = [v for p in range(len(runs)) for v in (40 + 20 * p + i, 0, 99)]
        lines.append(",".join(map(str, ({"Step": i}.get(axis, round(15.1 * i, 1)), *values))))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("metric", ["system.cpu", "system/cpu"])
@pytest.mark.parametrize("axis", ["Relative Time (Process)", "Relative Time (Wall)", "_runtime", "Wall Time"])
def test_a_chart_of_wandb_has_its_runs_as_executions(tmp_path, axis, metric):
    path = write(tmp_path, "wandb.csv", chart(axis, metric))
    assert inspect_file(path).layout == "tracking"
    traces, report = read_with_report(path)
    assert traces.ids == ("fluffy-cloud-7", "run-2")
    assert of(traces, Role.CPU, "run-2") == pytest.approx([0.6 + i / 100 for i in range(8)])
    assert [feature.name for feature in traces.features] == [metric]
    assert traces.period == pytest.approx(15.1)
    assert report.faultless


def test_a_scalar_of_tensorboard_has_its_times(tmp_path):
    text = "Wall time,Step,Value\n" + "".join(f"{1.7e9 + 20.5 * i},{100 * i},{0.5 + i}\n" for i in range(6))
    found = inspect_file(write(tmp_path, "run-train-tag-cpu.csv", text))
    assert (found.mapping.time, found.mapping.time_unit) == ("Wall time", "s")
    assert [one.column for one in found.questions] == ["Value"]


def test_a_chart_of_wandb_by_steps_has_no_times(tmp_path):
    traces, report = read_rows(write(tmp_path, "wandb.csv", chart("Step")))
    assert traces.ids == ("fluffy-cloud-7", "run-2")
    assert of(traces, Role.CPU, "run-2") == pytest.approx([0.6 + i / 100 for i in range(8)])
    assert report.faultless


def test_a_chart_of_one_run_and_names_with_dashes(tmp_path):
    text = chart("Relative Time (Process)", "system.gpu.0.gpu", ("a - b",))
    traces, _ = read_with_report(write(tmp_path, "wandb.csv", text))
    assert traces.ids == ("a - b",)
    assert of(traces, Role.GPU) == pytest.approx([0.4 + i / 100 for i in range(8)])
    history = "_timestamp,system.gpu.0.gpu,system.gpu.1.gpu\n" + "".join(
        f"{1.7e9 + 15 * i},{i},{2 * i}\n" for i in range(6)
    )
    assert read_with_report(write(tmp_path, "history.csv", history))[0].ids == ("history",)


def test_a_loss_that_is_logged_beside_the_samples_is_that_of_the_last_step(tmp_path):
    mlflow = "run_id,key,value,timestamp,step\n" + "".join(
        f"r1,{key},{value},{1_700_000_000_000 + 10_000 * i + late},{i}\n"
        for i in range(6)
        for key, value, late in (
            ("system/cpu_utilization_percentage", 50 + i, 0),
            ("system/system_memory_usage_megabytes", 2000 + i, 0),
            ("train/loss", 1 / (i + 1), 37),
        )
    )
    traces, report = read_with_report(write(tmp_path, "mlflow.csv", mlflow))
    assert traces.period == 10
    assert of(traces, Role.CPU) == pytest.approx([(50 + i) / 100 for i in range(6)])
    loss = of(traces, Role.LOSS)
    assert np.isnan(loss[0])
    assert loss[1:] == pytest.approx([1 / i for i in range(1, 6)])
    assert report.faultless
    assert (report.rows_read, report.rows_kept) == (6, 6)

"""Lanes: every quantity of a trace set once, several GPUs in one, limits with what they limit."""

from core.traces.lanes import default_lanes, list_lanes, select_lanes
from core.traces.model import Feature, Role, Scale, scale_of
from core.units import Unit

CPU = Feature("cpu", Role.CPU, Unit.CORES)
LIMIT = Feature("cpu_limit", Role.CPU_LIMIT, Unit.CORES)
MEMORY = Feature("mem", Role.MEMORY, Unit.BYTES)
LOSS = Feature("loss", Role.LOSS)
OTHER = Feature("temperature")
PHASE = Feature("phase", Role.PHASE)


def gpus(what, role, unit):
    return [Feature(f"gpu{place}_{what}", role, unit) for place in (0, 1)]


def test_every_quantity_is_a_lane_in_the_order_of_roles_and_several_gpus_share_one():
    used, held = gpus("util", Role.GPU, Unit.SHARE), gpus("mem", Role.GPU_MEMORY, Unit.BYTES)
    found = list_lanes([OTHER, LOSS, *held, *used, LIMIT, MEMORY, CPU, PHASE])
    assert [lane.title for lane in found] == ["CPU", "Memory", "GPU", "GPU memory", "Loss", "temperature"]
    assert found[0].limit == LIMIT
    assert found[2].names == ("GPU 0", "GPU 1")
    assert found[3].names == ("GPU 0 memory", "GPU 1 memory")
    assert [lane.key for lane in default_lanes(found)] == ["cpu", "memory", "gpu", "gpu_memory"]
    assert [lane.key for lane in select_lanes(found, ["loss", "cpu"])] == ["cpu", "loss"]
    assert select_lanes(found, ["nothing"]) == default_lanes(found)


def test_what_cannot_be_drawn_with_its_usage_has_a_lane_of_its_own():
    limit = Feature("limit", Role.CPU_LIMIT, Unit.SHARE)
    share = Feature("cpu_share", Role.CPU, Unit.SHARE)
    found = list_lanes([share, limit, CPU])
    assert [(lane.key, lane.limit) for lane in found] == [("cpu", None), ("cpu_share", None), ("limit", None)]
    assert found[0].features == (CPU,)
    assert [lane.key for lane in default_lanes(list_lanes([OTHER, LOSS]))] == ["loss", "temperature"]


def test_one_scale_for_all_values_of_a_quantity():
    assert scale_of(Unit.BYTES, 3 * 2**30).with_unit(2**29) == "0.50 GiB"
    assert scale_of(Unit.BYTES, 2**29).label == "MiB"
    assert scale_of(Unit.BYTES_PER_SECOND, 5e3).label == "KiB/s"
    assert scale_of(Unit.SHARE, 0.5).with_unit(0.284) == "28.40%"
    assert Scale(2.0**30, "GiB").write(2.0**24) == "0.016"

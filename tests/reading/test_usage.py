"""Which column is usage: what a name does not say is marked, what may be several things is asked."""

import pytest

from core.reading.guessing import guess_mapping
from core.reading.guessing.order import is_identity_name
from core.reading.mapping import UNKNOWN
from core.reading.questions import list_questions
from core.traces.model import Role


def looked_at(header, more="", value=0.5, rows=6):
    """The mapping of a table whose columns of numbers grow; those of `more` are cells that stay."""
    names = tuple(header.split(","))
    stays = dict(part.split("=") for part in more.split(",") if part)
    texts = {"timestamp": lambda i: f"2026-01-31T12:00:{10 * i:02}Z"}
    cells = tuple(
        tuple(
            stays[name] if name in stays else texts.get(name, lambda i, n=n: f"{value + n + i / 4}")(i)
            for n, name in enumerate(names)
        )
        for i in range(rows)
    )
    mapping = guess_mapping(names, cells)
    return mapping, list_questions(mapping, names, cells)


def of(mapping, role):
    return next((one.column for one in mapping.features if one.role is role), None)


@pytest.mark.parametrize(
    ("header", "more", "cpu", "memory"),
    [
        # the number of processors and the size of memory beside usage
        ("timestamp,vm,cpu_cores,cpu_usage_percent_of_core", "vm=a,cpu_cores=8", 3, None),
        ("timestamp,cpu_total_cores,cpu_used_cores,mem_used_mib", "cpu_total_cores=16", 2, 3),
        ("timestamp,memory_gib,mem_used_gib,cpu_cores", "memory_gib=64", 3, 2),
        ("timestamp,cpu_cores,cpu_percent_of_core", "", 1, None),
        # what is promised, expected or left
        ("timestamp,cpu_alloc_cores,cpu_used_cores,mem_alloc_mib,mem_used_mib", "", 2, 4),
        ("timestamp,cpu_unused_cores,cpu_used_cores,mem_unused_gib,mem_used_gib", "", 2, 4),
        ("timestamp,cpu_cores_predicted,cpu_cores_actual,memory_gib_forecast,memory_gib_actual", "", 2, 4),
        ("timestamp,cpu_target_cores,cpu_current_cores,mem_req_gib,memory_pressure_percent", "", 2, None),
        ("timestamp,cpu_throttle_cores,cpu_used_cores,mem_avail_mib", "", 2, None),
        # a part beside the whole
        ("timestamp,cpu_cores,memory_kernel_gib,memory_stack_gib,rss_gib", "", 1, 4),
        ("timestamp,cpu_cores,heap_memory_used_mib,memory_rss_mib", "", 1, 3),
        ("timestamp,cpu_cores,memory_anon_gib,memory_file_gib,memory_usage_gib", "", 1, 4),
        ("timestamp,cpu_cores,jvm_memory_heap_used_mib,process_memory_rss_mib", "", 1, 3),
        ("timestamp,cpu_cores,memory_usage_private_working_set_gib,memory_usage_commit_gib", "", 1, 2),
        ("timestamp,cpu_cores_p75,cpu_cores_p50,memory_gib", "", 2, 3),
    ],
)
def test_usage_is_told_from_what_is_beside_it(header, more, cpu, memory):
    mapping, asked = looked_at(header, more)
    names = header.split(",")
    assert of(mapping, Role.CPU) == (None if cpu is None else names[cpu])
    assert of(mapping, Role.MEMORY) == (None if memory is None else names[memory])
    assert (asked, mapping.assumed) == ((), ())


@pytest.mark.parametrize(
    ("header", "role", "candidates"),
    [
        ("timestamp,host_cpu_cores,container_cpu_cores", Role.CPU, ("host_cpu_cores", "container_cpu_cores")),
        (
            "timestamp,system_memory_used_mb,process_memory_rss_mb",
            Role.MEMORY,
            ("system_memory_used_mb", "process_memory_rss_mb"),
        ),
        ("timestamp,web_cpu_cores,db_cpu_cores", Role.CPU, ("web_cpu_cores", "db_cpu_cores")),
        ("timestamp,web cpu,db cpu", Role.CPU, ("web cpu", "db cpu")),
        ("timestamp,cpu_cores,cpu_cores (2)", Role.CPU, ("cpu_cores", "cpu_cores (2)")),
        ("timestamp,CPU Core #1 [%],CPU Core #2 [%]", Role.CPU, ("CPU Core #1 [%]", "CPU Core #2 [%]")),
        ("timestamp,cpu_percent,cpu_effective_cores", Role.CPU, ("cpu_effective_cores", "cpu_percent")),
        ("timestamp,cpu_cores_norm,cpu_cores_raw", Role.CPU, ("cpu_cores_norm", "cpu_cores_raw")),
    ],
)
def test_columns_of_several_things_are_asked(header, role, candidates):
    mapping, (asked,) = looked_at(header)
    assert of(mapping, role) is None
    assert mapping.unknown == (asked.column,)
    assert (asked.candidates, asked.choices) == (candidates, (role.value,))
    assert asked.sentence.startswith("Which column is ")
    assert all(f"“{name}”" in asked.sentence for name in candidates)


@pytest.mark.parametrize(
    ("header", "column"),
    [
        ("timestamp,cpu_cores,mem_alloc_mb", "mem_alloc_mb"),
        ("timestamp,cpu_cores,Verfügbarer Speicher [MB]", "Verfügbarer Speicher [MB]"),
        ("timestamp,cpu_cores,node_memory_SReclaimable_gb", "node_memory_SReclaimable_gb"),
        ("timestamp,cpu_frobbed_cores", "cpu_frobbed_cores"),
        ("timestamp,cpu_cores,memory_gb_p10", "memory_gb_p10"),
        ("timestamp,app_cpu_cores,system_memory_used_mb", "system_memory_used_mb"),
    ],
)
def test_what_is_only_taken_for_usage_is_assumed(header, column):
    mapping, asked = looked_at(header, value=100 if "MB" in header else 0.5)
    assert asked == ()
    assert mapping.assumed == (column,)


@pytest.mark.parametrize(
    "header",
    [
        "timestamp,gpu_index,memory_used_MiB,memory_total_MiB",
        "timestamp,gpu_util_percent,memory_allocated_gb,max_memory_allocated_gb",
    ],
)
def test_memory_in_a_table_of_gpus_is_asked(header):
    mapping, (asked,) = looked_at(header, "gpu_index=0", value=4)
    assert of(mapping, Role.MEMORY) is None
    assert asked.sentence.startswith(f"Is “{asked.column}” memory of the containers, or of a GPU?")
    assert (asked.choices, asked.candidates) == (("memory", "gpu_memory", "other"), ())


@pytest.mark.parametrize(
    "header", ["timestamp,pod,gpu_util_percent,memory_used_mib", "timestamp,cpu_cores,gpu_percent,mem_mib"]
)
def test_memory_of_a_pod_with_a_gpu_is_not_asked(header):
    mapping, asked = looked_at(header, "pod=a", value=4)
    assert asked == ()
    assert of(mapping, Role.MEMORY) == header.split(",")[-1]


@pytest.mark.parametrize(
    "name", ["gpu_fan_percent", "gpu_encoder_util_percent", "gpu_idle_percent", "gpu_power_cap_w"]
)
def test_what_a_gpu_has_besides_usage_is_none(name):
    mapping, _ = looked_at(f"timestamp,cpu_cores,{name}", value=4)
    assert [one.role for one in mapping.features if one.column == name] == [Role.OTHER]
    assert UNKNOWN not in [one.unit_key for one in mapping.features]


@pytest.mark.parametrize(
    "name",
    [
        'sum(rate(container_cpu_usage_seconds_total{namespace="zoo",pod="x-1"}[5m])) by (zone)',
        "kubernetes.container.cpu.usage.nanocores",
        "docker_container_cpu cores",
        "Process CPU Usage (cores)",
        "instance:container_cpu_cores:rate5m",
        r"\\WEB7\Process CPU cores",
        "cpuUsageCores",
    ],
)
def test_names_of_tools_are_known(name):
    mapping, asked = looked_at(f"timestamp,{name.replace(',', ';')}")
    assert (asked, mapping.assumed) == ((), ())
    assert of(mapping, Role.CPU) is not None


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("msinstanceid", True),
        ("containerName", True),
        ("collection_id", True),
        ("valid", False),
        ("cpu_id", False),
    ],
)
def test_ids_of_parts_are_known_however_they_are_written(name, is_one):
    assert is_identity_name(name) is is_one

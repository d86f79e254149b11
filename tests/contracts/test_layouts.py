"""The exam that every column layout sits: it answers to its own columns and to nobody else's."""

import pytest

from core.reading.known_tables import find_header
from core.reading.layouts import LAYOUTS, recognise_layout
from core.reading.tool_facts import TableHead

EXAMPLES = {
    "ai4dl": "*pod.id,*service,timestamp,cpu.usage,cpu.usage.cores,mem.current,mem.limit",
    "recorder": "*execution,timestamp,cpu_cores,memory_bytes,cpu_limit_cores,loss,throttled",
    "batch_jobs": "*execution,timestamp,cpu,mem,cpu_iowait,disk_read,disk_write",
    "bitbrains": "Timestamp [ms],CPU cores,CPU usage [%],Memory usage [KB]",
    "alibaba": "*container_id,*machine_id,time_stamp,cpu_util_percent,mem_util_percent,cpi",
    "tracking": "*run_id,_timestamp,system.cpu,system.proc.memory.rssMB,system.gpu.0.gpu",
    "prometheus": "*execution,timestamp,container_cpu_usage_seconds_total,container_memory_rss",
    "generic": "when,cpu cores,mem MiB",
}
"""A header of every layout; an asterisk marks columns of texts."""


def head_of(name):
    """The beginning of a table of a layout, by its example."""
    columns = (LAYOUTS[name].example or EXAMPLES[name]).split(",")
    row = tuple("x" if column.startswith("*") else "1" for column in columns)
    return TableHead(tuple(column.lstrip("*") for column in columns), (row, row))


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_recognised_by_its_own_columns(name):
    head = head_of(name)
    found = recognise_layout(head.header, head.rows)
    assert (found.layout, found.label) == (name, LAYOUTS[name].label)
    assert set(found.mapping.columns) <= set(head.header)
    assert found.mapping.features
    assert all(sentence.endswith(".") for sentence in found.reasons)
    found.mapping.require(head.header)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_leaves_the_columns_of_others_alone(name):
    taken = {other for other in LAYOUTS if LAYOUTS[name].recognise(head_of(other)) is not None}
    assert name in taken
    assert taken == {name} or name == "generic"


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_answers_nothing_to_nothing(name):
    layout = LAYOUTS[name]
    assert layout.name == name
    assert layout.label
    assert layout.recognise(TableHead((), ())) is None
    assert layout.recognise(TableHead(head_of(name).header, ())) is None or name != "generic"


def test_a_table_without_a_header_finds_its_layout():
    assert find_header(("x",) * 9) is None
    header = find_header(("c_1", "m_2", "600", "1", "2", "3", "4", "5", "6"))
    assert header is not None
    assert (
        recognise_layout(header, (("c_1", "m_2", "600", "1", "2", "3", "4", "5", "6"),)).layout == "alibaba"
    )

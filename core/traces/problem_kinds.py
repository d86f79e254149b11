"""The kinds of problems in a trace file as a table: severity, action of the import, advice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """Severity of a problem."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Action(StrEnum):
    """Action of an import on a problem."""

    REJECTED = "rejected"
    DROPPED = "dropped"
    HELD = "held"
    SORTED = "sorted"
    MERGED = "merged"
    GROUPED = "grouped"
    CONVERTED = "converted"
    RESAMPLED = "resampled"
    SPLIT = "split"
    IGNORED = "ignored"
    KEPT = "kept"


class Harm(StrEnum):
    """When a problem changes numbers, so that an import does not count as faultless."""

    NEVER = "never"
    IF_MANY = "if many"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One kind of problem."""

    severity: Severity
    action: Action
    #: Whether numbers are dropped, merged or estimated: by each such problem, or where many rows have it.
    harm: Harm
    #: The sentence about the action.
    outcome: str
    #: The sentence about what a person can do.
    hint: str
    #: Whether the message describes the first occurrence only, while the count covers all.
    names_first: bool = False


INFO, WARNING, ERROR = Severity
REJECTED, DROPPED, HELD, SORTED, MERGED, GROUPED, CONVERTED, RESAMPLED, SPLIT, IGNORED, KEPT = Action
NEVER, IF_MANY, ALWAYS = Harm

_HELD_OUTCOME = "Each got its execution's last value; rows without one, or long after it, were dropped."
_DROPPED_ROWS, _NOTHING = "The rows were dropped.", "No action is needed."
# fmt: off
KINDS: Final[dict[str, ProblemKind]] = {
    "columns_unused": ProblemKind(INFO, IGNORED, NEVER, "They were ignored.",
        "Add them to the mapping if you need them."),
    "duplicate_column": ProblemKind(WARNING, KEPT, NEVER, "The later ones were renamed.",
        "Give every column its own name in the header."),
    "late_column": ProblemKind(WARNING, IGNORED, ALWAYS, "It was not read.",
        "Import the part of the file that has it as a file of its own."),
    "unnamed_column": ProblemKind(INFO, KEPT, NEVER, "They were named by their position.",
        "Name them in the header."),
    "unnamed_index": ProblemKind(INFO, KEPT, NEVER, "The first column was read as an index without a name.",
        "Name every column in the header if that is wrong."),
    "encoding": ProblemKind(WARNING, CONVERTED, NEVER, "It was read as Windows-1252.",
        "Save the file as UTF-8 if names look wrong.", names_first=True),
    "undecodable": ProblemKind(ERROR, CONVERTED, ALWAYS, "They were read as “�”.",
        "Copy or export the whole file again if they matter.", names_first=True),
    "utf16": ProblemKind(INFO, CONVERTED, NEVER, "It was decoded.", _NOTHING),
    "preamble": ProblemKind(INFO, IGNORED, NEVER, "They were skipped.",
        "Check that the row taken as the header is the right one."),
    "repeated_header": ProblemKind(INFO, IGNORED, NEVER, "The repetitions were skipped.",
        _NOTHING, names_first=True),
    "other_header": ProblemKind(WARNING, IGNORED, ALWAYS,
        "It was skipped, and the rows below it were read under the first header.",
        "Give the file one header of one row, or split it where its columns change."),
    "ragged": ProblemKind(ERROR, DROPPED, IF_MANY, _DROPPED_ROWS,
        "Give every row as many cells as the header has, and quote cells that contain the separator.",
        names_first=True),
    "quote": ProblemKind(ERROR, DROPPED, ALWAYS, "Everything up to the next quotation mark was dropped.",
        "Close the quotation mark and import the file again."),
    "unparsable": ProblemKind(ERROR, HELD, IF_MANY, _HELD_OUTCOME,
        "Write plain numbers with a decimal point, or map another column.", names_first=True),
    "unparsable_kept": ProblemKind(WARNING, KEPT, IF_MANY, "The cells stay empty.",
        "Write plain numbers with a decimal point.", names_first=True),
    "infinite_kept": ProblemKind(WARNING, KEPT, IF_MANY,
        "The cells stay empty.", "Check what wrote these values."),
    "assumed_unit": ProblemKind(WARNING, KEPT, ALWAYS, "The likeliest one was taken.",
        "Choose the unit in the mapping if it is another one."),
    "assumed_role": ProblemKind(WARNING, KEPT, ALWAYS, "Nothing was changed.",
        "Choose another column in the mapping if it is something else."),
    "assumed_suffix": ProblemKind(WARNING, CONVERTED, ALWAYS, "The cells were read so.",
        "Write KiB, MiB and GiB, which have one meaning.", names_first=True),
    "doubtful": ProblemKind(WARNING, KEPT, ALWAYS, "Nothing was changed.",
        "Import the file again with another choice if this is wrong."),
    "past_midnight": ProblemKind(INFO, CONVERTED, NEVER, "Time goes on into the next day.",
        "No action is needed: times of day start again at midnight."),
    "assumed_point": ProblemKind(WARNING, KEPT, ALWAYS, "Nothing was changed.",
        "Remove the points from the file if they separate thousands."),
    "assumed_thousands": ProblemKind(WARNING, KEPT, ALWAYS, "Nothing was changed.",
        "Write these numbers with a decimal comma, as the others, if the points are decimal marks."),
    "assumed_zone": ProblemKind(WARNING, KEPT, ALWAYS, "They were read as UTC.",
        "Only the hour of the samples depends on it; write zones as +05:30 to be sure."),
    "ambiguous_number": ProblemKind(ERROR, IGNORED, ALWAYS, "They were not read as numbers.",
        "Write decimals with a point, or thousands without a comma."),
    "missing": ProblemKind(WARNING, HELD, IF_MANY, _HELD_OUTCOME, "Fill the gaps if they matter."),
    "no_limit": ProblemKind(INFO, IGNORED, NEVER, "They were not read as limits.",
        "No action is needed: 0, −1 and sizes beyond any machine stand where there is no limit."),
    "host_memory": ProblemKind(INFO, IGNORED, NEVER, "It was not read as a limit.",
        "No action is needed: Docker prints the host’s memory where a container has no limit."),
    "missing_kept": ProblemKind(INFO, KEPT, NEVER, "The cells stay empty.",
        "No action is needed: they are optional."),
    "infinite": ProblemKind(ERROR, HELD, IF_MANY, _HELD_OUTCOME, "Check what wrote these values."),
    "negative": ProblemKind(ERROR, HELD, IF_MANY, _HELD_OUTCOME,
        "Usage cannot be below zero: check the unit and what wrote these values."),
    "implausible": ProblemKind(ERROR, HELD, IF_MANY, _HELD_OUTCOME,
        "Check the unit in the mapping and what wrote these values."),
    "missing_time": ProblemKind(ERROR, DROPPED, IF_MANY, _DROPPED_ROWS, "Give every row a time."),
    "unparsable_time": ProblemKind(ERROR, DROPPED, IF_MANY, _DROPPED_ROWS,
        "Write times as epoch numbers or dates like 2026-01-31T12:00:00, or choose another unit of time.",
        names_first=True),
    "missing_execution": ProblemKind(ERROR, DROPPED, IF_MANY, _DROPPED_ROWS,
        "Give every row the name of its execution."),
    "interleaved": ProblemKind(INFO, GROUPED, NEVER, "The rows were grouped by execution.", _NOTHING),
    "unsorted": ProblemKind(WARNING, SORTED, IF_MANY, "The rows were sorted by time.",
        "Check that the right column is mapped to time."),
    "starts_again": ProblemKind(WARNING, SORTED, ALWAYS,
        "All rows were sorted by time, as if they were of one run.",
        "If there are several runs, name them in a column and map it to the execution."),
    "duplicate_time": ProblemKind(WARNING, MERGED, ALWAYS, "The last row of each time was kept.",
        "Map all columns that tell executions apart to the execution, such as pod and container."),
    "since_boot": ProblemKind(INFO, DROPPED, NEVER, "It was dropped.",
        "No action is needed: what is measured begins with the second row."),
    "counter_start": ProblemKind(INFO, DROPPED, NEVER, "It was dropped.",
        "No action is needed: a growing counter gives usage from its second sample on."),
    "counter_second": ProblemKind(INFO, KEPT, NEVER, "It was given the rate of the second one.",
        "No action is needed: a growing counter gives rates from its second sample on."),
    "counter_reset": ProblemKind(INFO, KEPT, NEVER, "Counting continued from zero.", _NOTHING),
    "empty_column": ProblemKind(WARNING, IGNORED, ALWAYS, "It was ignored.",
        "Map another column if this one matters."),
    "blank_column": ProblemKind(INFO, IGNORED, NEVER, "It was left out.",
        "No action is needed: all of its cells are empty."),
    "assumed_date": ProblemKind(WARNING, KEPT, ALWAYS, "It was read as month before day.",
        "Only the date of the samples depends on it; with S_TIME_FORMAT=ISO sar writes unambiguous dates."),
    "too_short": ProblemKind(WARNING, DROPPED, NEVER, "They were dropped.",
        "Lower the least number of samples in the mapping to keep them."),
    "mixed_attribute": ProblemKind(WARNING, KEPT, NEVER, "The first value of each was kept.",
        "An attribute should have one value per execution."),
    "mixed_identity": ProblemKind(WARNING, MERGED, ALWAYS, "The samples of all were read as those of one.",
        "Map the column to the execution, beside the one that names it."),
    "thinned": ProblemKind(WARNING, RESAMPLED, IF_MANY,
        "Another sample of the same period is shown in their place.",
        "Set a shorter sampling period, or the mean as the rule, in the mapping."),
    "mixed_periods": ProblemKind(INFO, RESAMPLED, NEVER, "All were resampled to one period.",
        "Set another period in the mapping if you prefer."),
    "irregular": ProblemKind(INFO, RESAMPLED, NEVER, "They were resampled to the sampling period.",
        "Choose “as recorded” in the mapping to keep the rows of the file."),
    "filled": ProblemKind(WARNING, HELD, IF_MANY, "Each holds the value before it.",
        "Lower the longest gap to split executions there instead, or set a longer sampling period."),
    "gap": ProblemKind(INFO, SPLIT, NEVER, "The executions were split there: no window crosses a gap.",
        "Raise the longest gap in the mapping to bridge them."),
    "no_partner": ProblemKind(ERROR, DROPPED, ALWAYS, _DROPPED_ROWS,
        "Set the sampling period to have every file resampled to it first, or import the files one by one."),
    "few_without_partner": ProblemKind(WARNING, DROPPED, NEVER, _DROPPED_ROWS,
        "No action is needed unless these rows matter."),
    "mixed_zones": ProblemKind(WARNING, KEPT, ALWAYS, "Times without a zone were read as UTC.",
        "Write the times of all files with their time zone."),
    "own_starts": ProblemKind(WARNING, KEPT, ALWAYS, "They were joined as if it were.",
        "Write dates as times, or import the files one by one."),
    "file_unused": ProblemKind(INFO, IGNORED, NEVER,
        "It was left out.", "Map one of its columns if you need it."),
    "goes_on": ProblemKind(INFO, GROUPED, NEVER, "Their rows were put behind each other.", _NOTHING),
    "named_by_files": ProblemKind(INFO, GROUPED, NEVER, "They were joined by time.",
        "Import them one by one if they are of different containers."),
    "unnamed_io": ProblemKind(WARNING, IGNORED, ALWAYS, "They were left out.",
        "Write a line with the columns' names above the rows if you need them."),
    "summary_columns": ProblemKind(INFO, IGNORED, NEVER, "They were left out.",
        "No action is needed: they say nothing that the others do not."),
    "second_target": ProblemKind(WARNING, MERGED, NEVER, "Each container was read from its first target.",
        'Ask for one target if the other is the right one: job="…" in the query.'),
    "not_measured": ProblemKind(WARNING, IGNORED, ALWAYS, "It was left out: it was not measured.",
        "Turn on memory accounting, or record with a tool that measures it."),
    "idle_rows": ProblemKind(INFO, KEPT, NEVER, "They were added with no CPU and the memory before.",
        "No action is needed: the tool prints only what used CPU."),
    "unnamed_gpu_columns": ProblemKind(WARNING, KEPT, ALWAYS, "They were read in nvidia-smi’s usual order.",
        "Record with --format=csv, which writes the names of the columns."),
    "pod_sums": ProblemKind(INFO, IGNORED, NEVER, "They were left out.",
        "No action is needed: they are the sum of the containers, or the one that keeps the network open."),
    "group_sums": ProblemKind(INFO, IGNORED, NEVER, "They were left out.",
        "No action is needed: they are the sum of what runs in them."),
    "unclear_label": ProblemKind(WARNING, KEPT, ALWAYS, "Each was read as an execution.",
        "Ask only for series of one value of this label if these are not different containers."),
    "pod_network": ProblemKind(WARNING, IGNORED, ALWAYS, "They were left out.",
        "Import the network metrics alone to see them per pod."),
}
# fmt: on

"""The kinds of problems that a trace file can have: how severe, what is done, what a person can do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a person should care."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Action(StrEnum):
    """What was done about a problem."""

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
    """When a problem changes what the numbers say, so that an import must not pass as faultless."""

    NEVER = "never"
    IF_MANY = "if many"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of problem: how severe it is, what is done about it, and what a person can do."""

    #: How much to care, and what is done.
    severity: Severity
    action: Action
    #: Sentences: what was done, and what a person can do.
    done: str
    hint: str
    #: Whether numbers were dropped, merged or made up: by each such problem, or where many rows have it.
    harm: Harm = Harm.NEVER


_DROP_ROW = "The rows were dropped."
_FILL = "Each got its execution's last value; rows without one, or long after it, were dropped."

KINDS: dict[str, Kind] = {
    "columns_unused": Kind(
        Severity.INFO, Action.IGNORED, "They were ignored.", "Add them to the mapping if you need them."
    ),
    "duplicate_column": Kind(
        Severity.WARNING,
        Action.KEPT,
        "The later ones were renamed.",
        "Give every column its own name in the header.",
    ),
    "late_column": Kind(
        Severity.WARNING,
        Action.IGNORED,
        "It was not read.",
        "Import the part of the file that has it as a file of its own.",
        harm=Harm.ALWAYS,
    ),
    "unnamed_column": Kind(
        Severity.INFO, Action.KEPT, "They were named by their position.", "Name them in the header."
    ),
    "unnamed_index": Kind(
        Severity.INFO,
        Action.KEPT,
        "The first column was read as an index without a name.",
        "Name every column in the header if that is wrong.",
    ),
    "encoding": Kind(
        Severity.WARNING,
        Action.CONVERTED,
        "It was read as Windows-1252.",
        "Save the file as UTF-8 if names look wrong.",
    ),
    "undecodable": Kind(
        Severity.ERROR,
        Action.CONVERTED,
        "They were read as “�”.",
        "Copy or export the whole file again if they matter.",
        harm=Harm.ALWAYS,
    ),
    "utf16": Kind(Severity.INFO, Action.CONVERTED, "It was decoded.", "No action is needed."),
    "preamble": Kind(
        Severity.INFO,
        Action.IGNORED,
        "They were skipped.",
        "Check that the row taken as the header is the right one.",
    ),
    "repeated_header": Kind(
        Severity.INFO, Action.IGNORED, "The repetitions were skipped.", "No action is needed."
    ),
    "other_header": Kind(
        Severity.WARNING,
        Action.IGNORED,
        "It was skipped, and the rows below it were read under the first header.",
        "Give the file one header of one row, or split it where its columns change.",
        harm=Harm.ALWAYS,
    ),
    "ragged": Kind(
        Severity.ERROR,
        Action.DROPPED,
        _DROP_ROW,
        "Give every row as many cells as the header has, and quote cells that contain the separator.",
        harm=Harm.IF_MANY,
    ),
    "quote": Kind(
        Severity.ERROR,
        Action.DROPPED,
        "Everything up to the next quotation mark was dropped.",
        "Close the quotation mark and import the file again.",
        harm=Harm.ALWAYS,
    ),
    "unparsable": Kind(
        Severity.ERROR,
        Action.HELD,
        _FILL,
        "Write plain numbers with a decimal point, or map another column.",
        harm=Harm.IF_MANY,
    ),
    "unparsable_kept": Kind(
        Severity.WARNING,
        Action.KEPT,
        "The cells stay empty.",
        "Write plain numbers with a decimal point.",
        harm=Harm.IF_MANY,
    ),
    "infinite_kept": Kind(
        Severity.WARNING,
        Action.KEPT,
        "The cells stay empty.",
        "Check what wrote these values.",
        harm=Harm.IF_MANY,
    ),
    "assumed_unit": Kind(
        Severity.WARNING,
        Action.KEPT,
        "The likeliest one was taken.",
        "Choose the unit in the mapping if it is another one.",
        harm=Harm.ALWAYS,
    ),
    "assumed_role": Kind(
        Severity.WARNING,
        Action.KEPT,
        "Nothing was changed.",
        "Choose another column in the mapping if it is something else.",
        harm=Harm.ALWAYS,
    ),
    "assumed_suffix": Kind(
        Severity.WARNING,
        Action.CONVERTED,
        "The cells were read so.",
        "Write KiB, MiB and GiB, which have one meaning.",
        harm=Harm.ALWAYS,
    ),
    "doubtful": Kind(
        Severity.WARNING,
        Action.KEPT,
        "Nothing was changed.",
        "Import the file again with another choice if this is wrong.",
        harm=Harm.ALWAYS,
    ),
    "past_midnight": Kind(
        Severity.INFO,
        Action.CONVERTED,
        "Time goes on into the next day.",
        "No action is needed: times of day start again at midnight.",
    ),
    "assumed_point": Kind(
        Severity.WARNING,
        Action.KEPT,
        "Nothing was changed.",
        "Remove the points from the file if they separate thousands.",
        harm=Harm.ALWAYS,
    ),
    "assumed_thousands": Kind(
        Severity.WARNING,
        Action.KEPT,
        "Nothing was changed.",
        "Write these numbers with a decimal comma, as the others, if the points are decimal marks.",
        harm=Harm.ALWAYS,
    ),
    "assumed_zone": Kind(
        Severity.WARNING,
        Action.KEPT,
        "They were read as UTC.",
        "Only the hour of the samples depends on it; write zones as +05:30 to be sure.",
        harm=Harm.ALWAYS,
    ),
    "ambiguous_number": Kind(
        Severity.ERROR,
        Action.IGNORED,
        "They were not read as numbers.",
        "Write decimals with a point, or thousands without a comma.",
        harm=Harm.ALWAYS,
    ),
    "missing": Kind(Severity.WARNING, Action.HELD, _FILL, "Fill the gaps if they matter.", harm=Harm.IF_MANY),
    "no_limit": Kind(
        Severity.INFO,
        Action.IGNORED,
        "They were not read as limits.",
        "No action is needed: 0, −1 and sizes beyond any machine stand where there is no limit.",
    ),
    "host_memory": Kind(
        Severity.INFO,
        Action.IGNORED,
        "It was not read as a limit.",
        "No action is needed: Docker prints the host’s memory where a container has no limit.",
    ),
    "missing_kept": Kind(
        Severity.INFO, Action.KEPT, "The cells stay empty.", "No action is needed: they are optional."
    ),
    "infinite": Kind(Severity.ERROR, Action.HELD, _FILL, "Check what wrote these values.", harm=Harm.IF_MANY),
    "negative": Kind(
        Severity.ERROR,
        Action.REJECTED,
        "The rows were dropped.",
        "Usage cannot be below zero: check the unit and what wrote these values.",
        harm=Harm.IF_MANY,
    ),
    "implausible": Kind(
        Severity.ERROR,
        Action.REJECTED,
        "The rows were dropped.",
        "Check the unit in the mapping and what wrote these values.",
        harm=Harm.IF_MANY,
    ),
    "missing_time": Kind(
        Severity.ERROR, Action.DROPPED, _DROP_ROW, "Give every row a time.", harm=Harm.IF_MANY
    ),
    "unparsable_time": Kind(
        Severity.ERROR,
        Action.DROPPED,
        _DROP_ROW,
        "Write times as epoch numbers or dates like 2026-01-31T12:00:00, or choose another unit of time.",
        harm=Harm.IF_MANY,
    ),
    "missing_execution": Kind(
        Severity.ERROR,
        Action.DROPPED,
        _DROP_ROW,
        "Give every row the name of its execution.",
        harm=Harm.IF_MANY,
    ),
    "interleaved": Kind(
        Severity.INFO, Action.GROUPED, "The rows were grouped by execution.", "No action is needed."
    ),
    "unsorted": Kind(
        Severity.WARNING,
        Action.SORTED,
        "The rows were sorted by time.",
        "Check that the right column is mapped to time.",
        harm=Harm.IF_MANY,
    ),
    "starts_again": Kind(
        Severity.WARNING,
        Action.SORTED,
        "All rows were sorted by time, as if they were of one run.",
        "If there are several runs, name them in a column and map it to the execution.",
        harm=Harm.ALWAYS,
    ),
    "duplicate_time": Kind(
        Severity.WARNING,
        Action.MERGED,
        "The last row of each time was kept.",
        "Map all columns that tell executions apart to the execution, such as pod and container.",
        harm=Harm.ALWAYS,
    ),
    "since_boot": Kind(
        Severity.INFO,
        Action.DROPPED,
        "It was dropped.",
        "No action is needed: what is measured begins with the second row.",
    ),
    "counter_start": Kind(
        Severity.INFO,
        Action.DROPPED,
        "It was dropped.",
        "No action is needed: a growing counter gives usage from its second sample on.",
    ),
    "counter_second": Kind(
        Severity.INFO,
        Action.KEPT,
        "It was given the rate of the second one.",
        "No action is needed: a growing counter gives rates from its second sample on.",
    ),
    "counter_reset": Kind(
        Severity.INFO, Action.KEPT, "Counting continued from zero.", "No action is needed."
    ),
    "empty_column": Kind(
        Severity.WARNING,
        Action.IGNORED,
        "It was ignored.",
        "Map another column if this one matters.",
        harm=Harm.ALWAYS,
    ),
    "blank_column": Kind(
        Severity.INFO, Action.IGNORED, "It was left out.", "No action is needed: all of its cells are empty."
    ),
    "assumed_date": Kind(
        Severity.WARNING,
        Action.KEPT,
        "It was read as month before day.",
        "Only the date of the samples depends on it; S_TIME_FORMAT=ISO makes sar write dates of one meaning.",
        harm=Harm.ALWAYS,
    ),
    "too_short": Kind(
        Severity.WARNING,
        Action.DROPPED,
        "They were dropped.",
        "Lower the least number of samples in the mapping to keep them.",
    ),
    "mixed_attribute": Kind(
        Severity.WARNING,
        Action.KEPT,
        "The first value of each was kept.",
        "An attribute should have one value per execution.",
    ),
    "mixed_identity": Kind(
        Severity.WARNING,
        Action.MERGED,
        "The samples of all were read as those of one.",
        "Map the column to the execution, beside the one that names it.",
        harm=Harm.ALWAYS,
    ),
    "thinned": Kind(
        Severity.WARNING,
        Action.RESAMPLED,
        "Another sample of the same period is shown in their place.",
        "Set a shorter sampling period, or the mean as the rule, in the mapping.",
        harm=Harm.IF_MANY,
    ),
    "mixed_periods": Kind(
        Severity.INFO,
        Action.RESAMPLED,
        "All were resampled to one period.",
        "Set another period in the mapping if you prefer.",
    ),
    "irregular": Kind(
        Severity.INFO,
        Action.RESAMPLED,
        "They were resampled to the sampling period.",
        "Choose “as recorded” in the mapping to keep the rows of the file.",
    ),
    "filled": Kind(
        Severity.WARNING,
        Action.HELD,
        "Each holds the value before it.",
        "Lower the longest gap to split executions there instead, or set a longer sampling period.",
        harm=Harm.IF_MANY,
    ),
    "gap": Kind(
        Severity.INFO,
        Action.SPLIT,
        "The executions were split there: no window crosses a gap.",
        "Raise the longest gap in the mapping to bridge them.",
    ),
    "no_partner": Kind(
        Severity.ERROR,
        Action.DROPPED,
        _DROP_ROW,
        "Set the sampling period to have every file resampled to it first, or import the files one by one.",
        harm=Harm.ALWAYS,
    ),
    "few_without_partner": Kind(
        Severity.WARNING, Action.DROPPED, _DROP_ROW, "No action is needed unless these rows matter."
    ),
    "mixed_zones": Kind(
        Severity.WARNING,
        Action.KEPT,
        "Times without a zone were read as UTC.",
        "Write the times of all files with their time zone.",
        harm=Harm.ALWAYS,
    ),
    "own_starts": Kind(
        Severity.WARNING,
        Action.KEPT,
        "They were joined as if it were.",
        "Write dates as times, or import the files one by one.",
        harm=Harm.ALWAYS,
    ),
    "file_unused": Kind(
        Severity.INFO, Action.IGNORED, "It was left out.", "Map one of its columns if you need it."
    ),
    "goes_on": Kind(
        Severity.INFO, Action.GROUPED, "Their rows were put behind each other.", "No action is needed."
    ),
    "named_by_files": Kind(
        Severity.INFO,
        Action.GROUPED,
        "They were joined by time.",
        "Import them one by one if they are of different containers.",
    ),
    "named_by_pods": Kind(
        Severity.INFO, Action.GROUPED, "Each pod has one container.", "Import the files one by one if not."
    ),
    "unnamed_io": Kind(
        Severity.WARNING,
        Action.IGNORED,
        "They were left out.",
        "Write a line with the columns' names above the rows if you need them.",
        harm=Harm.ALWAYS,
    ),
    "pod_sums": Kind(
        Severity.INFO,
        Action.IGNORED,
        "They were left out.",
        "No action is needed: they are the sum of the containers, or the one that keeps the network open.",
    ),
    "group_sums": Kind(
        Severity.INFO,
        Action.IGNORED,
        "They were left out.",
        "No action is needed: they are the sum of what runs in them.",
    ),
    "unclear_label": Kind(
        Severity.WARNING,
        Action.KEPT,
        "Each was read as an execution.",
        "Ask only for series of one value of this label if these are not different containers.",
        harm=Harm.ALWAYS,
    ),
    "pod_network": Kind(
        Severity.WARNING,
        Action.IGNORED,
        "They were left out.",
        "Import the network metrics alone to see them per pod.",
        harm=Harm.ALWAYS,
    ),
}

"""Reports: sentences for people, JSON for machines."""

import json

import pytest

from core.traces.validation import KINDS, ProblemLog, Report, Severity, problem


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_says_what_was_done_and_what_to_do(kind):
    one = problem(kind, "Something is wrong.", row=3, column="cpu", count=2)
    assert one.sentence().count(".") >= 3
    assert one.hint == KINDS[kind].hint
    assert one.action is KINDS[kind].action


def test_a_report_survives_json():
    report = Report((problem("ragged", "x", row=2), problem("gap", "y", column="t", count=4)), 9, 8, 1)
    assert Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report


def test_severe_problems_come_first():
    report = Report((problem("gap", "A gap."), problem("missing", "A hole."), problem("ragged", "A row.")))
    assert [line.split(".")[0] for line in report.sentences()] == ["A row", "A hole", "A gap"]
    assert [problem(kind, "").severity for kind in ("gap", "missing", "ragged")] == list(Severity)


def test_the_same_problem_is_counted_and_keeps_its_first_row():
    log = ProblemLog()
    for row in (4, 9, 11):
        log.add("ragged", f"Row {row} is ragged.", row=row)
    log.extend([problem("ragged", "Row 20 is ragged.", row=20)])
    log.rename("absent", "x", "ragged")
    assert len(log.problems) == 1
    assert log.problems[0].row == 4
    assert log.problems[0].sentence().startswith("Row 4 is ragged, and 3 more like it.")

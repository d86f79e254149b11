"""The table of a task's states is all there is: each arrow leads where it says, and from nowhere else."""

from pathlib import Path

import pytest
from sqlalchemy import select

from core.tasks.states import ARROWS, COLUMNS, OPTIONAL, Move, contradictions, printed, transition
from core.workspace.database_schema import TaskRow
from core.workspace.records import TaskState

DOCS = Path(__file__).resolve().parents[3] / "docs" / "runtime.md"
FILLED = {"started": 1.0, "finished": 2.0, "worker": "w" * 16, "result": {}, "error_message": "It broke."}
GIVEN = {
    Move.BEGIN: {"worker": "w" * 16},
    Move.FINISH: {"result": {"made": "it"}},
    Move.FAIL: {"error_message": "It broke."},
    Move.INTERRUPT: {"error_message": "It stopped."},
}


def task_in(session, state):
    """A sound task in a state."""
    columns = {name: FILLED[name] for name in COLUMNS[state].always}
    row = TaskRow(
        id=f"{state:-<16}", kind="count", title="", state=state, params={}, created=0.0, queued_at=0.0,
        progress=0.0, attempt=1, cancel_asked=False, message="", **columns
    )  # fmt: skip
    session.add(row)
    session.flush()
    return row


def test_the_docs_print_the_tables():
    assert printed() in DOCS.read_text()


def test_every_state_has_its_columns_and_can_be_reached():
    assert list(COLUMNS) == list(TaskState)
    assert {arrow.target for arrow in ARROWS.values()} == set(TaskState) - {TaskState.QUEUED}
    assert list(ARROWS) == list(Move)
    assert all(source is not TaskState.DONE for arrow in ARROWS.values() for source in arrow.sources)


@pytest.mark.parametrize("state", TaskState)
@pytest.mark.parametrize("move", Move)
def test_an_arrow_leads_from_its_sources_to_its_target_and_from_no_other_state(workspace, move, state):
    with workspace.database.write() as session:
        task = task_in(session, state).id
        assert contradictions(session.get(TaskRow, task)) == []
        moved = transition(session, task, move, **GIVEN.get(move, {}))
    with workspace.database.read() as session:
        row = session.scalars(select(TaskRow)).one()
        assert (moved is not None) == (state in ARROWS[move].sources)
        assert row.state == (ARROWS[move].target if moved is not None else state)
        assert contradictions(row) == []


def test_only_the_worker_that_has_a_task_ends_it(workspace):
    with workspace.database.write() as session:
        task = task_in(session, TaskState.RUNNING).id
        assert transition(session, task, Move.FINISH, owner="another", result={}) is None
        assert transition(session, task, Move.FINISH, owner="w" * 16, result={}) is not None


@pytest.mark.parametrize("move", GIVEN)
def test_what_the_new_state_always_has_must_be_given(workspace, move, refuses):
    with workspace.database.write() as session, refuses(ValueError):
        transition(session, "any", move)


@pytest.mark.parametrize("state", TaskState)
@pytest.mark.parametrize("column", OPTIONAL)
def test_a_column_too_few_or_too_many_is_said_in_a_sentence(workspace, state, column):
    with workspace.database.write() as session:
        row = task_in(session, state)
        if column in COLUMNS[state].sometimes:
            return
        setattr(row, column, None if column in COLUMNS[state].always else FILLED[column])
        (sentence,) = contradictions(row)
        assert sentence.startswith(f"It is {state} but has ")
        session.rollback()

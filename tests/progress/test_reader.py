"""What a reader makes of a program's lines, one after the other."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.progress import Goal, GoalReader, Position, ProgressReader, read_goal, read_reported
from tests.timing import cpu_seconds


def test_a_reader_gives_each_printed_loss_once_with_its_time():
    reader = ProgressReader()
    lines = [
        (1.0, "loading"),
        (2.0, "step 1/3 loss=2.5"),
        (3.5, "epoch 1/1 val_loss=9"),
        (4.0, "step 2/3 loss=1.5"),
    ]
    assert reader.feed(lines) == ((2.0, 2.5), (4.0, 1.5))
    assert reader.why is None
    assert reader.position == Position(2, 3)


def test_the_first_name_of_a_loss_is_the_one_that_is_read():
    reader = ProgressReader()
    lines = [(1.0, "{'loss': 0.5}"), (2.0, "{'train_runtime': 3, 'train_loss': 0.9}"), (3.0, "{'loss': 0.4}")]
    assert reader.feed(lines) == ((1.0, 0.5), (3.0, 0.4))


def test_a_label_names_another_value():
    reader = ProgressReader("reward", Goal.MAX)
    assert reader.feed([(1.0, "loss=3 reward=0.25"), (2.0, "mean_reward=9")]) == ((1.0, 0.75),)


def test_a_label_may_be_an_expression():
    reader = ProgressReader(r"ELBO\s+(-?[\d.]+)")
    assert reader.feed([(1.0, "ELBO  -12.5 loss=3"), (2.0, "ELBO none")]) == ((1.0, -12.5),)


@pytest.mark.parametrize(
    "label",
    ["ELBO ([0-9", "ELBO [0-9]+", "(a)(b)", "((a+)+)$", "(" + "x" * 400 + "+)", r"(?<!val_)loss ([0-9])"],
)
def test_a_bad_label_is_refused_in_words(label, refuses):
    with refuses(InputError):
        ProgressReader(label)


@pytest.mark.parametrize(
    "label",
    [
        r"step \d+ .*? reward=([-+]?\d+\.?\d*)",
        r"p = (\d+(?:\.\d+)?)",
        r"\((\d+)\)+",
        "[a+(]+=(.+)",
        "(?:a+)+([0-9])",
        "(?:a|aa)*([0-9])",
        "a*" * 9 + "([0-9])",
    ],
)
def test_usual_expressions_are_accepted(label):
    reader = ProgressReader(label)
    assert reader.read(0.0, "nothing of it") is None


def test_a_long_line_costs_an_own_expression_nothing():
    reader = ProgressReader(r".*x.*y(\d)")
    assert cpu_seconds(lambda: reader.read(0.0, "x" * 5_000_000), 0.5) < 0.5
    assert reader.why is not None


def test_an_unknown_goal_is_refused_in_words(refuses):
    with refuses(InputError):
        ProgressReader(goal="most")
    assert read_goal(" MAX ") is Goal.MAX
    assert read_goal("") is Goal.MIN


@pytest.mark.parametrize(
    ("lines", "label", "says"),
    [
        ([], "", "printed nothing yet"),
        (["   ", "\r"], "", "printed nothing yet"),
        (["hello"], "", "No loss was found in its only line"),
        (["hello", "world"], "", "No loss was found in its 2 lines"),
        (["val_loss=3"], "", "label it phasedock.loss=val_loss"),
        (["loss=3"], "reward", "“reward” gave no value in its only line"),
        (["loss=nan"], "", "not a number"),
        (["loss=3", "loss=inf"], "", "not a number"),
        (["x" * 5000], "", "too long"),
    ],
)
def test_where_there_is_no_e_it_says_why_and_what_to_do(lines, label, says):
    reader = ProgressReader(label)
    reader.feed((float(number), line) for number, line in enumerate(lines))
    assert reader.why is not None
    assert says in reader.why
    assert reader.why.endswith(".")


def test_a_loss_that_recovers_from_nan_counts_again():
    reader = ProgressReader()
    assert reader.feed([(1.0, "loss=nan"), (2.0, "loss=1")]) == ((2.0, 1.0),)
    assert reader.why is None


def test_epochs_and_bars_on_different_lines_are_put_together():
    reader = ProgressReader()
    for line in (
        "Epoch 1/3",
        "50/50 ━━ 4s 2ms/step - loss: 3",
        "Epoch 2/3",
        " 10/50 ━━ 4s 2ms/step - loss: 2",
    ):
        reader.read(0.0, line)
    assert reader.position == Position(60, 150)


def test_steps_that_begin_anew_with_each_epoch_are_put_together():
    reader = ProgressReader()
    for line in ("epoch 1/2 step 1/10", "epoch 1/2 step 10/10", "epoch 2/2 step 1/10"):
        reader.read(0.0, line)
    assert reader.position == Position(11, 20)


def test_epochs_alone_count_as_steps():
    reader = ProgressReader()
    assert reader.position == Position()
    reader.read(0.0, "Epoch 3/10 loss: 0.5")
    assert reader.position == Position(3, 10)


VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


@given(VALUES)
def test_a_score_up_to_one_is_turned_round(values):
    evaluate = GoalReader(Goal.MAX)
    assert [evaluate(value) for value in values] == [1 - value for value in values]


@given(VALUES)
def test_a_score_without_end_is_its_distance_to_the_best_before(values):
    evaluate = GoalReader(Goal.BEST)
    found = [evaluate(value) for value in values]
    expected = [abs(value - max(values[:place])) for place, value in enumerate(values) if place]
    assert found == [None, *expected]


def test_a_score_that_nears_an_unknown_end_falls_as_a_loss_does():
    evaluate = GoalReader(Goal.BEST)
    found = [evaluate(50 * (1 - math.exp(-0.3 * time))) for time in range(12)]
    falls = [late / early for early, late in pairwise(found) if early and late]
    assert falls == pytest.approx([math.exp(-0.3)] * 10)


def test_an_agents_lines_are_read_and_half_a_line_waits():
    text = "1700000000.5,1,2.25\n1700000001.0,2,nan\nrubbish\n1,2\n1700000002.0,3,1.5\n17000"
    assert read_reported(text) == ((1700000000.5, 1, 2.25), (1700000002.0, 3, 1.5))
    assert read_reported("") == ()


@given(st.lists(st.text(max_size=40), max_size=10), st.sampled_from(list(Goal)))
def test_no_line_is_too_odd_for_a_reader(lines, goal):
    reader = ProgressReader(goal=goal)
    readings = reader.feed(enumerate(lines))
    assert all(math.isfinite(value) for _, value in readings)
    assert (reader.why is None) <= bool(readings)

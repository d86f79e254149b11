"""LossReader and positions in lines as real programs print them."""

import math
from functools import partial
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.progress import ProgressReader, find_loss, find_steps, visible_text
from core.progress.patterns import LONGEST, FoundSteps, FoundValue
from tests.oracles.printed_loss import slow_last_written, slow_loss
from tests.timing import cpu_seconds

KERAS_2 = "\r 12/200 [>.............................] - ETA: 3s - loss: 2.3012 - accuracy: 0.1"
_BAR = "\x1b[32m━━\x1b[0m\x1b[37m━━━━\x1b[0m \x1b[1m3s\x1b[0m 15ms/step"
KERAS_3 = (
    f"\x1b[1m 12/200\x1b[0m {_BAR} - accuracy: 0.8 - loss: 0.9\x08\x08\x08\x08\x08\x08"
    f"\r\x1b[1m 13/200\x1b[0m {_BAR} - accuracy: 0.81 - loss: 0.8512"
)
KERAS_END = "200/200 ━━━━ 4s 2ms/step - accuracy: 0.9 - loss: 0.1234 - val_accuracy: 0.8 - val_loss: 0.3"
LIGHTNING = "Epoch 3:  45%|████▌     | 45/100 [00:12<00:15,  3.60it/s, v_num=0, train_loss=0.123]"


@pytest.mark.parametrize(
    ("line", "loss"),
    [
        ("loss=0.12", 0.12),
        ("loss: 0.12", 0.12),
        ('{"step": 3, "loss": 0.12, "val_loss": 0.5}', 0.12),
        ("{'loss': 0.5231, 'learning_rate': 4.9e-05, 'epoch': 0.32}", 0.5231),
        (KERAS_2, 2.3012),
        (KERAS_3, 0.8512),
        (KERAS_END, 0.1234),
        (LIGHTNING, 0.123),
        ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.300039", 2.300039),
        ("Epoch: [0][  10/5005]\tTime  0.2 ( 0.3)\tLoss 6.9e+00 (7.0e+00)", 6.9),
        ("loss: 2.305400  [   64/60000]", 2.3054),
        ("step 12/200 loss=1.5E-03", 0.0015),
        ("loss=-12.5", -12.5),
        ("loss=+.5", 0.5),
        ("loss=1,234.5 acc=0.2", 1234.5),
        ("loss: tensor(0.25, grad_fn=<NllLossBackward0>)", 0.25),
        ("LOSS = 3", 3.0),
        ("2026-01-02 10:11:12,123 INFO training loss: 0.75", 0.75),
    ],
)
def test_losses_of_real_programs_are_found(line, loss):
    found = find_loss(visible_text(line))
    assert found is not None
    assert found.value == loss


@pytest.mark.parametrize(
    "line",
    [
        "val_loss=0.12",
        "val_loss: 0.12 - accuracy: 0.9",
        "epoch 1/10 val_loss=0.2 val_accuracy=0.9",
        "Validation loss: 0.3",
        "best loss: 0.01",
        "loss_scale=65536",
        "lossless=1",
        "my.loss.fn=3",
        "loss function: 3 layers",
        "the loss 3 times",
        "loss=",
        "loss=high",
        "loss=0.12.3",
        "",
    ],
)
def test_what_is_called_otherwise_is_no_loss(line):
    assert find_loss(line) is None


@pytest.mark.parametrize("word", ["nan", "NaN", "inf", "-inf", "Infinity", "1e999"])
def test_a_loss_that_is_no_number_is_said_to_be_none(word):
    assert find_loss(f"step 1/2 loss={word}") == FoundValue("loss", None)


@pytest.mark.parametrize(
    ("line", "counted"),
    [
        ("step 12/200 loss=0.1234", FoundSteps(12, 200)),
        ("epoch 3/10", FoundSteps(epoch=3, epochs=10)),
        ("Epoch 3 of 10, step 7 of 50", FoundSteps(7, 50, 3, 10)),
        ("iteration: 17, loss 0.25", FoundSteps(17)),
        ("{'loss': 0.5, 'epoch': 0.32}", FoundSteps()),
        ("global_step=400 loss=0.1", FoundSteps(400)),
        (visible_text(KERAS_3), FoundSteps(13, 200, bar=True)),
        (LIGHTNING, FoundSteps(45, 100, epoch=3, bar=True)),
        ("2024/01/12 started, loss=0.2", FoundSteps()),
        ("9/8 loss=0.2", FoundSteps()),
        ("half is 1/2 of it", FoundSteps()),
        ("version 1.2/3 loss=1", FoundSteps()),
        ("no digits", FoundSteps()),
    ],
)
def test_steps_and_epochs_are_found(line, counted):
    assert find_steps(line) == counted


NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(
    number=NUMBERS,
    name=st.sampled_from(["loss", "train_loss", "Loss", '"loss"', "train/loss"]),
    between=st.sampled_from(["=", ": ", ":", " = "]),
    form=st.sampled_from(["{:.4f}", "{:.6g}", "{!r}", "{:.3e}"]),
    before=st.sampled_from(["", "step 1/2 ", "val_loss=7 ", "acc: 0.5 - ", "{"]),
    after=st.sampled_from(["", ",", " acc=1", "}", " - val_loss: 3", ")", " %"]),
)
def test_every_printed_number_comes_back(number, name, between, form, before, after):
    printed = form.format(number)
    found = find_loss(f"{before}{name}{between}{printed}{after}")
    assert found is not None
    assert found.value == float(printed)


LINES = st.text(alphabet="los=: 01.,e-+/_v\r\x08\x1b[m\"'n", max_size=60)


@given(LINES)
@example("loss=0.12.3")
@example("loss=1 loss=2")
@example("\x1b[1mloss\x1b[0m=1")
@example("vloss=1 loss 1. loss .5")
@example("loss=1,000,000.5,1")
@example("\r\r loss=1 \r")
def test_patterns_find_what_a_slow_reader_finds(line):
    assert visible_text(line) == slow_last_written(line)
    text = visible_text(line)
    found = find_loss(text, ("loss",))
    assert (None if found is None else found.value) == slow_loss(text)


@given(st.text(max_size=300))
def test_no_text_is_too_odd(line):
    text = visible_text(line)
    found, counted = find_loss(text), find_steps(text)
    assert found is None or found.value is None or math.isfinite(found.value)
    assert counted.steps is None or 0 <= (counted.step or 0) <= counted.steps


@pytest.mark.parametrize(
    "piece",
    [
        "loss=", "1,234", "0.", "loss ", "step ", "epoch ", "1/", "\x1b[", "\x1b]", "((",
        "train_loss: tensor(", "lossloss", "1", " \r", "\r ", "\x08", "\x1b[0;", "\x1b]0;x", "1,", "a.",
        "loss=1,234", "loss:     ", "1 of "
    ]
)  # fmt: skip
@pytest.mark.parametrize("length", [LONGEST, 100_000])
def test_no_line_takes_long(piece, length):
    for label, before in product(("", "a b"), ("", "loss=", "epoch ", "1/")):
        line = before + (piece * (length // len(piece)))[len(before) :]
        reader = ProgressReader(label)
        assert cpu_seconds(partial(reader.read, 0.0, line), 0.05) < 0.05


def test_what_is_too_long_is_not_searched():
    assert find_loss("x" * LONGEST + " loss=1") is None
    assert find_loss(visible_text("x" * LONGEST + "\rloss=1")) == FoundValue("loss", 1.0)

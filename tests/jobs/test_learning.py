"""What the NumPy programs are made of: data, gradients by differences, and threads that follow."""

import numpy as np
import pytest

from core.jobs.programs.data import (
    ALPHABET,
    HORIZON,
    INPUT_LENGTH,
    SIDE,
    characters,
    draw_visible_rows,
    generate_digits,
    generate_waves,
    letters_with_positions,
    real_digits,
    words,
)
from core.jobs.programs.numpy.program import backward, dense_layers, forward, softmax
from core.jobs.programs.numpy.text import Elman, Factors
from core.jobs.threads import count_usable_cores, set_threads


def test_threads_of_the_linear_algebra_follow():
    own = set_threads(None)
    try:
        assert set_threads(1) == 1
        assert set_threads(None) == 1
    finally:
        assert set_threads(own) == own
    assert count_usable_cores() >= 1


def test_digits_are_the_real_ones_and_made_ones_are_like_them():
    images, labels = real_digits()
    assert images.shape == (1797, 8, 8)
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    ticks = []
    made, told = generate_digits(4500, 3, lambda: ticks.append(1))
    assert made.shape == (4500, 256)
    assert len(ticks) == 3
    assert 0 <= made.min() < made.max() <= 1
    own = real_digits()[0][:-297]
    nearest = np.kron(own, np.ones((1, 2, 2), np.float32)).mean(axis=0).ravel()
    assert np.corrcoef(made.mean(axis=0), nearest)[0, 1] > 0.9
    assert set(told) == set(range(10))


def test_the_text_is_read_as_characters_and_words(sentence):
    codes, (spoken, listed) = characters(), words()
    sentence("".join(ALPHABET[code] for code in codes[:22]))
    assert [listed[word] for word in spoken[:5]] == ["the", "harbour", "at", "first", "light"]


def test_letters_without_spaces_have_places_that_give_the_words_back():
    letters, places = letters_with_positions()
    found, word = [], ""
    for letter, place in zip(letters, places, strict=True):
        assert (word == "") == (place in {0, 3}), "a word begins where none is open"
        word += ALPHABET[letter]
        if place in {2, 3}:
            found, word = [*found, word], ""
    spoken, listed = words()
    assert found == [listed[one] for one in spoken]


def test_half_of_an_images_rows_to_all_are_seen():
    rows = draw_visible_rows(4000, 3)
    assert set(rows) == set(range(SIDE // 2, SIDE + 1))
    assert not np.array_equal(rows, draw_visible_rows(4000, 3, held_out=True))
    assert np.array_equal(rows, draw_visible_rows(4000, 3))


def test_waves_can_be_forecast_but_not_from_their_mean():
    seen, ahead = generate_waves(3000, 1)
    assert (seen.shape, ahead.shape) == ((3000, INPUT_LENGTH, 1), (3000, HORIZON))
    assert 0.7 < ahead.var() < 1.2
    rows = np.hstack([seen[:, :, 0], np.ones((3000, 1), np.float32)])
    weights = np.linalg.lstsq(rows[:2000], ahead[:2000], rcond=None)[0]
    assert (rows[2000:] @ weights - ahead[2000:]).var() < 0.5 * ahead.var()
    assert not np.array_equal(seen, generate_waves(3000, 1, held_out=True)[0])


def test_gradients_of_dense_layers_are_right():
    rng = np.random.default_rng(1)
    parameters = {name: value.astype(np.float64) for name, value in dense_layers((4, 6, 3), rng).items()}
    x, told = rng.standard_normal((5, 4)), rng.integers(3, size=5)

    def loss():
        return float(-np.log(softmax(forward(parameters, x)[-1])[np.arange(5), told]).mean())

    error = softmax(forward(parameters, x)[-1])
    error[np.arange(5), told] -= 1
    gradients = backward(parameters, forward(parameters, x), error / 5)
    for name, gradient in gradients.items():
        assert gradient == pytest.approx(by_differences(loss, parameters[name]), abs=1e-6), name


def test_gradients_through_time_are_right():
    program = Elman(1, 0.03)
    program.prepare(lambda: None)
    p = program.parameters
    for name in p:
        p[name] = p[name].astype(np.float64)
    rng = np.random.default_rng(2)
    seen, told = rng.integers(len(ALPHABET), size=(2, 5, 2))
    start = np.zeros((2, p["U"].shape[0]))
    p["W"] *= 0.1
    _, gradients, _ = program._learn(seen, told, start)

    def loss():
        return program._cross_entropy(program._run(seen, start)[1:], told)[0]

    for name, place in (("U", (3, 5)), ("V", (7, 2)), ("b", (4,)), ("c", (1,)), ("W", (int(seen[1, 0]), 6))):
        assert float(gradients[name][place]) == pytest.approx(
            by_difference(loss, p[name], place), abs=1e-4
        ), name


def test_a_row_of_factors_is_the_solution_of_its_system():
    rng = np.random.default_rng(3)
    rows, fixed = np.zeros((2, 48), np.float32), rng.standard_normal((30, 48), dtype=np.float32)
    target, weight = rng.random((2, 30), dtype=np.float32), rng.random((2, 30), dtype=np.float32)
    Factors._solve(rows, fixed, np.array([1]), target, weight)
    pull = fixed.T @ (weight[1] * (fixed @ rows[1] - target[1])) + rows[1]
    assert np.abs(pull).max() < 1e-3
    assert not rows[0].any()


def by_difference(loss, array, place, step=1e-3):
    kept = array[place]
    array[place] = kept + step
    above = loss()
    array[place] = kept - step
    below = loss()
    array[place] = kept
    return float((above - below) / (2 * step))


def by_differences(loss, array):
    found = np.empty_like(array)
    for place in np.ndindex(array.shape):
        found[place] = by_difference(loss, array, place, 1e-6)
    return found

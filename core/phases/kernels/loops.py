"""The compiled loops of the phase model: CRBM training, encoding and nearest centre (see also `blocks`).

Every kernel works on one flat float32 array of standardised rows in C order; the training kernels need one
vector's width of zeros behind it (`training.for_training`). The window of sample t
(its `history` rows, oldest first, then its own row) is then a contiguous slice, so nothing is copied:
a window is its first position, `start`. With c the history and v the row, the slice is ``[c, v]``, and
W and B of the paper act as one matrix ``M = [B W]ᵀ``.

Parameters lie in one flat array `P`, transposed and padded to whole vectors of sixteen (see
`core.phases.crbm.Layout`):
``M (window, hidden) | A (history, visible) | Wᵀ (hidden, visible) | b_h | b_v``.
Wᵀ repeats part of M, because each direction needs its outputs side by side.

Each kernel has a slow twin in tests/oracles which it must equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from core.phases.kernels.compiling import compiled, inlined
from core.phases.kernels.lanes import WIDTH, add, fused, load, mul, sigmoid, spread, store, sub

# hash of lanes.py and compiling.py when these kernels were last compiled; changing it recompiles them
LANES_MARK = "1338e2ff4758"
F32 = np.float32

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]
Number = float | np.floating[Any]


@inlined
def weighted(total: Any, matrix: Floats, at: int, stride: int, x: Floats, x_at: int, count: int) -> Any:
    """Add Σ_j matrix[j]·x[j] to `total`; four sums side by side hide the latency of an addition."""
    s1 = spread(F32(0))
    s2 = spread(F32(0))
    s3 = spread(F32(0))
    unrolled = count // 4 * 4
    for j in range(0, unrolled, 4):
        k = at + j * stride
        total = fused(load(matrix, k), spread(x[x_at + j]), total)
        s1 = fused(load(matrix, k + stride), spread(x[x_at + j + 1]), s1)
        s2 = fused(load(matrix, k + 2 * stride), spread(x[x_at + j + 2]), s2)
        s3 = fused(load(matrix, k + 3 * stride), spread(x[x_at + j + 3]), s3)
    for j in range(unrolled, count):
        total = fused(load(matrix, at + j * stride), spread(x[x_at + j]), total)
    return add(add(total, s1), add(s2, s3))


@inlined
def forward(rows: Floats, start: int, P: Floats, S: Floats, shape: Ints) -> float:
    """Fill S with base, h⁺, h⁻, v⁻ and v⁺ of one window; return ‖v⁺ − v⁻‖₂."""
    n, nh, hidden = shape[0], shape[1], shape[2]
    wide, tall = (hidden + WIDTH - 1) // WIDTH * WIDTH, (n + WIDTH - 1) // WIDTH * WIDTH
    a_at = (nh + n) * wide
    w_at = a_at + nh * tall
    bh_at = w_at + hidden * tall
    bv_at = bh_at + wide
    vm_at = 3 * wide
    current = start + nh
    for b in range(0, wide, WIDTH):
        base = weighted(load(P, bh_at + b), P, b, wide, rows, start, nh)
        store(S, b, base)
        store(S, wide + b, sigmoid(weighted(base, P, nh * wide + b, wide, rows, current, n)))
    for b in range(0, tall, WIDTH):
        base = weighted(load(P, bv_at + b), P, a_at + b, tall, rows, start, nh)
        v_minus = weighted(base, P, w_at + b, tall, S, wide, hidden)
        # what lies behind the row is read too and masked, because sixteen single copies would stall
        v_plus = mul(load(rows, current + b), load(S, vm_at + 2 * tall + b))
        difference = sub(v_plus, v_minus)
        store(S, vm_at + b, v_minus)
        store(S, vm_at + tall + b, v_plus)
        store(S, vm_at + 3 * tall + b, mul(difference, difference))
    for b in range(0, wide, WIDTH):
        base = load(S, b)
        store(S, 2 * wide + b, sigmoid(weighted(base, P, nh * wide + b, wide, S, vm_at, n)))
    squares = F32(0)
    for i in range(n):
        squares += S[vm_at + 3 * tall + i]
    return float(np.sqrt(squares))


@inlined
def backward(rows: Floats, start: int, to: Floats, S: Floats, shape: Ints, rate: Number) -> None:
    """Add rate·Δ of one window to `to`, from the S that `forward` filled."""
    n, nh, hidden = shape[0], shape[1], shape[2]
    wide, tall = (hidden + WIDTH - 1) // WIDTH * WIDTH, (n + WIDTH - 1) // WIDTH * WIDTH
    a_at = (nh + n) * wide
    w_at = a_at + nh * tall
    bh_at = w_at + hidden * tall
    bv_at = bh_at + wide
    vm_at = 3 * wide
    current = start + nh
    step = spread(rate)
    for b in range(0, wide, WIDTH):
        p, q = mul(load(S, wide + b), step), mul(load(S, 2 * wide + b), step)
        store(S, wide + b, p)
        store(S, 2 * wide + b, q)
        change = sub(p, q)
        store(to, bh_at + b, add(load(to, bh_at + b), change))
        for j in range(nh):
            k = b + j * wide
            store(to, k, fused(change, spread(rows[start + j]), load(to, k)))
        for i in range(n):
            k = b + (nh + i) * wide
            raised = fused(p, spread(rows[current + i]), load(to, k))
            store(to, k, sub(raised, mul(q, spread(S[vm_at + i]))))
    for b in range(0, tall, WIDTH):
        v_plus, v_minus = load(S, vm_at + tall + b), load(S, vm_at + b)
        change = mul(sub(v_plus, v_minus), step)
        store(to, bv_at + b, add(load(to, bv_at + b), change))
        for j in range(nh):
            k = a_at + b + j * tall
            store(to, k, fused(change, spread(rows[start + j]), load(to, k)))
        for h in range(hidden):
            k = w_at + b + h * tall
            raised = fused(v_plus, spread(S[wide + h]), load(to, k))
            store(to, k, sub(raised, mul(v_minus, spread(S[2 * wide + h]))))


@compiled
def contrast(rows: Floats, start: int, P: Floats, to: Floats, S: Floats, shape: Ints, rate: Number) -> float:
    """One CD-1 step on one window: add rate·Δ to `to`, return ‖v⁺ − v⁻‖₂.

    `to` is P itself (online) or a gradient (minibatch); P is read completely before `to` is written.
    S is scratch of 3 hidden and 4 visible widths: base, h⁺, h⁻; v⁻, v⁺, mask, squares.
    """
    error = forward(rows, start, P, S, shape)
    backward(rows, start, to, S, shape, rate)
    return error


@inlined
def scratch_for(shape: Ints) -> Floats:
    """Scratch for `contrast`, aligned to a cache line, with the mask of the visible units filled in."""
    wide, tall = (shape[2] + WIDTH - 1) // WIDTH * WIDTH, (shape[0] + WIDTH - 1) // WIDTH * WIDTH
    room = np.zeros(3 * wide + 4 * tall + WIDTH, F32)
    first = (-(room.ctypes.data // 4)) % WIDTH
    S = room[first : first + 3 * wide + 4 * tall]
    S[3 * wide + 2 * tall : 3 * wide + 2 * tall + shape[0]] = F32(1)
    return S


@compiled
def online(rows: Floats, starts: Ints, shape: Ints, P: Floats, rate: Number) -> float:
    """Go once over the windows, one update each; return Σ‖v⁺ − v⁻‖₂.

    `shape` is (n features, values in a history, hidden units) as int64, here and below.
    """
    S = scratch_for(shape)
    total = 0.0
    for s in range(starts.shape[0]):
        total += contrast(rows, starts[s], P, P, S, shape, rate)
    return total


@compiled
def reconstruct(rows: Floats, starts: Ints, shape: Ints, P: Floats) -> float:
    """Σ‖v⁺ − v⁻‖₂ over the windows, without any update of P."""
    S = scratch_for(shape)
    total = 0.0
    for s in range(starts.shape[0]):
        total += forward(rows, starts[s], P, S, shape)
    return total


@compiled
def adam(
    rows: Floats, starts: Ints, shape: Ints, P: Floats, state: Floats, batch: int, rate: Number, steps: int
) -> float:
    """Go once over the windows in batches, one Adam step each (Kingma and Ba, 2015, algorithm 1).

    `state` (3, len(P)) holds the gradient and the two moments, `steps` is the number of steps taken
    before. Returns Σ‖v⁺ − v⁻‖₂, each measured before the batch's own step.
    """
    S = scratch_for(shape)
    G, first, second = state[0], state[1], state[2]
    total = 0.0
    for begin in range(0, starts.shape[0], batch):
        end = min(begin + batch, starts.shape[0])
        G[:] = F32(0)
        for s in range(begin, end):
            total += contrast(rows, starts[s], P, G, S, shape, F32(1))
        steps += 1
        share = F32(1.0 / (end - begin))
        pace = F32(rate * np.sqrt(1 - 0.999**steps) / (1 - 0.9**steps))
        for i in range(P.shape[0]):
            g = G[i] * share
            first[i] = F32(0.9) * first[i] + F32(0.1) * g
            second[i] = F32(0.999) * second[i] + F32(0.001) * g * g
            P[i] += pace * first[i] / (np.sqrt(second[i]) + F32(1e-8))
    return total


@compiled
def momentum(
    rows: Floats, starts: Ints, shape: Ints, P: Floats, state: Floats, batch: int, rate: Number, decay: Number
) -> float:
    """Go once over the windows in batches, one step with momentum each; return Σ‖v⁺ − v⁻‖₂.

    `state` (2, len(P)) holds the gradient and the velocity; `decay` is how much of it remains.
    """
    S = scratch_for(shape)
    G, velocity = state[0], state[1]
    total = 0.0
    for begin in range(0, starts.shape[0], batch):
        end = min(begin + batch, starts.shape[0])
        G[:] = F32(0)
        for s in range(begin, end):
            total += contrast(rows, starts[s], P, G, S, shape, F32(1))
        pace = F32(rate / (end - begin))
        for i in range(P.shape[0]):
            velocity[i] = decay * velocity[i] + pace * G[i]
            P[i] += velocity[i]
    return total


@inlined
def encode_four(
    rows: Floats, starts: Ints, s: int, matrix: Floats, bias: Floats, squash: bool, code: Floats
) -> None:
    """Write σ(Mᵀx + b), or without `squash` Mᵀx + b, of windows s … s + 3, side by side in `code`.

    Four windows share each row of M that is loaded. The last window is repeated to make four, instead
    of being computed alone, so that a code is the same to the last bit wherever its window stands.
    """
    wide, last = bias.shape[0], starts.shape[0] - 1
    at_0, at_1 = starts[s], starts[min(s + 1, last)]
    at_2, at_3 = starts[min(s + 2, last)], starts[min(s + 3, last)]
    for b in range(0, wide, WIDTH):
        x_0 = load(bias, b)
        x_1, x_2, x_3 = x_0, x_0, x_0
        for j in range(matrix.shape[0] // wide):
            m = load(matrix, b + j * wide)
            x_0 = fused(m, spread(rows[at_0 + j]), x_0)
            x_1 = fused(m, spread(rows[at_1 + j]), x_1)
            x_2 = fused(m, spread(rows[at_2 + j]), x_2)
            x_3 = fused(m, spread(rows[at_3 + j]), x_3)
        store(code, b, sigmoid(x_0) if squash else x_0)
        store(code, wide + b, sigmoid(x_1) if squash else x_1)
        store(code, 2 * wide + b, sigmoid(x_2) if squash else x_2)
        store(code, 3 * wide + b, sigmoid(x_3) if squash else x_3)


@compiled
def encode(rows: Floats, starts: Ints, encoder: tuple[Floats, Floats, bool], codes: Floats) -> None:
    """Write the codes of windows, shape (n_windows, size).

    `encoder` is (matrix, bias, squash): flat (window, wide), (wide,) and whether σ is applied.
    """
    matrix, bias, squash = encoder
    wide = bias.shape[0]
    code = np.zeros(4 * wide, F32)
    for s in range(0, starts.shape[0], 4):
        encode_four(rows, starts, s, matrix, bias, squash, code)
        for w in range(min(4, starts.shape[0] - s)):
            for i in range(codes.shape[1]):
                codes[s + w, i] = code[w * wide + i]


@inlined
def nearest(x: Floats, x_at: int, size: int, centres: Floats, k: int, wide: int, scratch: Floats) -> int:
    """The number of the nearest centre, the first of several; `centres` is flat (size, wide)."""
    for b in range(0, wide, WIDTH):
        total = spread(F32(0))
        for i in range(size):
            difference = sub(load(centres, b + i * wide), spread(x[x_at + i]))
            total = fused(difference, difference, total)
        store(scratch, b, total)
    best, lowest = 0, scratch[0]
    for c in range(1, k):
        distance = scratch[c]
        closer = distance < lowest
        # two selections instead of a branch, which would be guessed wrong half the time
        best = c if closer else best
        lowest = distance if closer else lowest
    return best


@compiled
def assign(values: Floats, starts: Ints, size: int, centres: Floats, k: int, labels: Ints) -> None:
    """Write the nearest centre of ``values[start:start + size]`` for each start."""
    wide = centres.shape[0] // size
    scratch = np.zeros(wide, F32)
    for s in range(starts.shape[0]):
        labels[s] = nearest(values, starts[s], size, centres, k, wide, scratch)


@compiled
def add_up(codes: Floats, labels: Ints, sums: Floats, sizes: Ints) -> None:
    """Add each code, a row, to its label's row of float64 sums, and count the codes of each label."""
    for s in range(codes.shape[0]):
        label = labels[s]
        sizes[label] += 1
        for i in range(codes.shape[1]):
            sums[label, i] += codes[s, i]


@compiled
def standardise(values: Floats, mean: float, factor: float, rows: Floats, at: int, stride: int) -> None:
    """Write ``(values − mean) · factor`` into every `stride`-th position of `rows`, from `at` on."""
    for i in range(values.shape[0]):
        rows[at + i * stride] = (values[i] - mean) * factor

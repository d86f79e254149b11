"""A CRBM as one would write it from the formulas: slices, matrix-vector products, one sample at a time.

This is how AI4DL trains. The compiled kernels' speed and results are compared with it.
"""

from __future__ import annotations

import numpy as np

from core.phases.crbm import Crbm


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(crbm: Crbm, v, c):
    """The five gradients of CD-1 with mean-field hiddens, and the reconstruction error."""
    base = crbm.B @ c + crbm.hidden_bias
    h_plus = sigmoid(crbm.W @ v + base)
    v_minus = crbm.W.T @ h_plus + crbm.A @ c + crbm.visible_bias
    h_minus = sigmoid(crbm.W @ v_minus + base)
    dW = np.outer(h_plus, v) - np.outer(h_minus, v_minus)
    dA = np.outer(v - v_minus, c)
    dB = np.outer(h_plus - h_minus, c)
    return (dW, dA, dB, v - v_minus, h_plus - h_minus), float(np.linalg.norm(v - v_minus))


def online_epoch(crbm: Crbm, executions, rate):
    """One pass over executions of shape (length, n): an update per sample. Returns CRBM and Σ error."""
    W, A, B, b_v, b_h = (part.copy() for part in parts(crbm))
    rate, total, history = np.float32(rate), 0.0, crbm.history
    for rows in executions:
        for t in range(history, len(rows)):
            v, c = rows[t], rows[t - history : t].ravel()
            base = B @ c + b_h
            h_plus = sigmoid(W @ v + base)
            v_minus = W.T @ h_plus + A @ c + b_v
            h_minus = sigmoid(W @ v_minus + base)
            dv, dh = v - v_minus, h_plus - h_minus
            W += rate * (np.outer(h_plus, v) - np.outer(h_minus, v_minus))
            A += rate * np.outer(dv, c)
            B += rate * np.outer(dh, c)
            b_v += rate * dv
            b_h += rate * dh
            total += float(np.sqrt(dv @ dv))
    return Crbm(W, A, B, b_v, b_h), total


def batch_gradients(crbm: Crbm, windows):
    """The mean gradients of windows (v, c), and Σ error."""
    steps = [step(crbm, v, c) for v, c in windows]
    means = tuple(np.mean([gradients[part] for gradients, _ in steps], axis=0) for part in range(5))
    return means, sum(error for _, error in steps)


def parts(crbm: Crbm):
    return (crbm.W, crbm.A, crbm.B, crbm.visible_bias, crbm.hidden_bias)


def from_parts(values) -> Crbm:
    return Crbm(*(np.asarray(value, np.float32) for value in values))


def momentum_epoch(crbm: Crbm, windows, batch, rate, momentum):
    """Train on batches in order; velocity ← momentum · velocity + rate · mean gradient."""
    velocity, total = [np.zeros_like(part) for part in parts(crbm)], 0.0
    for begin in range(0, len(windows), batch):
        gradients, error = batch_gradients(crbm, windows[begin : begin + batch])
        velocity = [momentum * v + rate * g for v, g in zip(velocity, gradients, strict=True)]
        crbm = from_parts([p + v for p, v in zip(parts(crbm), velocity, strict=True)])
        total += error
    return crbm, total


def adam_epoch(crbm: Crbm, windows, batch, rate):
    """Adam (Kingma and Ba, 2015, algorithm 1, with its folded bias correction), in batches."""
    first = [np.zeros_like(part) for part in parts(crbm)]
    second = [np.zeros_like(part) for part in parts(crbm)]
    total = 0.0
    for number, begin in enumerate(range(0, len(windows), batch), start=1):
        gradients, error = batch_gradients(crbm, windows[begin : begin + batch])
        first = [0.9 * m + 0.1 * g for m, g in zip(first, gradients, strict=True)]
        second = [0.999 * m + 0.001 * g * g for m, g in zip(second, gradients, strict=True)]
        pace = rate * np.sqrt(1 - 0.999**number) / (1 - 0.9**number)
        crbm = from_parts(
            [p + pace * m / (np.sqrt(s) + 1e-8) for p, m, s in zip(parts(crbm), first, second, strict=True)]
        )
        total += error
    return crbm, total


def encode(crbm: Crbm, rows):
    """p(h | v, c) of every row with a full window before it; zeros for the others."""
    codes = np.zeros((len(rows), crbm.hidden), np.float32)
    for t in range(crbm.history, len(rows)):
        c = rows[t - crbm.history : t].ravel()
        codes[t] = sigmoid(crbm.W @ rows[t] + crbm.B @ c + crbm.hidden_bias)
    return codes


def distances(codes, centres):
    """The distance of each code to each centre, shape (n_codes, k), in float64."""
    differences = np.asarray(codes, np.float64)[:, None] - np.asarray(centres, np.float64)[None]
    return np.sqrt((differences**2).sum(axis=2))


def nearest(codes, centres):
    """The number of the nearest centre of each code, by the definition."""
    return np.array([int(np.argmin([np.sum((code - centre) ** 2) for centre in centres])) for code in codes])

"""Online mirror descent with the log barrier: one step for all rows at once.

The step from p with losses l and rates eta is the p' with 1/p'_j = 1/p_j + eta_j (l_j - lam), where lam makes p' sum
to one (Agarwal, Luo, Neyshabur, Schapire 2017, Algorithm 2). With w = 1/eta, d_j = w_j/p_j + l_j, g_j = d_j - min d
and v = min d - lam > 0 this is

    p_j(v) = w_j / (g_j + v),    S(v) = sum_j p_j(v) = 1.

In u = 1/v the sum is increasing and concave, so Newton's method reaches the root without bracketing or safeguards:

    x = (1 - S) / (v sum_j eta_j p_j^2),    v <- v / (1 + x),

and the next x is at most x^2. Nothing is subtracted near the pole, so no digits are lost there.
"""

from __future__ import annotations

import numpy as np

from corral_core.rows import Array

# After a step of size x the relative error of v, and so of every p_j, is at most x^2.
SMALL = 1.5e-8


def log_barrier_step(p: Array, eta: Array, chosen: Array, loss: Array, active: Array | None = None) -> Array:
    """The step for a loss that is `loss` at the chosen base and 0 elsewhere. `p`, `eta`: (bases, rows).

    If `active` is given, inactive bases have p = 0 before and after.
    """
    bases, rows = p.shape
    if bases == 1:
        return np.ones_like(p)
    columns = np.arange(rows)
    if bases == 2 and active is None:
        return _two(p, eta, chosen, loss, columns)
    w = 1 / eta
    with np.errstate(divide="ignore"):
        g = w / p
    at = chosen * rows + columns
    g.reshape(-1)[at] += loss
    lowest = np.minimum.reduce(g, axis=0)
    g -= lowest
    if active is not None:
        w = np.where(active, w, 0.0)
        g[~active] = np.inf
    v = lowest - (1 + 1e-15) * np.minimum(loss, 0.0)  # the factor keeps v above the root if lowest is about loss
    if active is None and loss.min(initial=0.0) >= 0:
        # At lam = 0 only the chosen base differs from p: the first Newton step without evaluating the others.
        before, rate = p.take(at), eta.take(at)
        after = before / (1 + rate * loss * before)
        curvature = np.einsum("mr,mr,mr->r", eta, p, p)
        # If rounding made the curvature too small, the step would overshoot the root; too large only shortens it.
        curvature += 1e-12 * curvature + rate * (after - before) * (after + before)
        v /= 1 + (before - after) / (v * curvature)
    q = _newton(w, eta, g, v)
    q /= np.add.reduce(q, axis=0)
    return q


def _newton(w: Array, eta: Array, g: Array, v: Array) -> Array:
    """p(v) at the root of S(v) = 1, from a v at which S <= 1."""
    q, z = np.empty_like(g), np.empty_like(g)
    for _ in range(100):
        np.add(g, v, out=q)
        np.divide(w, q, out=q)
        np.multiply(q, q, out=z)
        z *= eta
        x = (1 - np.add.reduce(q, axis=0)) / (v * np.add.reduce(z, axis=0))
        v = v / (1 + x)
        if np.abs(x).max(initial=0.0) <= SMALL:
            break
    np.add(g, v, out=q)
    np.divide(w, q, out=q)
    return q


def _two(p: Array, eta: Array, chosen: Array, loss: Array, columns: Array) -> Array:
    """The step for two bases: a quadratic equation, solved without cancellation."""
    other = 1 - chosen
    rho = eta[chosen, columns] / eta[other, columns]
    a = 1 / p[chosen, columns] + eta[chosen, columns] * loss - rho / p[other, columns]
    b, c = a + rho + 1, rho + 1 - a
    root = np.sqrt((a + rho - 1) ** 2 + 4 * rho)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(b >= 0, 2 / (b + root), (root - b) / (-2 * a))
        second = np.where(c >= 0, 2 * rho / (c + root), (root - c) / (2 * a))
    q = np.empty_like(p)
    q[chosen, columns] = first
    q[other, columns] = second
    q /= q.sum(axis=0)
    return q

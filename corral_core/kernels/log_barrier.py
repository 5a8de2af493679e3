"""One step of mirror descent with the log barrier, and the mixture that bases are drawn from.

The step from p with losses l and rates eta is the p' with 1/p'_j = 1/p_j + eta_j (l_j - lam), where lam makes p' sum
to one (Agarwal, Luo, Neyshabur, Schapire 2017, Algorithm 2). With w = 1/eta, d_j = w_j/p_j + l_j, g_j = d_j - min d
and v = min d - lam > 0 this is

    p_j(v) = w_j / (g_j + v),    S(v) = sum_j p_j(v) = 1.

In u = 1/v the sum is increasing and concave, so Newton's method reaches the root without bracketing or safeguards:

    x = (1 - S) / (v sum_j eta_j p_j^2),    v <- v / (1 + x),

and the next x is at most x^2. Nothing is subtracted near the pole, so no digits are lost there. After two steps or
more, a row stops when its own x is small, whatever the other rows do. If only the chosen base has a loss, and it is
positive, then at lam = 0 only its p differs, and the first step follows from sum_j eta_j p_j^2 of the old p.

For two bases the equation is quadratic. With rho = eta_0/eta_1, u_j = 1/p_j + eta_j l_j, a = u_0 - rho u_1,
b = rho + 1 + a, c = rho + 1 - a and r = sqrt((rho - 1 + a)^2 + 4 rho) its root is

    p'_0 = 2/(b + r),    p'_1 = 2 rho/(c + r).

At most one of b and c is negative. There digits would cancel, so that p' is one minus the other.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corral_core.kernels.sums import summed
from corral_core.kernels.twins import kernel

# After a step of size x the relative error of v, and so of every p_j, is at most x^2.
SMALL = 1.5e-8
MOST = 100  # steps; a handful is enough
# Keeps v above the root if the lowest d is about the loss.
ABOVE = 1 + 1e-15
# If rounding made the curvature too small, the first step would overshoot the root; too large only shortens it.
SAFE = 1e-12
NUMBERS = np.array([[0], [1]])  # of two bases
FEW = 4  # bases; one row of so few is played by the loops, uncompiled, which is faster than numpy
TRUE, FALSE = b"\1", b"\0"
STRIP = 64  # rows at a time, so that what a compiled loop works on stays in the cache


def _step_arrays(p: Any, eta: Any, chosen: Any, loss: Any, active: Any) -> Any:
    bases, rows = p.shape
    if rows == 1 and bases <= FEW and active is None:
        return log_barrier_step.loops(p, eta, chosen, loss, active)
    if bases == 2 and active is None:
        return _two(p, eta, chosen, loss)
    at = chosen * rows + np.arange(rows)
    w = 1 / eta
    g = w / p if active is None else np.divide(w, p, out=np.full(p.shape, np.inf), where=active)
    g.reshape(-1)[at] += loss
    lowest = np.minimum.reduce(g, axis=0)
    g -= lowest
    lost = np.maximum(loss, 0.0)
    before, rate = p.take(at), eta.take(at)
    after = before / (1 + rate * lost * before)
    curvature = summed(p * p * eta)
    curvature += SAFE * curvature + rate * (after - before) * (after + before)
    v = lowest - ABOVE * np.minimum(loss, 0.0)
    v /= 1 + (before - after) / (v * curvature)
    both = np.empty((2, bases, rows))  # p(v) and eta p(v)^2, so that one call adds up both
    q, z = both
    left = None  # which rows have not converged; None while none has
    for step in range(MOST):
        np.add(g, v, out=q)
        np.divide(w, q, out=q)
        np.multiply(q, q, out=z)
        z *= eta
        total, curvature = np.add.reduce(both, axis=1) if rows > 1 else np.add.accumulate(both, axis=1)[:, -1]
        curvature *= v
        x = 1 - total
        x /= curvature
        if left is not None:
            x *= left
        v /= 1 + x
        if step == 0:
            continue
        going = np.abs(x) > SMALL
        found = going.tobytes()  # quicker to search than an array
        if TRUE not in found:
            break
        left = going if FALSE in found else None
    np.add(g, v, out=q)
    np.divide(w, q, out=q)
    q *= 1 / summed(q)
    return q


def _two(p: Any, eta: Any, chosen: Any, loss: Any) -> Any:
    # Products with booleans: branches on which base was drawn would be mispredicted every second time.
    u = eta * loss
    u *= np.equal(chosen, NUMBERS)
    u += 1 / p
    rho = eta[0] / eta[1]
    a = u[0] - rho * u[1]
    shift = rho + 1
    half, q = np.empty_like(p), np.empty_like(p)
    np.add(shift, a, out=half[0])
    np.subtract(shift, a, out=half[1])
    shift -= 2
    shift += a
    shift *= shift
    q[0] = 2.0
    np.multiply(rho, 2.0, out=q[1])
    shift += q[1]
    shift += q[1]
    q /= np.abs(half) + np.sqrt(shift)
    missing = 1 - q[0]
    missing -= q[1]
    q += (half < 0) * missing
    q /= q[0] + q[1]
    return q


@kernel(_step_arrays)
def log_barrier_step(p: Any, eta: Any, chosen: Any, loss: Any, active: Any) -> Any:
    """The step for a loss that is `loss` at the chosen base and 0 elsewhere. `p`, `eta`: (bases, rows).

    `active` is None, or (bases, rows) booleans; inactive bases have p = 0 before and after.
    """
    bases, rows = p.shape
    if bases == 2 and active is None:
        q = np.empty((2, rows))
        for row in range(rows):
            second = chosen[row] == 1
            rho = eta[0, row] / eta[1, row]
            a = eta[0, row] * loss[row] * (not second) + 1 / p[0, row]
            a -= rho * (eta[1, row] * loss[row] * second + 1 / p[1, row])
            b, c = rho + 1 + a, rho + 1 - a
            shift = rho + 1 - 2 + a
            root = math.sqrt(shift * shift + 2 * rho + 2 * rho)
            one, two = 2 / (abs(b) + root), 2 * rho / (abs(c) + root)
            missing = 1 - one - two
            one += (b < 0) * missing
            two += (c < 0) * missing
            q[0, row], q[1, row] = one / (one + two), two / (one + two)
        return q
    q, w, g = np.empty((bases, rows)), np.empty((bases, STRIP)), np.empty((bases, STRIP))
    v, x, total, curvature = np.empty(STRIP), np.empty(STRIP), np.empty(STRIP), np.empty(STRIP)
    for begin in range(0, rows, STRIP):
        end = min(begin + STRIP, rows)
        n, js, losses = end - begin, chosen[begin:end], loss[begin:end]
        curvature[:] = 0.0
        for base in range(bases):
            before, rate, inverse, found = p[base, begin:end], eta[base, begin:end], w[base], g[base]
            for row in range(n):
                curvature[row] += before[row] * before[row] * rate[row]
                inverse[row] = 1 / rate[row]
                found[row] = inverse[row] / before[row]
            if active is not None:
                for row in range(n):
                    if not active[base, begin + row]:
                        found[row] = np.inf
        for row in range(n):
            g[js[row], row] += losses[row]
            x[row] = g[0, row]
        for base in range(1, bases):
            found = g[base]
            for row in range(n):
                x[row] = min(x[row], found[row])
        for base in range(bases):
            found = g[base]
            for row in range(n):
                found[row] -= x[row]
        for row in range(n):
            own, step, lost = p[js[row], begin + row], eta[js[row], begin + row], max(losses[row], 0.0)
            after = own / (1 + step * lost * own)
            curvature[row] += SAFE * curvature[row] + step * (after - own) * (after + own)
            v[row] = x[row] - ABOVE * min(losses[row], 0.0)
            v[row] /= 1 + (own - after) / (v[row] * curvature[row])
            x[row] = 1.0
        for iteration in range(MOST):
            total[:] = 0.0
            curvature[:] = 0.0
            for base in range(bases):
                rate, inverse, found = eta[base, begin:end], w[base], g[base]
                for row in range(n):
                    value = inverse[row] / (found[row] + v[row])
                    total[row] += value
                    curvature[row] += value * value * rate[row]
            largest = 0.0
            for row in range(n):
                step = (1 - total[row]) / (v[row] * curvature[row])
                x[row] = step if iteration < 2 or abs(x[row]) > SMALL else 0.0
                v[row] /= 1 + x[row]
                largest = max(largest, abs(x[row]))
            if iteration > 0 and not largest > SMALL:
                break
        total[:] = 0.0
        for base in range(bases):
            inverse, found, after_all = w[base], g[base], q[base, begin:end]
            for row in range(n):
                after_all[row] = inverse[row] / (found[row] + v[row])
                total[row] += after_all[row]
        for row in range(n):
            total[row] = 1 / total[row]
        for base in range(bases):
            after_all = q[base, begin:end]
            for row in range(n):
                after_all[row] *= total[row]
    return q


def _mixture_arrays(p: Any, gamma: Any, threshold: Any) -> Any:
    if p.shape[1] == 1 and len(p) <= FEW:
        return mixture.loops(p, gamma, threshold)
    found = (1 - gamma) * p
    found += gamma / len(p)
    return found, TRUE in (found < threshold).tobytes()


@kernel(_mixture_arrays)
def mixture(p: Any, gamma: Any, threshold: Any) -> Any:
    """(1 - gamma) p + gamma/M, and whether any of it is below its threshold."""
    bases, rows = p.shape
    found, below = np.empty((bases, rows)), False
    for base in range(bases):
        for row in range(rows):
            value = (1 - gamma) * p[base, row] + gamma / bases
            found[base, row] = value
            below |= value < threshold[base, row]
    return found, below

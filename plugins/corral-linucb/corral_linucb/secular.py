"""The exact most optimistic action of a ball: argmax over ||a|| <= 1 of <a, theta> + beta sqrt(a^T V^-1 a).

The value is the largest <a, theta + beta V^-1/2 v> over two unit vectors a and v. It is therefore the largest
||g + h v|| with V^-1 = Q diag(e) Q^T, g = Q^T theta, h = beta sqrt(e), and the action is Q (g + h v) normalised. A
Lagrange multiplier mu = max h^2 + tau, tau >= 0, gives

    v_i = h_i g_i/(tau + gap_i),  gap_i = max h^2 - h_i^2,  and tau from phi(tau) = sum v_i^2 = 1.

phi^-1/2 is concave and increasing, so Newton's steps on it, (phi^1/2 - 1) phi/sum(v_i^2/(tau + gap_i)), climb from
a lower bound, max_i |h_i g_i| - gap_i or 0, to the root without passing it. If phi(0) <= 1 (the hard case: theta has
no component along the longest axis), tau = 0 and the missing mass goes to that axis, in the direction in which its
largest entry is positive.

Source: the secular equation of trust regions, More and Sorensen, "Computing a trust region step", 1983, and, for
optimism over a ball, Abbasi-Yadkori, Pal, Szepesvari, "Improved algorithms for linear stochastic bandits", 2011.

>>> maximise(np.array([[3.0, 4.0]]), np.eye(2)[None], np.array([1.0]))
array([[0.6, 0.8]])
"""

from __future__ import annotations

import numpy as np

from corral_core import Array

NEWTON_STEPS = 128  # a few usually suffice; in a nearly hard case tau grows by half per step, up to 1e8-fold
NEGLIGIBLE = 1e-290  # below this, the squares of Newton's quotients leave the range of floating-point numbers
ROUNDING = 1e-13  # tolerance for sum v^2 = 1 after Newton has converged


def maximise(theta: Array, inverse: Array, radius: Array) -> Array:
    """The unit vector with the largest <a, theta> + radius sqrt(a^T inverse a) in each row."""
    eigenvalues, basis = np.linalg.eigh(inverse)  # ascending: the longest axis is the last
    longest = basis[:, :, -1]
    leading = np.take_along_axis(longest, np.abs(longest).argmax(axis=1)[:, None], axis=1)
    longest *= np.sign(leading)  # if both ends are equally good, play the one whose largest entry is positive
    g = np.einsum("nij,ni->nj", basis, theta)
    h = radius[:, None] * np.sqrt(np.maximum(eigenvalues, 0.0))
    scale = np.maximum(np.abs(g).max(axis=1), h[:, -1])[:, None]
    scale[scale == 0] = 1.0
    g, h = g / scale, h / scale
    v = _multipliers(g, h)
    found = g + h * v
    found[~found.any(axis=1), -1] = 1.0  # theta = 0 and radius = 0: all actions are equally good
    action = np.einsum("nij,nj->ni", basis, found)
    unit: Array = action / np.linalg.norm(action, axis=1)[:, None]
    return unit


def _multipliers(g: Array, h: Array) -> Array:
    """The v with ||v|| = 1 that maximises ||g + h v||; h is ascending, and no entry of g or h exceeds 1."""
    top = h[:, -1:]
    gap = (top - h) * (top + h)
    pull = np.abs(h * g)
    pull[pull < NEGLIGIBLE] = 0.0
    tau = np.maximum((pull - gap).max(axis=1), 0.0)[:, None]
    for _ in range(NEWTON_STEPS):
        divisor = _positive(tau + gap)
        v = np.where(pull > 0, pull / divisor, 0.0)
        squares = v * v
        phi = squares.sum(axis=1)[:, None]
        slope = (squares / divisor).sum(axis=1)[:, None]
        step = np.where(phi > 1, (np.sqrt(phi) - 1) * phi / np.where(slope > 0, slope, 1.0), 0.0)
        if (step <= 4 * np.finfo(np.float64).eps * tau).all():
            break
        tau = tau + step
    missing = 1 - phi[:, 0]
    last = v[:, -1]
    v[:, -1] = np.where(missing > ROUNDING, np.sqrt(last**2 + np.maximum(missing, 0.0)), last)
    negative = g < 0
    negative[:, -1] &= (np.abs(g[:, -1]) > ROUNDING) | (missing <= ROUNDING)  # a tie that rounding would decide
    signed: Array = np.where(negative, -v, v)
    return signed


def _positive(divisor: Array) -> Array:
    """The divisor with 1 in place of 0; a zero only ever divides a pull that is 0."""
    found: Array = np.where(divisor > 0, divisor, 1.0)
    return found


def maximise_ellipsoid(theta: Array, inverse: Array, radius: Array, axes: Array) -> Array:
    """The point x = diag(axes) a, ||a|| <= 1, with the largest <x, theta> + radius sqrt(x^T inverse x) in each row."""
    found: Array = axes * maximise(axes * theta, axes[:, :, None] * inverse * axes[:, None, :], radius)
    return found

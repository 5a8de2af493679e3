"""The estimate of a generalised linear model, for many rows at once.

For a rising link, theta is the root of

    sum_i w_i (y_i - mu(<x_i, theta>)) x_i = lambda theta,

which is the regularised maximum likelihood estimate if mu is a canonical link, and the estimate of Li, Lu and Zhou 2017
with a ridge otherwise. The left side minus the right side is the gradient of a strictly concave function, so there is
exactly one root, even for data that a plane separates. Newton's method finds it. A step is halved while the derivative
along it has the opposite sign and more than a tenth of its size; this needs only mu and its slope.

An even link has no such function: theta minimises (sum_i w_i (y_i - mu(<x_i, theta>))^2 + lambda ||theta||^2)/2, by
Newton's method with the absolute values of the Hessian's eigenvalues and steps that are halved while they increase the
loss. It starts from the best of these: the last estimate, and the first axes of sum_i w_i (y_i - m) x_i x_i^T,
m = mean y or mu(0), at three lengths. It finds a local minimum, which need not be the global one.

Each large feature is scaled by its own power of two, so that small features are not lost to rounding. The root is found
to 1e-6 as long as sum_i w_i ||x_i||^2/lambda is below about 1e9. Far beyond that, rounding errors of the gradient show
where only the ridge determines theta, and a row may not converge. (Nor may it if a bounded link has to explain rewards
beyond its range.)

Rows are independent. A row that has converged, or cannot (a step that is not finite, or `STEPS` steps), is left alone
while others continue. A row that has not converged starts over at 0. If that does not help, it keeps its previous
estimate, and `converged` is false.

>>> from corral_glm.links import link_of
>>> x, y, w = np.array([[[1.0], [1.0]]]), np.array([[1.0, 0.0]]), np.array([[3.0, 1.0]])
>>> theta, converged = fit(link_of("logistic"), x, y, w, 1e-9, np.zeros((1, 1)))
>>> round(float(theta[0, 0]), 6), bool(converged[0])  # ln 3: one zero in four
(1.098612, True)
"""

from __future__ import annotations

import numpy as np

from corral_core import Array, Rows
from corral_glm.links import Link

STEPS = 1000  # maximum number of steps and halvings per row
HALVINGS = 80  # maximum number of halvings per step
EXACT = 1e-7  # a full step this small relative to theta is the last (the next would be its square),
NEAR = 1e-3  # if it moves no <x, theta> by more than this;
CLOSE = 1e-6  # this small is enough if the gradient is a rounding error,
ROUNDING = 1e-15  # that is, this small relative to the terms it sums
DAMPING = 1e-13  # times the mean eigenvalue, added to all eigenvalues so that none is lost in rounding
OVERSHOOT = 0.1
LENGTHS = (0.25, 1.0, 4.0)
FLAT = 1e-6  # times lambda: the smallest eigenvalue that a step is divided by, for an even link
LOWEST = 1e-10  # a loss that would fall by less than this fraction counts as minimal
APART = 1e-5  # step of the finite difference for the second derivative of an even link


class Data(Rows):
    """The data to fit: plays, or arms weighted by their number of plays."""

    x: Array  # (rows, n, d)
    y: Array  # (rows, n)
    weight: Array
    unit: Array  # (rows, d), what x was divided by
    penalty: Array  # (rows, d), lambda/unit^2


class At(Rows):
    """An estimate, with the gradient and other quantities at that point."""

    theta: Array  # (rows, d)
    product: Array  # (rows, n), <x, theta>
    gradient: Array  # (rows, d), of the function to maximise
    size: Array  # (rows,), size of the terms of the gradient, the scale of its rounding errors
    loss: Array  # (rows,), for an even link


def fit(link: Link, x: Array, y: Array, weight: Array, penalty: float, start: Array) -> tuple[Array, Array]:
    """Fit theta (rows, d) to x (rows, n, d), y and weight (rows, n); also return which rows converged."""
    theta, converged = start.copy(), np.zeros(len(x), dtype=bool)
    with np.errstate(all="ignore"):
        usable = np.isfinite(y).all(axis=1) & np.isfinite(x).all(axis=(1, 2)) & np.isfinite(start).all(axis=1)
        x = np.where(weight[:, :, None] > 0, x, 0.0)  # what was never played must not count
        unit = np.ldexp(1.0, np.frexp(np.abs(x).max(axis=1, initial=1.0))[1] - 1)
        for begin in (start, np.zeros_like(start)):
            rows = np.flatnonzero(usable & ~converged)
            if len(rows):
                of = unit[rows]
                data = Data(x[rows] / of[:, None], y[rows], weight[rows], of, penalty / of**2)
                found, arrived = _newton(link, data, begin[rows] * of)
                theta[rows[arrived]], converged[rows] = (found / of)[arrived], arrived
    return theta, converged


def _newton(link: Link, data: Data, start: Array) -> tuple[Array, Array]:
    """Iterate Newton's steps from this start; return theta and which rows converged."""
    theta, converged, going = start.copy(), np.zeros(len(start), dtype=bool), np.arange(len(start))
    here, spent = _best_start(link, data, start) if link.even else _at(link, data, start), np.zeros(len(start))
    while len(going):
        here, arrived, lost, taken = _step(link, data, here)
        spent += taken
        lost |= ~arrived & (spent >= STEPS)
        if (arrived | lost).any():
            theta[going[arrived]] = here.theta[arrived]
            converged[going[arrived]] = True
            on = np.flatnonzero(~(arrived | lost))
            going, data, here, spent = going[on], data.take(on), here.take(on), spent[on]
    return theta, converged


def _at(link: Link, data: Data, theta: Array) -> At:
    product: Array = (data.x @ theta[:, :, None])[:, :, 0]
    mean = link.mean(product)
    missed = data.y - mean
    residual = data.weight * missed
    ridge, loss = data.penalty * theta, np.zeros(len(theta))
    if link.even:
        loss = (np.einsum("nk,nk->n", residual, missed) + np.einsum("ni,ni->n", ridge, theta)) / 2
        residual = residual * link.derivative(product)
    gradient: Array = (residual[:, None, :] @ data.x)[:, 0] - ridge
    size = np.einsum("nk,nk->n", data.weight, np.abs(data.y) + np.abs(mean)) + np.abs(ridge).max(axis=1)
    return At(theta, product, gradient, size, loss)


def _step(link: Link, data: Data, here: At) -> tuple[At, Array, Array, Array]:
    """One damped step of every row: the new point, which rows arrived, which are lost, and how many tries it took."""
    step = _direction(link, data, here)
    lost = ~np.isfinite(step).all(axis=1)
    step[lost] = 0.0
    flat = np.abs(here.gradient).max(axis=1) <= ROUNDING * here.size
    found, stuck, tried = _walk(link, data, here, step)
    if link.even:  # no step can lower the loss, up to rounding
        flat |= stuck & (np.einsum("ni,ni->n", here.gradient, step) <= LOWEST * here.loss)
    else:
        flat &= _relative(step / data.unit, here.theta / data.unit) <= CLOSE
    moved = np.abs((data.x @ step[:, :, None])[:, :, 0]).max(axis=1, initial=0.0)
    arrived = (flat | ((_relative(step, here.theta) <= EXACT) & (moved <= NEAR))) & ~lost
    return found, arrived, lost | (stuck & ~arrived), tried


def _relative(step: Array, theta: Array) -> Array:
    """The size of these steps relative to 1 + the size of theta."""
    found: Array = np.abs(step).max(axis=1) / (1 + np.abs(theta).max(axis=1))
    return found


def _direction(link: Link, data: Data, here: At) -> Array:
    """Newton's step; for an even link with absolute values of the Hessian's eigenvalues, so that the loss falls."""
    slope = link.derivative(here.product)
    if link.even:
        bend = (link.derivative(here.product + APART) - link.derivative(here.product - APART)) / (2 * APART)
        slope = slope * slope - (data.y - link.mean(here.product)) * bend
    hessian = data.x.transpose(0, 2, 1) @ (data.x * (data.weight * slope)[:, :, None])
    d = data.x.shape[2]
    each = np.arange(d)
    hessian[:, each, each] += data.penalty + (DAMPING / d * np.einsum("nii->n", np.abs(hessian)))[:, None]
    lost = ~(np.isfinite(hessian).all(axis=(1, 2)) & np.isfinite(here.gradient).all(axis=1))
    hessian[lost] = np.eye(d)
    if link.even:
        eigenvalues, basis = np.linalg.eigh((hessian + hessian.transpose(0, 2, 1)) / 2)
        along = (here.gradient[:, None, :] @ basis)[:, 0]
        along = along / np.maximum(np.abs(eigenvalues), FLAT * data.penalty.max(axis=1, keepdims=True))
        step: Array = (basis @ along[:, :, None])[:, :, 0]
    else:
        step = np.linalg.solve(hessian, here.gradient[:, :, None])[:, :, 0]
    step[lost] = np.nan
    return step


def _walk(link: Link, data: Data, here: At, step: Array) -> tuple[At, Array, Array]:
    """Take the steps, each halved as often as needed; return the new point, which rows are stuck, and the tries."""
    along = np.einsum("ni,ni->n", here.gradient, step)
    found = _at(link, data, here.theta + step)
    asked, length, count = _too_far(link, here, found, step, along), 1.0, np.ones(len(step))
    for _ in range(HALVINGS):
        if not len(asked):
            break
        length /= 2
        count[asked] += 1
        before, part = here.take(asked), step[asked]
        tried = _at(link, data.take(asked), before.theta + length * part)
        found.put(asked, tried)
        asked = asked[_too_far(link, before, tried, part, along[asked])]
    stuck = np.zeros(len(step), dtype=bool)
    stuck[asked] = True
    found.put(asked, here.take(asked))
    return found, stuck, count


def _too_far(link: Link, here: At, there: At, step: Array, along: Array) -> Array:
    """Indices of the rows whose steps go too far."""
    if link.even:
        far = ~(there.loss <= here.loss * (1 + 1e-14))
    else:
        far = ~(-np.einsum("ni,ni->n", there.gradient, step) <= OVERSHOOT * along)
    return np.flatnonzero(far & (along > 0))


def _best_start(link: Link, data: Data, start: Array) -> At:
    """The start with the smallest loss: the last estimate, or along one of two axes, at three lengths each.

    The axes are the first axes of sum w (y - m) x x^T: with m the mean of y, which points along theta if contexts are
    distributed alike in all directions; and with m = mu(0), along which the loss falls fastest from theta = 0, where it
    is flat.
    """
    best = _at(link, data, start)
    total = np.maximum(np.einsum("nk->n", data.weight), 1e-300)
    for level in (np.einsum("nk,nk->n", data.weight, data.y) / total, link.mean(np.zeros(len(start)))):
        centred = data.weight * (data.y - level[:, None])
        moments = data.x.transpose(0, 2, 1) @ (data.x * centred[:, :, None])
        moments[~np.isfinite(moments).all(axis=(1, 2))] = 0.0
        axis = np.linalg.eigh(moments)[1][:, :, -1]
        for length in LENGTHS:
            tried = _at(link, data, length * axis)
            better = np.flatnonzero(tried.loss < best.loss)
            best.put(better, tried.take(better))
    return best

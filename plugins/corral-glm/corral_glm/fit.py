"""The estimate of a generalised linear model, for many rows at once.

For a rising link, theta is the root of

    sum_i w_i (y_i - mu(<x_i, theta>)) x_i = lambda theta,

which is the regularised maximum likelihood estimate if mu is a canonical link, and the estimate of Li, Lu and Zhou 2017
with a ridge otherwise. The left side minus the right side is the gradient of a strictly concave function, so there is
exactly one root, even for data that a plane separates. Newton's method finds it. A step is halved while the derivative
along it has the opposite sign and more than a tenth of its size; this needs only mu and its slope. After a short step
the next is first computed with the same Hessian; if it turns out to be so small that it is the last, no other Hessian
is needed.

An even link has no such function: theta minimises (sum_i w_i (y_i - mu(<x_i, theta>))^2 + lambda ||theta||^2)/2, by
Newton's method with the absolute values of the Hessian's eigenvalues and steps that are halved while they increase the
loss. It starts from the best of these: the last estimate, and the first axes of sum_i w_i (y_i - m) x_i x_i^T,
m = mean y or mu(0), at three lengths. It finds a local minimum, which need not be the global one.

Each large feature is scaled by its own power of two, so that small features are not lost to rounding. The root is found
to 1e-6 as long as sum_i w_i ||x_i||^2/lambda is below about 1e9. Far beyond that, rounding errors of the gradient show
where only the ridge determines theta, and a row may not converge. (Nor may it if a bounded link has to explain rewards
beyond its range.)

Rows are independent, to the last bit: what a row does depends only on its own numbers. A row that has converged, or
cannot (a step that is not finite, or `STEPS` steps), is left alone while others continue. A row that has not converged
starts over at 0. If that does not help, it keeps its previous estimate, and `converged` is false.

Sums over plays are products of matrices in BLAS, whatever kernels play: loops compiled by numba were seen to take up to
twice as long, because a sum in the order of a loop cannot be vectorised. Features are therefore kept as columns: the
plays of a feature are neighbours in memory.

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
SHORT = 1e-2  # after a full step this small relative to theta, the same Hessian may serve for the last step,
BENT = 0.1  # if the step moved no <x, theta> by more than this, so that slopes are about what they were
DAMPING = 1e-13  # times the mean eigenvalue, added to all eigenvalues so that none is lost in rounding
OVERSHOOT = 0.1
LENGTHS = (0.25, 1.0, 4.0)
FLAT = 1e-6  # times lambda: the smallest eigenvalue that a step is divided by, for an even link
LOWEST = 1e-10  # a loss that would fall by less than this fraction counts as minimal
APART = 1e-5  # step of the finite difference for the second derivative of an even link


class Data(Rows):
    """The data to fit: plays, or arms weighted by their number of plays."""

    columns: Array  # (rows, d, n), the features x; 0 if the weight is 0
    y: Array  # (rows, n)
    weight: Array
    penalty: Array  # (rows, d), lambda/unit^2
    unit: Array | None = None  # (rows, d), what x was divided by, unless it is 1


class At(Rows):
    """An estimate, with the gradient and other quantities at that point."""

    theta: Array  # (rows, d)
    product: Array  # (rows, n), <x, theta>
    gradient: Array  # (rows, d), of the function to maximise
    missed: Array | None = None  # (rows, n), y - mu, for an even link
    slope: Array | None = None  # (rows, n), of mu, for an even link
    loss: Array | None = None  # (rows,), for an even link


def fit(link: Link, x: Array, y: Array, weight: Array, penalty: float | Array, start: Array) -> tuple[Array, Array]:
    """Fit theta (rows, d) to x (rows, n, d), y and weight (rows, n); also return which rows converged.

    `penalty` is lambda: one number, or one per row.
    """
    columns = np.zeros((x.shape[0], x.shape[2], x.shape[1]))
    np.copyto(columns, x.transpose(0, 2, 1), where=weight[:, None, :] > 0)  # what was never played must not count
    return fit_columns(link, columns, y, weight, penalty, start)


def fit_columns(
    link: Link, columns: Array, y: Array, weight: Array, penalty: float | Array, start: Array
) -> tuple[Array, Array]:
    """The same for features as columns (rows, d, n), in C order, that are 0 wherever the weight is 0."""
    with np.errstate(all="ignore"):
        most = np.maximum.reduce(columns, axis=2, initial=1.0)
        largest = np.maximum(most, -np.minimum.reduce(columns, axis=2, initial=-1.0))
        usable = np.isfinite(largest + start).all(axis=1) & np.isfinite(y).all(axis=1)
        ridge = np.full(len(start), penalty)[:, None]
        if (largest < 2).all():
            unit, data = None, Data(columns, y, weight, np.repeat(ridge, start.shape[1], axis=1))
        else:
            unit = np.ldexp(1.0, np.frexp(largest)[1] - 1)
            data = Data(columns / unit[:, :, None], y, weight, ridge / unit**2, unit)
        theta, converged = start.copy(), np.zeros(len(start), dtype=bool)
        for begin in (start, np.zeros_like(start)):
            rows = np.flatnonzero(usable & ~converged)
            if not len(rows):
                break
            whole = len(rows) == len(start)
            first = begin if unit is None else begin * unit
            found, arrived = _newton(link, data, first) if whole else _newton(link, data.take(rows), first[rows])
            if unit is not None:
                found /= unit[rows]
            theta[rows[arrived]], converged[rows] = found[arrived], arrived
    return theta, converged


def _newton(link: Link, data: Data, start: Array) -> tuple[Array, Array]:
    """Iterate Newton's steps from this start; return theta and which rows converged."""
    theta, converged, going = start.copy(), np.zeros(len(start), dtype=bool), np.arange(len(start))
    here, spent = _best_start(link, data, start) if link.even else _at(link, data, start), np.zeros(len(start))
    while True:
        here, arrived, lost, tries = _step(link, data, here)
        spent += tries
        done = arrived | lost | (spent >= STEPS)
        if done.any():
            theta[going[arrived]] = here.theta[arrived]
            converged[going[arrived]] = True
            on = np.flatnonzero(~done)
            if not len(on):
                return theta, converged
            going, data, here, spent = going[on], data.take(on), here.take(on), spent[on]


def _at(link: Link, data: Data, theta: Array) -> At:
    product = _moves(data, theta)
    missed = data.y - link.mean(product)
    residual = data.weight * missed
    if not link.even:
        return At(theta, product, _gradient(data, residual, theta))
    slope, loss = link.derivative(product), _loss(data, residual, missed, theta)
    return At(theta, product, _gradient(data, residual * slope, theta), missed, slope, loss)


def _gradient(data: Data, residual: Array, theta: Array) -> Array:
    found: Array = (data.columns @ residual[:, :, None])[:, :, 0]
    found -= data.penalty * theta
    return found


def _loss(data: Data, residual: Array, missed: Array, theta: Array) -> Array:
    found: Array = (_inner(residual, missed) + _inner(data.penalty * theta, theta)) / 2
    return found


def _step(link: Link, data: Data, here: At) -> tuple[At, Array, Array, Array]:
    """One damped step of every row: the new point, which rows arrived, which are lost, and how many tries it took."""
    hessian, usable = _hessian(link, data, here)
    step = _directed(data, here, hessian) if link.even else _solved(hessian, here.gradient)
    along = _inner(here.gradient, step)
    lost = ~(usable & np.isfinite(along))
    if lost.any():
        step[lost], along[lost] = 0.0, 0.0
    length, scale = _largest(step), 1 + _largest(here.theta)
    arrived = _is_last(link, data, here, step, length, scale) & ~lost
    if (arrived | lost).all():
        return here.replace(theta=here.theta + step), arrived, lost, np.ones(len(step))
    there, stuck, tries = _walk(link, data, here, step, along)
    if arrived.any():
        there.theta[arrived] = (here.theta + step)[arrived]
    if link.even:  # no step can lower the loss, up to rounding
        assert here.loss is not None
        arrived |= stuck & (along <= LOWEST * here.loss) & ~lost
    else:
        short = (length <= SHORT * scale) & (tries == 1) & ~(arrived | lost)
        if short.any():
            arrived |= _finish(data, here, there, hessian, short, scale)
    return there, arrived, lost | (stuck & ~arrived), tries


def _is_last(link: Link, data: Data, here: At, step: Array, length: Array, scale: Array) -> Array:
    """Whether the full step leads to the root, up to what is asked for or to rounding."""
    last: Array = length <= EXACT * scale
    if last.any():
        last &= _largest(_moves(data, step)) <= NEAR
    if link.even:
        close = ~last
    elif data.unit is None:
        close = ~last & (length <= CLOSE * scale)
    else:
        close = ~last & (_largest(step / data.unit) <= CLOSE * (1 + _largest(here.theta / data.unit)))
    if close.any():
        terms = _inner(data.weight, np.abs(data.y) + np.abs(link.mean(here.product)))
        terms += _largest(data.penalty * here.theta)
        last |= close & (_largest(here.gradient) <= ROUNDING * terms)
    return last


def _finish(data: Data, here: At, there: At, hessian: Array, short: Array, scale: Array) -> Array:
    """Which rows one more step from `there` with the Hessian from `here` takes to the root; takes it, in place."""
    step = _solved(hessian, there.gradient)
    last = short & (_largest(step) <= EXACT * scale) & (_largest(there.product - here.product) <= BENT)
    if last.any():
        last &= _largest(_moves(data, step)) <= NEAR
        there.theta[last] += step[last]
    return last


def _hessian(link: Link, data: Data, here: At) -> tuple[Array, Array]:
    """The Hessian, of the function to minimise, and which rows have one; that of others is the identity."""
    if here.slope is None or here.missed is None:
        slope = link.derivative(here.product)
    else:
        bend = (link.derivative(here.product + APART) - link.derivative(here.product - APART)) / (2 * APART)
        slope = here.slope * here.slope - here.missed * bend
    hessian = _moments(data, data.weight * slope)
    d = hessian.shape[1]
    diagonal = hessian.reshape(len(hessian), d * d)[:, :: d + 1]
    trace = np.add.reduce(np.abs(diagonal), axis=1)
    diagonal += data.penalty
    diagonal += (DAMPING / d * trace)[:, None]
    usable = np.isfinite(trace)
    if not usable.all():
        hessian[~usable] = np.eye(d)
    return hessian, usable


def _solved(hessian: Array, gradient: Array) -> Array:
    """Newton's step; not finite if there is none."""
    try:
        step: Array = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:  # of some row, which must not stop the others
        if len(hessian) == 1:
            return np.full_like(gradient, np.nan)
        pairs = zip(hessian, gradient, strict=True)
        return np.concatenate([_solved(one[None], towards[None]) for one, towards in pairs])
    return step


def _directed(data: Data, here: At, hessian: Array) -> Array:
    """Newton's step with the absolute values of the Hessian's eigenvalues, so that the loss falls."""
    eigenvalues, basis = np.linalg.eigh((hessian + hessian.transpose(0, 2, 1)) / 2)
    along = (here.gradient[:, None, :] @ basis)[:, 0]
    along /= np.maximum(np.abs(eigenvalues), FLAT * _largest(data.penalty)[:, None])
    step: Array = (basis @ along[:, :, None])[:, :, 0]
    return step


def _walk(link: Link, data: Data, here: At, step: Array, along: Array) -> tuple[At, Array, Array]:
    """Take the steps, each halved as often as needed; return the new point, which rows are stuck, and the tries."""
    found = _at(link, data, here.theta + step)
    asked, length, tries = _too_far(here, found, step, along), 1.0, np.ones(len(step))
    stuck = np.zeros(len(step), dtype=bool)
    for _ in range(HALVINGS):
        if not len(asked):
            return found, stuck, tries
        length /= 2
        tries[asked] += 1
        before, part = here.take(asked), step[asked]
        tried = _at(link, data.take(asked), before.theta + length * part)
        found.put(asked, tried)
        asked = asked[_too_far(before, tried, part, along[asked])]
    stuck[asked] = True
    found.put(asked, here.take(asked))
    return found, stuck, tries


def _too_far(here: At, there: At, step: Array, along: Array) -> Array:
    """Indices of the rows whose steps go too far."""
    if here.loss is not None and there.loss is not None:
        fine = there.loss <= here.loss * (1 + 1e-14)
    else:
        fine = _inner(there.gradient, step) >= -OVERSHOOT * along
    return np.flatnonzero(~(fine | (along <= 0)))


def _best_start(link: Link, data: Data, start: Array) -> At:
    """The start with the smallest loss: the last estimate, or along one of two axes, at three lengths each.

    The axes are the first axes of sum w (y - m) x x^T: with m the mean of y, which points along theta if contexts are
    distributed alike in all directions; and with m = mu(0), along which the loss falls fastest from theta = 0, where it
    is flat.
    """
    best, least = start.copy(), _at(link, data, start).loss
    assert least is not None
    total = np.maximum(np.einsum("nk->n", data.weight), 1e-300)
    for level in (_inner(data.weight, data.y) / total, link.mean(np.zeros(len(start)))):
        moments = _moments(data, data.weight * (data.y - level[:, None]))
        moments[~np.isfinite(moments).all(axis=(1, 2))] = 0.0
        axis = np.linalg.eigh(moments)[1][:, :, -1].copy()
        product = _moves(data, axis)
        for length in LENGTHS:
            theta, missed = length * axis, data.y - link.mean(length * product)
            loss = _loss(data, data.weight * missed, missed, theta)
            better = loss < least
            best[better], least[better] = theta[better], loss[better]
    return _at(link, data, best)


def _moments(data: Data, weight: Array) -> Array:
    """sum_i w_i x_i x_i^T of every row."""
    found: Array = (data.columns * weight[:, None, :]) @ data.columns.transpose(0, 2, 1)
    return found


def _moves(data: Data, theta: Array) -> Array:
    """<x_i, theta> of every row."""
    found: Array = (theta[:, None, :] @ data.columns)[:, 0]
    return found


def _inner(one: Array, other: Array) -> Array:
    """The inner products of the vectors of every row."""
    found: Array = np.einsum("ni,ni->n", one, other)
    return found


def _largest(vectors: Array) -> Array:
    """The largest absolute value of every row; NaN if there is one."""
    found: Array = np.maximum.reduce(np.abs(vectors), axis=1, initial=0.0)
    return found

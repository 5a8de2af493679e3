"""The curves that an experiment file asks for: bases with their labels, metas, and what they are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs

from corral_core.bounds import Term
from corral_core.errors import CorralError
from corral_core.experiments.checking import table, tables
from corral_core.experiments.grids import product
from corral_core.experiments.source import bare
from corral_core.parsing import build, check_keys, convert, parameters, shown
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta
from corral_core.protocols.problem import Problem
from corral_core.registry.discovery import Kind
from corral_core.registry.names import get_registry
from corral_core.selection.options import PRESETS, Options, Preset
from corral_core.simulation.curve import Curve

Alone = Literal["plain", "smooth", "both", "none"]


def made(kind: Kind, value: Any, where: str) -> Any:
    """The object that a table with a name and parameters describes."""
    values = table(value, f"{where}: {kind}")
    name = values.pop("name")
    return build(get_registry().load(kind, name), values, f"{where}: {bare(name)}")


Shown = Mapping[tuple[Kind, str], str]
"""How a qualified name is shown."""


def shown_names(source: Mapping[str, Any]) -> dict[tuple[Kind, str], str]:
    """How names are shown in labels: without the plugin, unless the source uses that name from two plugins."""
    compare = source.get("compare")
    compare = compare if isinstance(compare, Mapping) else {}
    lists: dict[Kind, list[Any]] = {
        "base": [source.get("bases"), compare.get("bases")],
        "meta": [[source.get("meta")], compare.get("metas")],
    }
    found: dict[tuple[Kind, str], str] = {}
    for kind, parts in lists.items():
        listed = [each for part in parts if isinstance(part, list) for each in part if isinstance(each, Mapping)]
        names = {name for each in listed if isinstance(name := each.get("name"), str)}
        used = [bare(name) for name in names]
        found |= {(kind, name): name if used.count(bare(name)) > 1 else bare(name) for name in names}
    return found


def bases_of(
    value: Any, problem: Problem, where: str, shown_as: Shown, taken: Sequence[str] = ()
) -> list[tuple[str, Base]]:
    """Every base with its label, grids expanded. A name that is taken or used more than once shows its parameters."""
    found: list[tuple[str, Base]] = []
    described = tables(value, where)
    names = [shown_as["base", each["name"]] for each in described]
    for name, own in zip(names, described, strict=True):
        cls, grids = get_registry().load("base", own.pop("name")), own.pop("grid", {})
        if not isinstance(grids, Mapping):
            raise CorralError(f"{where}: the grid of {name} must be a table of lists")
        twice = [key for key in grids if key in own]
        if twice:
            raise CorralError(f"{where}: {name} has {twice[0]} both as a value and as a grid")
        for values in product(grids, f"{where}: grid of {name}"):
            base = _base(cls, {**own, **values}, f"{where}: {name}").resolve(problem)
            several = name in taken or names.count(name) > 1
            found.append((_label(name, values or (own if several else {})), base))
    if not found:
        raise CorralError(f"{where} must name at least one base")
    labels = [label for label, _ in found]
    for number, label in enumerate(labels):
        if labels.count(label) > 1:
            found[number] = (f"{label} #{labels[: number + 1].count(label)}", found[number][1])
    return found


def _base(cls: type[Base], values: dict[str, Any], where: str) -> Base:
    """The base that a table describes, with the bound that it claims, if any."""
    if "bound" not in values or any(field.name == "bound" for field in parameters(cls)):
        return build(cls, values, where)
    terms = _terms(values.pop("bound"), f"{where}: bound")
    return build(cls, values, where).claiming(*terms)


def _terms(value: Any, where: str) -> list[Term]:
    """The terms of a bound: one table { c = 2, alpha = 0.5 }, or a list of them."""
    given = value if isinstance(value, list) else [value]
    for each in given:
        if not isinstance(each, Mapping) or each.keys() != {"c", "alpha"}:
            raise CorralError(f"{where} must be like {{ c = 2, alpha = 0.5 }}, or a list of these, not {shown(value)}")
    return [Term(*(convert(each[key], float, f"{where}.{key}") for key in ("c", "alpha"))) for each in given]


def _label(name: str, values: Mapping[str, Any]) -> str:
    def said(key: str, value: Any) -> str:
        if key == "bound":
            return " + ".join(map(str, _terms(value, key)))
        return f"{value:.4g}" if isinstance(value, float) else f"{value}"

    said_all = ", ".join(f"{key}={said(key, value)}" for key, value in values.items())
    return f"{name}({said_all})" if said_all else name


def _options(values: Mapping[str, Any], where: str, preset: str = "paper") -> tuple[Preset, Options]:
    """The preset a table names, with the options it sets."""
    found: Preset = convert(values.get("preset", preset), Preset, f"{where}: preset")
    own = values.get("options", {})
    if not isinstance(own, Mapping):
        raise CorralError(f"{where}: options must be a table")
    options = build(Options, {**attrs.asdict(PRESETS[found]), **own}, f"{where}: options")
    if "test_variance" in own and not options.base_test:
        raise CorralError(f"{where}: options: test_variance belongs to base_test, which is off; switch it on")
    return found, options


def curves_of(
    source: Mapping[str, Any], bases: list[tuple[str, Base]], problem: Problem, where: str, shown_as: Shown
) -> list[Curve]:
    """Every curve of a point, each with a unique name."""
    compare = source.get("compare", {})
    if not isinstance(compare, Mapping):
        raise CorralError(f"{where}: compare must be a table")
    check_keys(compare, ["alone", "bases", "metas", "presets"], f"{where}: compare")
    curves = _of_metas(source, compare, bases, where, shown_as)
    curves += _alone(compare.get("alone", "plain"), bases, f"{where}: compare.alone")
    if (others := compare.get("bases", [])) != []:
        extra = bases_of(others, problem, f"{where}: compare.bases", shown_as, [label for label, _ in bases])
        curves += _alone("plain", extra, f"{where}: compare.bases")
    names = [curve.name for curve in curves]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CorralError(f"{where} has the curve {shown(twice[0])} twice; remove one, or give it other parameters")
    if not curves:
        raise CorralError(f"{where} has nothing to play: give it a meta, or compare bases alone")
    return curves


def _of_metas(
    source: Mapping[str, Any],
    compare: Mapping[str, Any],
    bases: list[tuple[str, Base]],
    where: str,
    shown_as: Shown,
) -> list[Curve]:
    """The experiment's own meta, the same one under other presets, and the metas that it is compared with."""
    labels, members = tuple(label for label, _ in bases), tuple(base for _, base in bases)
    preset, options = _options(source, where)
    curves: list[Curve] = []
    if "meta" in source:
        meta = made("meta", source["meta"], where)
        _check_restarts(meta, source.get("options", {}), where)
        name = shown_as["meta", source["meta"]["name"]]
        curves.append(Curve(name, members, labels, meta, options))
        for other in convert(compare.get("presets", []), tuple[str, ...], f"{where}: compare.presets"):
            _, judged = _options({"preset": other}, f"{where}: compare.presets")
            curves.append(Curve(f"{name} ({other})", members, labels, meta, judged))
    compared: dict[int, Curve] = {}
    listed = tables(compare.get("metas", []), f"{where}: compare.metas")
    # Those without parameters come first: only their name tells them apart.
    for place, values in sorted(
        enumerate(listed), key=lambda pair: bool(pair[1].keys() - {"name", "preset", "options"})
    ):
        set_here: dict[str, Any] = {key: values.pop(key) for key in ("preset", "options") if key in values}
        inherited = {} if "preset" in set_here else {"preset": preset, "options": source.get("options", {})}
        own, judged = _options({**inherited, **set_here}, f"{where}: compare.metas")
        meta = made("meta", values, where)
        _check_restarts(meta, {**inherited, **set_here}.get("options", {}), f"{where}: compare.metas")
        name, suffix = shown_as["meta", values.pop("name")], f" ({own})" if own != preset else ""
        # The shortest label that differs from the curves before it.
        names = [_label(name, said) + suffix for said in ({}, values, {**values, **set_here.get("options", {})})]
        taken = [curve.name for curve in (*curves, *compared.values())]
        label = next((each for each in names if each not in taken), names[-1])
        compared[place] = Curve(label, members, labels, meta, judged)
    return curves + [compared[place] for place in sorted(compared)]


def _check_restarts(meta: Meta, options: Mapping[str, Any], where: str) -> None:
    """Refuse to switch off restarts that a meta requires; presets, which also leave them off, are overruled."""
    if meta.restarts == "required" and options.get("restart") is False:
        raise CorralError(f"{where}: options: restart must not be off, because {meta.name} requires restarts")


def _alone(how: Any, bases: list[tuple[str, Base]], where: str) -> list[Curve]:
    """Each base alone, played plainly or smoothed."""
    how = convert(how, Alone, where)
    curves = []
    for label, base in bases:
        if how in ("plain", "both"):
            curves.append(Curve(label, (base,), (label,), None, PRESETS["practice"]))
        if how in ("smooth", "both"):
            curves.append(Curve(f"{label}, smoothed", (base,), (label,), None, PRESETS["paper"]))
    return curves

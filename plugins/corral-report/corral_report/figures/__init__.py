"""Pictures of runs: plain matplotlib figures, readable without colour, with the same bytes every time."""

from corral_report.figures.album import Picture, album, sweeps_horizon
from corral_report.figures.bases import constant, mean_choices, plays_figure, probabilities_figure, recorded_figure
from corral_report.figures.output import FORMATS, save, svg
from corral_report.figures.rates import Fit, fit, rates_figure
from corral_report.figures.regret import BANDS, band_edges, horizon_figure, regret_figure

__all__ = [
    "BANDS",
    "FORMATS",
    "Fit",
    "Picture",
    "album",
    "band_edges",
    "constant",
    "fit",
    "horizon_figure",
    "mean_choices",
    "plays_figure",
    "probabilities_figure",
    "rates_figure",
    "recorded_figure",
    "regret_figure",
    "save",
    "svg",
    "sweeps_horizon",
]

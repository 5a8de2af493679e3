"""`corral check`: its progress and its table."""

from corral_core.cli.check.command import register as register

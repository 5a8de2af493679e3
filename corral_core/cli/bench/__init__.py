"""`corral bench` and its workloads."""

from corral_core.cli.bench.command import register as register

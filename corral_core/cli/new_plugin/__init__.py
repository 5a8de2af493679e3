"""`corral new-plugin` and the template that it fills in."""

from corral_core.cli.new_plugin.command import register as register

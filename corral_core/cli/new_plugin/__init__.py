"""`corral new-plugin` and the template that it fills in."""

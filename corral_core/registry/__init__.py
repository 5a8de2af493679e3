"""What plugins provide: discovery, names, and what Corral's own plugins would provide."""

"""Pictures, reports, tables and reproductions of Corral's runs."""

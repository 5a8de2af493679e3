"""Learners and environments of other libraries, for Corral."""

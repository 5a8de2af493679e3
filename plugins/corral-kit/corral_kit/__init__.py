"""Building blocks that plugins share: a library without hooks."""

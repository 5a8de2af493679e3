"""One command per file. Nothing here imports numpy or matplotlib before a command runs."""

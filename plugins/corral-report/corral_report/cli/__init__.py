"""One command a file. Nothing here imports numpy or matplotlib before a command runs."""

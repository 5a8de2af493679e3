"""One library a file."""

"""One file a format: each turns bytes into raw records."""

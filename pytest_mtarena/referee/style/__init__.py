"""Markers of the writing style: words that show how formal a text is, one data file a language."""

"""Contestants: loading methods, asking them, checking what they answer."""

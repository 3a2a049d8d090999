"""Suites: what a file of cases is, and how every format is read."""

"""The metrics: one file a metric."""

"""The run engine: batches, run-ahead, journal. It knows nothing of any kind of case."""

"""Resampling and intervals over rows of sufficient statistics."""

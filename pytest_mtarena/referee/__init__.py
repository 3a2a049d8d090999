"""The referee: metrics, statistics and the kinds of case built on them."""

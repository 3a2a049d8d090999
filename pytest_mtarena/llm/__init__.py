"""The wire to language models: one client, small adapters, prices, cache, budget."""

"""The run card: model, canonical JSON, seal, fingerprint, reading and writing."""

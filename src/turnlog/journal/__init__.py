"""The append-only files that one process writes; the source of truth until the store has loaded them."""

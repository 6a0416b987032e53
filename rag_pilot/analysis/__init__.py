"""Pure functions on records: every number of the pilot."""

"""Joint states: what both models know about one access of a location, step by step."""

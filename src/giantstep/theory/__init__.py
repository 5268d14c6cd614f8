"""Exact asymptotics: Result 1 (mapping), Result 2 (features), Result 3 (bulk × channel, joined by solve)."""

"""Result 3: the equations that join features, bulk and channel, and the solvers of them at one rule in κ."""

"""Result 3: what both solvers are made of. Order parameters, averages over κ, responses, means, and special limits."""

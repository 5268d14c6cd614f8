"""Exact asymptotics. The path of a number: pose, problem, step (Result 1), features (Result 2), bulk and channel,
joined by square or convex (Result 3, made of equations), on rules that the engine refines."""

from ..runtime.system import keep_freed_memory

keep_freed_memory()

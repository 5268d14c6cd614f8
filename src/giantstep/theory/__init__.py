"""Exact asymptotics, in the order of the computation: `problem` states what is to be solved, `step` is Result 1,
`features` is Result 2, `square` and `convex` solve Result 3 with `bulk`, `channel` and `equations`, and `engine`
refines the rules of integration."""

from ..runtime.system import keep_freed_memory

keep_freed_memory()

"""Train real networks of finite size: draw, step, fit, measure. `simulate` is the public verb."""

from .run import simulate

__all__ = ["simulate"]

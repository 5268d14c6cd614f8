"""Convex losses ℓ(y, z) of a label y and an output z: values and slopes for training, proximal scores for theory.

Theory sees a loss through its proximal point z* = argmin_z (z - ω)²/2V + ℓ(y, z), the output that a training
sample ends up with when the rest of the data alone would give it ω, and through

    score  f = (z* - ω)/V = -ℓ'(y, z*),        slope  g = -∂f/∂ω = ℓ''(z*)/(1 + Vℓ''(z*)).

Scores hold for V from 1e-9 to 1e8: nothing is divided by V that was not multiplied by it.
"""

from __future__ import annotations

from .base import Loss, Score
from .named import NAMES, Clipped, as_loss, huber, pinball, square

__all__ = ["NAMES", "Clipped", "Loss", "Score", "as_loss", "huber", "pinball", "square"]

"""What a user says: the model, its steps, its initial readout, and the target. Plain, frozen, checked descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Model, check_model
from .network import Network, Step
from .spiked import SpikedRF, TwoSpikes
from .target import Target, as_target

if TYPE_CHECKING:
    from .description import FunctionLike as FunctionLike
    from .description import Parameter as Parameter

__all__ = ["Model", "Network", "SpikedRF", "Step", "Target", "TwoSpikes", "as_target", "check_model"]

"""What every model answers: its numbers, which of them shape the first layer, and the same model at others."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import evolve

from ..errors import refused
from .description import Description

if TYPE_CHECKING:
    from ..functions import Function
    from .letters import Letters


class Model(Description):
    """A first layer to put a readout on: a trained network, or spiked random features."""

    activation: Function
    beta: Any
    readout: Letters
    group: ClassVar[str] = "letter"  # the dimension along which groups of neurons are told apart
    takes_steps: ClassVar[bool] = False  # whether gradient steps on the target made it

    @cached_property
    def most_steps(self) -> int:
        """The number of gradient steps, the most of them on the grid that this model has or is from."""
        return 0

    @property
    def spike_directions(self) -> int:
        """How many directions the spikes of its groups may span."""
        return 1

    def numbers(self) -> dict[str, Any]:
        """The numeric parameters by name, each of which may open a grid dimension, in the grid's order."""
        raise NotImplementedError

    @property
    def shaping(self) -> tuple[str, ...]:
        """The numbers, with the target's noise among them, that shape the first layer."""
        raise NotImplementedError

    def at(self, **numbers: float) -> Any:
        """The same model with other numbers, which are known to be allowed."""
        moved = object.__new__(type(self))
        moved.__dict__.update(self.__dict__)
        moved.__dict__.update(
            {name: float(value) for name, value in numbers.items()}, most_steps=self.most_steps
        )
        return moved

    def moved(self, **numbers: Any) -> Any:
        """The same model with other numbers or grids of them, checked as any."""
        return evolve(self, **numbers)  # type: ignore[type-var]

    def resolved(self) -> Model:
        """The simplest description of the same first layer."""
        return self


def check_model(model: Any, name: str = "model") -> Model:
    """A model; what is none is refused."""
    if not isinstance(model, Model):
        raise refused(name, model, "is neither a Network nor a SpikedRF (nor a TwoSpikes)")
    return model

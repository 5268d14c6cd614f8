"""The network on data as they are: inputs made standard, one giant step, a readout. `giantstep.sklearn` wraps it."""

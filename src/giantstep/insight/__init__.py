"""Further questions to the same theory: what can be learned at all, what was learned, spectra, the best settings."""

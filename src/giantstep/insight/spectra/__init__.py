"""Spectra: densities, edges and outliers of the features' covariance and of the first layer's weights."""

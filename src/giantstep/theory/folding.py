"""Half of a rule in κ, where the other half is its mirror image.

With an odd activation, no biases and labels that change sign with the input, all of Result 3 is even in κ: μ0, ∂μ0/∂c
and E Y are odd, the other coefficients and moments even, and averages only ever have products of them that are even.
"""

from __future__ import annotations

import numpy as np

from .features import Features
from .labels import Label

_MIRRORED = 1e-12  # how well nodes must match their images


def folded(features: Features, label: Label) -> tuple[Features, Label]:
    """Both on the half κ ≥ 0 (of the first direction), its weights doubled; as they are, if nodes are not symmetric."""
    kappa, n = features.kappa, features.kappa.shape[-1]
    if not np.abs(kappa + kappa[..., ::-1]).max() <= _MIRRORED:
        return features, label
    half = slice(n // 2, None)
    weights = 2.0 * features.weights[..., half]
    weights[..., : n % 2] *= 0.5  # the middle is its own image
    rest = {name: getattr(features, name)[..., half] for name in ("kappa", "mu0", "mu1", "mu2sq", "dmu0")}
    clean = label.clean and tuple(part[..., half] for part in label.clean)
    own = (part[..., half] for part in label[:3])
    return features._replace(weights=weights, **rest), Label(*own, clean)  # type: ignore[arg-type]

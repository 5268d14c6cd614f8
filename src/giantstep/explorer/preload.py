"""Loaded once by the process that all others are forked from: the library, and what its first use costs.

Importing this module computes something small with every verb; nothing else should import it.
"""

from __future__ import annotations

import numpy as np

import giantstep as gs

from ..runtime.threads import thread_pools
from . import jobs as jobs

thread_pools().limit(limits=1)  # quick answers come side by side: none of them should take all cores

_net = gs.Network("tanh", eta=1.0, alpha0=1.0)
for _bulk in ("isotropic", "exact"):
    gs.learned_function(_net, "sin", x=np.linspace(-1.0, 1.0, 3), alpha=1.0, lam=0.1, bulk=_bulk)
gs.bounds(_net, "sin")
gs.coefficients(_net, np.linspace(-1.0, 1.0, 3), "sin")
gs.predict(gs.Network("relu", eta=1.0, alpha0=1.0), "sin", alpha=1.0, lam=0.1)
gs.ridge("sin", alpha=1.0)
_ = gs.bayes, gs.explain, gs.simulate, gs.spectrum, gs.tune

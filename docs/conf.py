"""Sphinx configuration of giantstep's documentation; `make docs` builds it, with warnings as errors."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import giantstep

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ["PATH"]]
)  # for cells that run the command

project = "giantstep"
author = "The giantstep developers"
copyright = "2026, The giantstep developers"
version = release = giantstep.__version__
language = "en-GB"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx-mathjax-offline",
    "giantstep_docs",
]
exclude_patterns = ["_build", "_data", "_ext", "_templates"]
templates_path = ["_templates"]
nitpicky = False  # types of other libraries have no page here

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

default_role = "code"  # single backticks in docstrings
autodoc_typehints = "none"  # the docstrings say in words what may be given
autosummary_context = {
    "shown_methods": {
        "Network": ["equivalent", "to_dict", "from_dict"],
        "TwoSpikes": ["reduced"],
        "Letters": ["with_biases"],
        "Inputs": ["power_law", "from_data"],
        "OneStepRegressor": ["fit", "predict", "transform", "learning_curve_theory"],
        "OneStepClassifier": ["fit", "predict", "decision_function", "transform"],
    }
}
napoleon_use_rtype = False


def _digest() -> str:
    """A digest of the package: executed pages stay in the cache until they or the package change."""
    found = hashlib.sha256()
    for path in sorted(Path(giantstep.__file__).parent.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed" / _digest())
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True

html_theme = "furo"
html_title = f"giantstep {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_theme_options = {"navigation_with_keys": True}
suppress_warnings = ["mystnb.unknown_mime_type"]

"""Answers as bytes and back: no pickles, so that a file from anywhere is safe to open."""

from __future__ import annotations

import json
from functools import cache

import numpy as np


class Damaged(Exception):
    """Bytes that are not what was written."""


def encoded(values: np.ndarray) -> tuple[str, str | None, bytes]:
    """Form (type and shape of a point's entry), words if any, bytes."""
    words = None
    if values.dtype == object:
        known, values = np.unique(values.astype(str), return_inverse=True)
        words, values = json.dumps(known.tolist()), values.astype("<i4")
    values = np.ascontiguousarray(values, dtype="<f8" if values.dtype.kind == "f" else values.dtype)
    return json.dumps([values.dtype.str, values.shape[1:]]), words, values.tobytes()


def decoded(form: str, words: str | None, data: bytes) -> np.ndarray:
    dtype, shape = _form(form)
    values = np.frombuffer(data, dtype=dtype).reshape(-1, *shape)
    return values if words is None else np.array(json.loads(words), dtype=object)[values]


@cache
def _form(text: str) -> tuple[str, list[int]]:
    return json.loads(text)


def blank(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array that says 'not there': NaN, False, or words to that effect."""
    if dtype.kind == "O":
        return np.full(shape, "not computed yet", dtype=object)
    return np.zeros(shape, dtype) if dtype.kind == "b" else np.full(shape, np.nan)

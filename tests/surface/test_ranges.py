"""Numbers as they are typed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from giantstep.errors import ParameterError
from giantstep.model.typed import numbers


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("0.5", 0.5), ("-1e-3", -1e-3), ("inf", np.inf), ("1,2,4", [1, 2, 4]), ("0.2:3:5", [0.2, 0.9, 1.6, 2.3, 3.0]),
        ("1:3:1", [1]), ("3:1:3", [3, 2, 1]), ("0.01:100:5:log", [0.01, 0.1, 1, 10, 100]),
        ("0,1:3:3,inf", [0, 1, 2, 3, np.inf]), ("-1:1:3", [-1, 0, 1]),
    ],
)  # fmt: skip
def test_what_is_typed_is_what_is_meant(text, meant):
    found = numbers("alpha", text)
    assert np.ndim(found) == np.ndim(meant)
    np.testing.assert_allclose(found, meant, rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["", ",", "1,", "a", "1;2", "1 2"], "not a number"),
        (["1:2", "1:2:3:4", "1:2:3:lin", "1:x:3"], "not a range"),
        (["1:2:0", "1:2:-3", "1:2:2.5", "1:2:99999999999", "1:2:³"], "whose count is not"),
        (["1:inf:3"], "not finite"),
        (["0:1:3:log", "-1:1:3:log"], "not positive"),
    ],
)
def test_anything_else_is_refused_by_name(texts, words):
    for text in texts:
        with pytest.raises(ParameterError, match=f"{words}.*start:stop:count") as refusal:
            numbers("alpha", text)
        assert (refusal.value.name, refusal.value.value) == ("alpha", text)


@given(st.text(max_size=20))
def test_no_text_does_anything_but_parse_or_be_refused(text):
    try:
        found = numbers("x", text)
    except ParameterError:
        return
    assert np.asarray(found).dtype == float

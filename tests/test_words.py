"""Plain data in words."""

from __future__ import annotations

from gambol.words import in_words, is_table


def test_plain_data_is_told_in_words_without_brackets() -> None:
    assert in_words({"starts": 1, "at": [0.5, 2], "inner": {"basis": "waves", "none": None}}) == (
        "starts 1, at 0.5, 2, inner basis waves, none -"
    )
    assert in_words({"step": 0.125, "deep": [0.25]}, lambda value: f"{value:.1f}") == "step 0.1, deep 0.2"
    assert is_table([{"a": 1}, {"a": 2}])
    assert not any(map(is_table, ([], [1, {"a": 1}], {"a": 1}, "text")))

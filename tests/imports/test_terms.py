"""Texts of imported rows are folded in a time that is linear in their length (docs/guarantees.md, M1)."""

import unicodedata

import pytest

from leads.imports.terms import fold
from tests.hostile.held_interpreter import held_interpreter

ATTEMPTS = 4  # on a busy machine the thread that measures can be late
# Characters that aren't marks and decompose into some, beside each other in the wrong order.
DECOMPOSING = "\u0f73\uff9e"


def test_case_accents_compatible_characters_and_digits_make_no_difference() -> None:
    assert fold("Émile ŁUKASZ Straße ﬁn ٣４ \u0301\u0345a\u200bb ﷺ 。") == "emile lukasz strasse fin 34 ab   ."


@pytest.mark.parametrize("run", [DECOMPOSING, "\u0301\u0327", "\u0f73", "é\u0f75\uff9f"])
def test_a_text_is_folded_character_by_character(run: str) -> None:
    """Which is the same as normalizing it in one piece, because all marks go."""
    text = f"Zoë {run * 5}X"

    whole = unicodedata.normalize("NFKD", text).casefold()
    assert fold(text) == "".join(letter for letter in whole if not unicodedata.combining(letter))

    with held_interpreter() as held:
        seconds = min(held.measure(lambda: fold(run * 16_000))[1] for _ in range(ATTEMPTS))
    assert seconds < 0.05

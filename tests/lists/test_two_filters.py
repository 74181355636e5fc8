"""Two filters at once are counted by one index: no row of the table is read for it (docs/performance.md)."""

from itertools import product

import pytest

from appointments.models import Appointment

DATES, OTHERS = ("schedule_time", "created_at"), ("host", "call_category", "outcome")


@pytest.mark.parametrize("pair", [*product(OTHERS, DATES), ("host", "outcome"), ("host", "call_category")])
def test_the_commonest_pairs_of_filters_have_an_index_that_begins_with_one_and_has_the_other(
    pair: tuple[str, str],
) -> None:
    indexes = [[name.lstrip("-") for name in (*index.fields, *index.include)] for index in Appointment._meta.indexes]

    assert any(columns[1] in pair and {"organization", *pair} <= set(columns) for columns in indexes)

"""`insert_all` writes rows past Django, so it refuses what only Django writes correctly."""

import pytest

from foundation.db.writes import insert_all
from organizations.models import Organization
from webhooks.models import Endpoint


def test_a_model_with_an_encrypted_field_is_refused_so_that_no_secret_is_stored_in_clear(
    organization: Organization,
) -> None:
    endpoint = Endpoint(organization=organization, url="https://example.com/events", secret="whsec_clear")

    with pytest.raises(TypeError, match="Endpoint"):
        insert_all(endpoint)

    assert not Endpoint.objects.of(organization).exists()

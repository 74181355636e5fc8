"""Another installation: a database with the same tables, whose content types have other ids."""

import os
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.models import F

from dev.local import ephemeral
from pipeline_backend.moving import pausing
from tests.databases import connected_to, empty_database
from tests.shared_rows import clear_caches


@pytest.fixture
def cell(transactional_db: None) -> Iterator[str]:
    """The URL of the other installation's database."""
    with empty_database("cell", template=os.environ.get(ephemeral.TEMPLATE)) as url:
        with connected_to(url):
            Permission.objects.all().delete()
            ContentType.objects.update(id=F("id") + 1000)
        clear_caches()
        ContentType.objects.clear_cache()
        yield url
        connection.close()
        ContentType.objects.clear_cache()


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin at once to look for what is still at work: nothing works beside these tests."""
    monkeypatch.setattr(pausing, "GRACE_SECONDS", 0)

"""Celery tasks of webhooks."""

from celery import shared_task

from organizations.models import Organization
from organizations.services import for_each_organization
from webhooks.services import prune


@shared_task(name="webhooks.prune")
def prune_all() -> None:
    for_each_organization(prune, Organization.objects.all())

"""Celery tasks of webhooks."""

from celery import shared_task

from organizations.models import Organization
from webhooks.pruning import prune


@shared_task(name="webhooks.prune")
def prune_all() -> None:
    """Delete deliveries that finished long ago, in every organization."""
    for organization in Organization.objects.iterator():
        prune(organization=organization)

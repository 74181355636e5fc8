"""Celery tasks of leads."""

from uuid import UUID

from celery import shared_task

from leads.imports import services
from organizations.models import Organization
from organizations.services import for_each_organization


@shared_task(name=services.TASK)
def run_import(organization_id: str, import_id: str) -> None:
    """Go on with an import. Safe to run several times at once."""
    organization = Organization.objects.filter(pk=organization_id).first()
    if organization:
        services.run(organization=organization, import_id=UUID(import_id))


@shared_task(name="leads.run_waiting_imports")
def run_waiting_imports() -> None:
    """Go on with the imports of which no worker was told, or whose worker was killed."""
    for_each_organization(services.run_waiting, Organization.objects.filter(is_active=True))

"""The owners' digest: which webhook endpoints need them, in one mail however many there are (decision 32)."""

from celery import shared_task
from django.db import transaction

from notifications.models import Kind
from notifications.services import enqueue
from organizations.models import Membership, Organization, Role
from webhooks.models import Endpoint
from webhooks.services import take_unreported_failures


@shared_task(name="digest.send")
def send_endpoint_digest() -> None:
    """Tell the owners of every organization what they don't know yet."""
    for organization in Organization.objects.filter(is_active=True).iterator():
        notify_owners(organization=organization)


@transaction.atomic
def notify_owners(*, organization: Organization) -> None:
    """One notification for each owner, if there is anything new."""
    endpoints = take_unreported_failures(organization=organization)
    if not endpoints:
        return
    members = Membership.objects.of(organization).filter(role=Role.OWNER, is_active=True, user__is_active=True)
    owners = list(members.select_related("user", "mail_preference"))
    context = {"organization": organization.name, "endpoints": [endpoint_summary(endpoint) for endpoint in endpoints]}
    enqueue(organization=organization, kind=Kind.ENDPOINTS_FAILING, recipients=owners, context=context)


def endpoint_summary(endpoint: Endpoint) -> dict[str, str]:
    """An endpoint in the digest."""
    if endpoint.is_active:
        state = f"No delivery has succeeded since {endpoint.failing_since:%d %B %Y, %H:%M} UTC ({endpoint.failures} failures); still trying."
    else:
        state = f"Disabled: {endpoint.disabled_reason}. Nothing is sent to it any more."
    return {"id": str(endpoint.pk), "name": str(endpoint), "state": state}

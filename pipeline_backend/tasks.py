"""Tasks that compose several apps, and those of `organizations`, which has no tasks of its own."""

from celery import shared_task
from django.db import transaction

from accounts.new_password import prune_password_resets
from accounts.sessions import SessionStore
from appointments.services import prune_remembered_cancellations
from foundation.outbox import WAKE_UP_TASK, dispatch, load_queues
from leads.imports.services import prune_imports
from notifications.models import Kind
from notifications.services import build_notifications, insert_notifications, prune_notifications
from organizations.idempotency import prune_responses
from organizations.models import IS_ACTIVE_MEMBER, MemberRole, Membership, Organization
from organizations.security_log import prune_admin_log, prune_security_events
from organizations.services import for_each_organization
from webhooks.models import Endpoint
from webhooks.services import take_unreported_failures


@shared_task(name=WAKE_UP_TASK)
def deliver_due(model: str, group_id: str) -> None:
    for queue in load_queues():
        if queue.model._meta.label_lower == model:
            dispatch(queue, group_id)


@shared_task(name="webhooks.send_endpoint_digest")
def send_endpoint_digest() -> None:
    """Notify the owners of every active organization about failing endpoints they don't know of yet."""
    for_each_organization(notify_owners, Organization.objects.filter(is_active=True))


@shared_task(name="organizations.prune")
def prune_organizations() -> None:
    prune_security_events()
    prune_admin_log()
    prune_password_resets()
    SessionStore.clear_expired()
    for_each_organization(prune_notifications, Organization.objects.all())
    for_each_organization(prune_imports, Organization.objects.all())
    for_each_organization(prune_responses, Organization.objects.all())
    for_each_organization(prune_remembered_cancellations, Organization.objects.all())


# Remove after 0.3: messages that version 0.2 has published carry the names below.
@shared_task(name="webhooks.drain")
def deliver_to_endpoint(endpoint_id: str) -> None:
    deliver_due("webhooks.delivery", endpoint_id)


@shared_task(name="notifications.drain")
def notify_organization(organization_id: str) -> None:
    deliver_due("notifications.notification", organization_id)


@shared_task(name="digest.send")
def send_digest() -> None:
    send_endpoint_digest()


@shared_task(name="webhooks.sweep")
def sweep_deliveries() -> None:
    """Do nothing: dispatchers look for due jobs themselves."""


@shared_task(name="notifications.sweep")
def sweep_notifications() -> None:
    """Do nothing: dispatchers look for due jobs themselves."""


@transaction.atomic
def notify_owners(*, organization: Organization) -> None:
    """Enqueue one notification for each active owner, however many endpoints fail (docs/interface.md, N8)."""
    endpoints = take_unreported_failures(organization=organization)
    if not endpoints:
        return
    members = Membership.objects.of(organization).filter(IS_ACTIVE_MEMBER, role=MemberRole.OWNER)
    owners = list(members.select_related("user", "mail_preference"))
    context = {"organization": organization.name, "endpoints": [endpoint_summary(endpoint) for endpoint in endpoints]}
    kind = Kind.ENDPOINTS_FAILING
    insert_notifications(build_notifications(organization=organization, kind=kind, recipients=owners, context=context))


def endpoint_summary(endpoint: Endpoint) -> dict[str, str]:
    if endpoint.is_active:
        since = f"{endpoint.failing_since:%d %B %Y, %H:%M} UTC"
        state = f"No delivery has succeeded since {since} ({endpoint.failures} failures); still trying."
    else:
        state = f"Disabled: {endpoint.disabled_reason}. Nothing is sent to it any more."
    return {"id": str(endpoint.pk), "name": str(endpoint), "state": state}

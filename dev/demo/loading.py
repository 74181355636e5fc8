"""Creates the demo's two organizations in the first run, and finds them again in later ones."""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction

from appointments.services import book
from dev.demo.organization import HARBOR, NORTHWIND, OrganizationSpec, find_organization, set_up_organization
from dev.demo.scenario import FIRST_DAY, Scenario, fake_now
from foundation.db.timestamps import now
from notifications.lead_messages import save_lead_message
from notifications.models import LEAD_KINDS, LeadMessage
from organizations.actors import SYSTEM
from organizations.keys import parse_key
from organizations.models import ApiKey, Membership, Organization, User
from organizations.services import change_member, issue_key, save_user
from webhooks.models import Endpoint
from webhooks.services import add_endpoint, change_endpoint

KEY_NAME = "Demo"
# Description and event types ([]: all) by path. The second has no receiver, so its deliveries fail.
LOCAL_ENDPOINTS: dict[str, tuple[str, list[str]]] = {
    "/local/inbox": ("Inbox of the local run", []),
    "/local/removed": ("A receiver that no longer exists", ["lead.created"]),
}


@dataclass(frozen=True)
class Demo:
    """`key_text` is the organization's API key, known only in the run that created it."""

    organization: Organization
    key_text: str | None

    @property
    def owner(self) -> User:
        return User.objects.get(email=NORTHWIND.email())


@transaction.atomic
def load() -> Demo:
    """Return the demo, created if there is none, together with a second, small organization.

    Everything is created in one transaction, so that an interrupted run leaves nothing behind.
    """
    existing = find_organization(NORTHWIND)
    if existing:
        return Demo(existing, None)
    demo = create(NORTHWIND, leads=40)
    # The second organization shows that the first one's users and key can't see its rows.
    if find_organization(HARBOR) is None:
        create(HARBOR, leads=5)
    return demo


def create(spec: OrganizationSpec, leads: int) -> Demo:
    """Create an organization, and play the scenario for this number of leads without notifying anyone."""
    with fake_now(now() + timedelta(days=FIRST_DAY)):
        organization = set_up_organization(spec)
        api_key, key_text = issue_key(organization=organization, name=KEY_NAME)
    # Mail is switched off while it runs. Webhooks need no switch: there are no endpoints yet.
    set_mail_enabled(organization, enabled=False)
    Scenario(organization, api_key).play(leads)
    set_mail_enabled(organization, enabled=True)
    for kind in LEAD_KINDS:
        message = LeadMessage(organization=organization, kind=kind, is_active=True)
        save_lead_message(organization=organization, actor=SYSTEM, lead_message=message)
    return Demo(organization, key_text)


def set_mail_enabled(organization: Organization, *, enabled: bool) -> None:
    for member in Membership.objects.of(organization):
        change_member(actor=SYSTEM, member=member, wants_mail=enabled)


def connect_inbox(demo: Demo) -> None:
    """In a local run, send the demo's webhooks to the local inbox, also after its address has changed.

    The first time, also add an endpoint whose deliveries fail, and book an appointment, so that there are webhooks and
    an e-mail to look at. Endpoints that a user has disabled stay disabled.
    """
    if not (settings.LOCAL_RUN and settings.WEBHOOKS_ALLOW_PRIVATE):
        return
    base_url, organization = settings.BASE_URL, demo.organization
    endpoints = list(Endpoint.objects.of(organization).filter(url__regex=f"({'|'.join(LOCAL_ENDPOINTS)})$"))
    for endpoint in endpoints:
        unchanged = {name: getattr(endpoint, name) for name in ("description", "event_types", "is_active")}
        change_endpoint(endpoint=endpoint, url=base_url + urlsplit(endpoint.url).path, **unchanged)
    if endpoints:
        return
    for path, (description, types) in LOCAL_ENDPOINTS.items():
        add_endpoint(organization=organization, url=base_url + path, description=description, event_types=types)
    book(
        organization=organization,
        actor=SYSTEM,
        external_reference="demo-first",
        schedule_time=Scenario(organization, None).at(1, 15).replace(minute=0, second=0),
        lead_email="sam.rivera@example.com",
        lead_first_name="Sam",
        event_type_name="Strategy call",
        host_email=demo.owner.email,
    )


def working_key(demo: Demo, stored_key: object) -> str:
    """Return the stored key if it still works, else the key of this run, else a new one."""
    if parsed := parse_key(str(stored_key)):
        keys = ApiKey.objects.of(demo.organization).filter(key_id=parsed.key_id, secret_hash=parsed.secret_hash)
        if any(key.is_live for key in keys):
            return parsed.text
    return demo.key_text or issue_key(organization=demo.organization, name=KEY_NAME)[1]


def working_password(demo: Demo, stored_password: object = None) -> str:
    """Return the stored password if the owner can sign in with it, else a new one."""
    user = demo.owner
    if isinstance(stored_password, str) and user.check_password(stored_password):
        return stored_password
    password = secrets.token_urlsafe(12)
    user.set_password(password)
    save_user(actor=SYSTEM, user=user, changed=["password"])
    return password

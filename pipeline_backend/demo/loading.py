"""Creates the demo's two organizations in the first run, and finds them again in later ones."""

from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from organizations.models import ApiKey, Organization
from organizations.services import issue_key
from pipeline_backend.demo.clock import fake_now
from pipeline_backend.demo.organization_setup import (
    HARBOR,
    NORTHWIND,
    OrganizationSpec,
    find_organization,
    load_organization,
    set_mail_enabled,
    set_up_organization,
)
from pipeline_backend.demo.scenario import Scenario, organization_created_at, run_steps
from webhooks.models import Endpoint
from webhooks.services import add_endpoint, change_endpoint

NORTHWIND_LEADS = 40
HARBOR_LEADS = 5
INBOX_PATH = "/local/inbox"
KEY_NAME = "Demo"


@dataclass(frozen=True)
class Demo:
    """The demo organization. `key_text` is its API key, known only in the run that created it."""

    organization: Organization
    key_text: str | None

    @property
    def is_new(self) -> bool:
        """Whether this run created the organization."""
        return self.key_text is not None


@transaction.atomic
def load() -> Demo:
    """Return the demo, created if there is none, together with a second, small organization.

    Everything is created in one transaction, so that an interrupted run leaves nothing behind.
    """
    existing = find_organization(NORTHWIND)
    if existing:
        return Demo(existing, None)
    with fake_now(organization_created_at()):
        organization = set_up_organization(NORTHWIND)
        api_key, key_text = issue_key(organization=organization, name=KEY_NAME)
    play_scenario(NORTHWIND, organization, api_key, NORTHWIND_LEADS)
    # The second organization shows that the first one's users and key can't see its rows.
    if find_organization(HARBOR) is None:
        with fake_now(organization_created_at()):
            harbor = set_up_organization(HARBOR)
        play_scenario(HARBOR, harbor, None, HARBOR_LEADS)
    return Demo(organization, key_text)


def play_scenario(spec: OrganizationSpec, organization: Organization, api_key: ApiKey | None, leads: int) -> None:
    """Run the scenario for this number of leads without notifying anybody."""
    # Mail is switched off while it runs. Webhooks need no switch: there are no endpoints yet.
    set_mail_enabled(organization, enabled=False)
    data = load_organization(organization, api_key)
    run_steps(Scenario(data, seed=spec.name).steps(leads))
    set_mail_enabled(organization, enabled=True)


def register_inbox(demo: Demo) -> None:
    """In a local run, send the demo's webhooks to the local inbox, and follow it if the address has changed.

    Users who don't want that disable the endpoint; it stays disabled.
    """
    if not (settings.LOCAL_RUN and settings.WEBHOOKS_ALLOW_PRIVATE):
        return
    url = settings.BASE_URL + INBOX_PATH
    endpoints = list(Endpoint.objects.of(demo.organization).filter(url__endswith=INBOX_PATH))
    if not endpoints:
        add_endpoint(organization=demo.organization, url=url, description="Inbox of the local run")
    for endpoint in endpoints:
        if endpoint.url != url:
            change_endpoint(
                endpoint=endpoint,
                url=url,
                description=endpoint.description,
                event_types=endpoint.event_types,
                is_active=endpoint.is_active,
            )

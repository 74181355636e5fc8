"""The demo as a whole: opened and lived through once, found again afterwards."""

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
    """The demo's organization; the key only from the run that has issued it."""

    organization: Organization
    key_text: str | None

    @property
    def is_new(self) -> bool:
        """True if this run has opened it."""
        return self.key_text is not None


@transaction.atomic
def load() -> Demo:
    """The demo, opened if it isn't there yet, together with a second, small organization; all of it or nothing."""
    found = find_organization(NORTHWIND)
    if found:
        return Demo(found, None)
    with fake_now(organization_created_at()):
        organization = set_up_organization(NORTHWIND)
        key, text = issue_key(organization=organization, name=KEY_NAME)
    play_scenario(NORTHWIND, organization, key, NORTHWIND_LEADS)
    if find_organization(HARBOR) is None:
        with fake_now(organization_created_at()):
            neighbor = set_up_organization(HARBOR)
        play_scenario(HARBOR, neighbor, None, HARBOR_LEADS)
    return Demo(organization, text)


def play_scenario(firm: OrganizationSpec, organization: Organization, key: ApiKey | None, leads: int) -> None:
    """Live through its story; nobody is mailed about it, and no endpoint is there yet to receive it."""
    set_mail_enabled(organization, wanted=False)
    run_steps(Scenario(load_organization(organization, key), seed=firm.name).steps(leads))
    set_mail_enabled(organization, wanted=True)


def register_inbox(demo: Demo) -> None:
    """In a local run, the demo's events go to our own inbox, wherever that is today; who doesn't want it disables the endpoint."""
    if not (settings.LOCAL_RUN and settings.WEBHOOKS_ALLOW_PRIVATE):
        return
    url, found = (
        settings.BASE_URL + INBOX_PATH,
        list(Endpoint.objects.of(demo.organization).filter(url__endswith=INBOX_PATH)),
    )
    if not found:
        add_endpoint(organization=demo.organization, url=url, description="Inbox of the local run")
    for endpoint in found:
        if endpoint.url != url:
            change_endpoint(
                endpoint=endpoint,
                url=url,
                description=endpoint.description,
                types=endpoint.event_types,
                is_active=endpoint.is_active,
            )

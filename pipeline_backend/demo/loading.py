"""The demo as a whole: opened and lived through once, found again afterwards."""

from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from organizations.models import ApiKey, Organization
from organizations.services import issue_key
from pipeline_backend.demo.clock import at
from pipeline_backend.demo.opening import HARBOR, NORTHWIND, Firm, find, let_mails, look_around, open_firm
from pipeline_backend.demo.story import Plot, live, opening_day
from webhooks.models import Endpoint
from webhooks.services import add_endpoint, change_endpoint

LEADS = 40
HARBOR_LEADS = 5
INBOX = "/local/inbox"
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
    found = find(NORTHWIND)
    if found:
        return Demo(found, None)
    with at(opening_day()):
        organization = open_firm(NORTHWIND)
        key, text = issue_key(organization=organization, name=KEY_NAME)
    tell(NORTHWIND, organization, key, LEADS)
    if find(HARBOR) is None:
        with at(opening_day()):
            neighbor = open_firm(HARBOR)
        tell(HARBOR, neighbor, None, HARBOR_LEADS)
    return Demo(organization, text)


def tell(firm: Firm, organization: Organization, key: ApiKey | None, leads: int) -> None:
    """Live through its story; nobody is mailed about it, and no endpoint is there yet to receive it."""
    let_mails(organization, wanted=False)
    live(Plot(look_around(organization, key), seed=firm.name).steps(leads))
    let_mails(organization, wanted=True)


def show_inbox(demo: Demo) -> None:
    """In a local run, the demo's events go to our own inbox, wherever that is today; who doesn't want it disables the endpoint."""
    if not (settings.LOCAL_RUN and settings.WEBHOOKS_ALLOW_PRIVATE):
        return
    url, found = settings.BASE_URL + INBOX, list(Endpoint.objects.of(demo.organization).filter(url__endswith=INBOX))
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

"""A new SECRET_KEY: links, sessions and cookies made with the old one work while it is a fallback, and not longer."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from accounts.sign_in_limits import COOKIE, known_browser_id
from foundation.db.timestamps import now
from notifications.models import MailPreference
from organizations.models import Membership, Organization, User
from tests.accounts import deliver_mail, invite_and_read_link, is_signed_in, links_mailed_to, request_reset, sign_in
from tests.client import ApiClient
from tests.factories import make_member, owner_of
from tests.jobs import send_notifications
from tests.staff.pages import logged_in_client

PASSWORD = "secret-of-tests"
SECOND_FACTOR = "/admin/second-factor/"


def unsubscribe_links(emails: list[Any]) -> list[str]:
    """Return the path of the unsubscribe link of each e-mail that has one."""
    headers = [email.extra_headers.get("List-Unsubscribe", "") for email in emails]
    return [urlsplit(header.strip("<>")).path for header in headers if header]


def is_browser_known(client: Client, user: User) -> bool:
    request = client.get("/admin/login/").wsgi_request
    request.COOKIES[COOKIE] = client.cookies[COOKIE].value
    return known_browser_id(request, user) != ""


def count_sessions(client: Client) -> int:
    response = client.get("/admin/account/sessions/")
    return len(response.context["sessions"]) if response.status_code == 200 else 0


@pytest.mark.parametrize("is_fallback", [True, False])
def test_what_the_old_key_has_signed_is_valid_while_it_is_a_fallback(
    is_fallback: bool,
    api: ApiClient,
    organization: Organization,
    host: Membership,
    mailoutbox: list[Any],
    settings: Any,
) -> None:
    api.book(host_email=host.user.email)
    send_notifications(str(organization.pk))
    owner = logged_in_client(owner_of(organization))
    invitation = invite_and_read_link(owner, organization, "nina@acme.example")
    notification_link, invitation_link = unsubscribe_links(mailoutbox)
    browser, other_browser = sign_in(host.user.email, PASSWORD), sign_in(host.user.email, PASSWORD)
    member = make_member(organization, "oscar@acme.example").user
    User.objects.filter(pk=member.pk).update(two_factor_enabled_at=now())
    member.refresh_from_db()
    with_second_factor, with_password = Client(), sign_in(member.email, PASSWORD)
    with_second_factor.force_login(member)
    request_reset("owner@acme.example")
    deliver_mail()
    (reset,) = links_mailed_to("owner@acme.example")

    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY] if is_fallback else []
    settings.SECRET_KEY = "new-" + "y" * 50

    works = {
        "invitation": Client().get(invitation).status_code == 200,
        "reset link": "new_password1" in Client().get(reset, follow=True).content.decode(),
        "unsubscribe link of a notification": Client().get(notification_link).status_code == 200,
        "unsubscribe link of an invitation": Client().get(invitation_link).status_code == 200,
        "known browser": is_browser_known(browser, host.user),
        "session": is_signed_in(browser),
        "session with two-factor sign-in": is_signed_in(with_second_factor),
        "password entered, code not yet": with_password.get(SECOND_FACTOR).status_code == 200,
        "other session in the list": count_sessions(browser) == 2,
        "other session": is_signed_in(other_browser),
    }
    assert set(works.values()) == {is_fallback}, works
    # Keys are stored as hashes that don't depend on SECRET_KEY.
    assert api.get("/api/external/leads").status_code == 200
    assert not MailPreference.objects.of(organization).exists()


def test_a_session_goes_on_under_the_new_key_after_its_next_request(host: Membership, settings: Any) -> None:
    browser, unused = sign_in(host.user.email, PASSWORD), sign_in(host.user.email, PASSWORD)
    old_key = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new-" + "y" * 50, [old_key]
    assert is_signed_in(browser)

    settings.SECRET_KEY_FALLBACKS = []

    assert (is_signed_in(browser), is_signed_in(unused)) == (True, False)

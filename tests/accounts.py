"""Helpers of the tests of accounts: what a mailbox gets, and what a person does with a link. HTTP requests only."""

import re
import threading
from collections.abc import Callable
from typing import Any

from django.core import mail
from django.db import connections
from django.test import Client

from accounts.mail import PASSWORD_RESETS
from foundation.api.emails import mail_address
from organizations.models import Invitation, MemberRole, Organization, PasswordReset
from tests.jobs import send_jobs

PASSWORD = "correct horse battery"
LINK = re.compile(r"https?://[^/\s]+(/admin/(?:invitation|password-reset|account/verify)/\S+)")
ADD_INVITATION = "/admin/organizations/invitation/add/"


def post_invitation(client: Client, email: str, role: str = MemberRole.SETTER) -> Any:
    """Send the form that invites an address."""
    return client.post(ADD_INVITATION, {"email": email, "role": role, "_save": "Save"})


def links_mailed_to(email: str) -> list[str]:
    """Return the paths of all links in the mailbox of this address, the oldest first."""
    messages = [message for message in mail.outbox if message.to == [mail_address(email)]]
    return [link for message in messages for link in LINK.findall(str(message.body))]


def deliver_mail(*organizations: Organization) -> None:
    """Do what a worker does: mail due invitations of these organizations, and all due links for new passwords."""
    for organization in organizations:
        send_jobs(Invitation, organization.pk)
    for id in PASSWORD_RESETS.due_groups():
        send_jobs(PasswordReset, id)


def invite_and_read_link(client: Client, organization: Organization, email: str, role: str = MemberRole.SETTER) -> str:
    """Invite the address as the signed-in client, and return the path of the link that its mailbox gets."""
    post_invitation(client, email, role)
    deliver_mail(organization)
    return links_mailed_to(email)[-1]


def accept(client: Client, link: str, password: str = PASSWORD, **fields: str) -> Any:
    """Open the link and accept, with a name and a password for those who are asked for them."""
    client.get(link)
    names = {"first_name": "Nina", "last_name": "New"}
    return client.post(link, {**names, "new_password1": password, "new_password2": password, **fields})


def sign_in(email: str, password: str = PASSWORD, client: Client | None = None) -> Client:
    """Send the sign-in form, and return the client."""
    client = client or Client()
    client.post("/admin/login/", {"username": email, "password": password})
    return client


def is_signed_in(client: Client) -> bool:
    """Return whether the client may use the admin."""
    return bool(client.get("/admin/").status_code == 200)


def request_reset(email: str) -> Any:
    """Ask for a link for a new password."""
    return Client().post("/admin/password-reset/", {"email": email})


def choose_password(link: str, password: str = PASSWORD, client: Client | None = None) -> Any:
    """Open a link for a new password and send the form. Return the last response."""
    client = client or Client()
    page = client.get(link, follow=True)
    return client.post(page.request["PATH_INFO"], {"new_password1": password, "new_password2": password})


def run_together(*requests: Callable[[], object]) -> None:
    """Run the requests at the same time, each on a connection of its own."""
    barrier = threading.Barrier(len(requests))

    def run(request: Callable[[], object]) -> None:
        barrier.wait()
        try:
            request()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=[request]) for request in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

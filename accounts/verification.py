"""Verifying an address: a person who is signed in opens a link that was mailed to it.

That takes both the password and the mailbox, so it never gives an account to someone else: no password or session ends.
"""

from datetime import timedelta

from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from uuid_utils.compat import uuid7

from accounts.pages import account_page
from accounts.two_factor import locked
from foundation.api.exceptions import Conflict
from foundation.db.timestamps import now
from foundation.outbox import notify_on_commit
from organizations.models import PasswordReset, SecurityEventKind, User
from organizations.permissions import current_user
from organizations.security_log import record_security_event

SALT = "accounts.verification"
LINKS_PER_HOUR = 3  # the mailbox may be another person's


def request_verification(*, user: User) -> None:
    """Mail a link to the user's address. Locks the user. Raises Conflict if it is verified, or at `LINKS_PER_HOUR`."""
    with locked(user) as stored:
        if stored.email_verified_at:
            raise Conflict("Your address is verified already.")
        recent = PasswordReset.objects.filter(user=user, is_verification=True)
        if recent.filter(created_at__gt=now() - timedelta(hours=1)).count() >= LINKS_PER_HOUR:
            raise Conflict("We have sent you several links already. Check your spam folder, or wait an hour.")
        id = uuid7()
        PasswordReset.objects.create(id=id, group_id=id, email=stored.email, user=user, is_verification=True)
        notify_on_commit(PasswordReset, id)


def verification_link(user: User) -> str:
    token = signing.dumps([user.pk, user.email], salt=SALT)
    return f"{settings.BASE_URL}{reverse('admin:verify_address', args=[token])}"


def verify_address(*, user: User, token: str) -> bool:
    """Verify the link's address. Returns False if the link has expired or is for another address. Locks the user."""
    try:
        recipient = signing.loads(token, salt=SALT, max_age=settings.PASSWORD_RESET_TIMEOUT)
    except signing.BadSignature:
        return False
    with locked(user) as stored:
        if recipient != [stored.pk, stored.email]:
            return False
        if stored.email_verified_at is None:
            stored.email_verified_at = now()
            stored.save(update_fields=["email_verified_at"])
            record_security_event(SecurityEventKind.EMAIL_VERIFIED, user=user)
    return True


@never_cache
def verify_address_page(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for confirmation, because mail filters open links; a POST verifies."""
    if request.method != "POST":
        return account_page(request, "verify_address", "Verify your address")
    if verify_address(user=current_user(request), token=token):
        messages.success(request, "Your address is verified.")
    else:
        messages.error(request, "This link has expired, or is for another account. Ask for a new one.")
    return redirect("admin:two_factor")

"""Two-factor sign-in: an authenticator app's code after the password, or one of ten recovery codes.

The tables of keys and codes are closed to requests; only this module reads them, for the signed-in or signing-in user.
`User.two_factor_enabled_at` says whether it is on. A session's hash contains it, so switching it on or off ends all
other sessions.
"""

import base64
import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.http import HttpRequest

from accounts.sign_in_limits import known_browser_id
from foundation.api.client_address import client_address
from foundation.api.exceptions import Conflict
from foundation.api.rate_limits import is_attempt_allowed
from foundation.db.timestamps import now
from organizations.isolation import bypass_rls
from organizations.models import RecoveryCode, SecurityEventKind, TotpDevice, User
from organizations.security_log import record_security_event

RECOVERY_CODES = 10
ATTEMPTS_PER_MINUTE = 10
# After this many wrong codes in a row the user gets an e-mail, because another person may know the password.
MAIL_AFTER_FAILURES = 5
OFF = "Two-factor sign-in is off."
# Also after a right code that came too soon after a wrong one.
WRONG_CODE = "This code is wrong or was used before. Wait for the next one, then try again."


def is_code_check_allowed(request: HttpRequest, user: User) -> bool:
    """Count an attempt to enter a code; return whether to check it.

    Counted by known browser, else by address: another person who knows the password must not block recovery codes.
    """
    key = f"{user.pk} {known_browser_id(request, user) or client_address(request.META)}"
    return is_attempt_allowed(request, group="second-factor", key=key, limit=ATTEMPTS_PER_MINUTE)


def is_required(user: User) -> bool:
    return any(member.requires_two_factor for member in user.active_memberships)


@contextmanager
def locked(user: User) -> Iterator[User]:
    """Lock the user, yield them as stored, and open the closed tables, until the transaction ends with the block."""
    with bypass_rls(), transaction.atomic():
        yield User.objects.select_for_update(no_key=True).get(pk=user.pk)


def check_can_enrol(stored: User) -> None:
    if stored.two_factor_enabled_at is not None:
        raise Conflict("Two-factor sign-in is already on.")
    # The second factor of a person with another one's address would keep the other one out.
    if stored.email_verified_at is None:
        raise Conflict("Confirm your e-mail address first: we'll send you a link.")


def check_credentials(stored: User, user: User) -> None:
    """Raise Conflict if the account has changed since the caller checked the password: their session has ended then."""
    if not stored.has_credentials_of(user):
        raise Conflict("Your session has ended. Sign in again.")


def start_enrolment(*, user: User) -> str:
    """Store and return an unconfirmed key. Locks the user. Raises Conflict if it is on, or the address unverified."""
    key = base64.b32encode(secrets.token_bytes(20)).decode()
    with locked(user) as stored:
        check_can_enrol(stored)
        check_credentials(stored, user)
        # A new one each time: another person may have seen the last one in a session that is not theirs.
        TotpDevice.objects.update_or_create(user=user, defaults={"key": key, "last_step": -1, "confirmed": False})
    return key


def pending_key(user: User) -> str:
    with bypass_rls():
        return str(TotpDevice.objects.filter(user=user, confirmed=False).values_list("key", flat=True).first() or "")


def confirm_enrolment(*, user: User, code: str) -> list[str]:
    """Switch two-factor sign-in on, and return new recovery codes, which are not stored; none for a wrong code.

    The caller has checked the password. Locks the user. Raises Conflict as `start_enrolment` does.
    """
    with locked(user) as stored:
        check_can_enrol(stored)
        check_credentials(stored, user)
        device = TotpDevice.objects.filter(user=user).first()
        if device is None or not device.verify_token(code):
            return []  # not an error, which would undo that the wrong code was counted
        device.confirmed = True
        device.save()
        user.two_factor_enabled_at = now()
        user.save(update_fields=["two_factor_enabled_at"])
        record_security_event(SecurityEventKind.TWO_FACTOR_ENABLED, user=user)
        return store_recovery_codes(user)


def disable(*, user: User, code: str) -> bool:
    """Switch two-factor sign-in off. Returns False for a wrong code.

    The caller has checked the password. Locks the user. Raises Conflict if it is off, or an organization requires it.
    """
    with locked(user) as stored:
        if stored.two_factor_enabled_at is None:
            raise Conflict(OFF)
        check_credentials(stored, user)
        if is_required(stored):
            raise Conflict("An organization that you belong to requires two-factor sign-in.")
        if not verify(user, code):
            return False
        switch_off(user, SecurityEventKind.TWO_FACTOR_DISABLED)
        return True


def reset_two_factor(*, user: User) -> bool:
    """Switch it off for a person who has lost app and codes; False if it was off. For operators. Locks the user."""
    with locked(user) as stored:
        if stored.two_factor_enabled_at is None:
            return False
        switch_off(user, SecurityEventKind.TWO_FACTOR_RESET)
        return True


def replace_recovery_codes(*, user: User, code: str) -> list[str]:
    """Return ten new recovery codes, none for a wrong code. Locks the user. Raises Conflict if two-factor is off."""
    with locked(user) as stored:
        if stored.two_factor_enabled_at is None:
            raise Conflict(OFF)
        check_credentials(stored, user)
        if not verify(user, code):
            return []
        record_security_event(SecurityEventKind.RECOVERY_CODES_REPLACED, user=user)
        return store_recovery_codes(user)


def verify_second_factor(*, user: User, code: str) -> bool:
    """Return whether this is a code of the user's app or an unused recovery code; it can't be used again."""
    with locked(user) as stored:
        return stored.two_factor_enabled_at is not None and verify(user, code)


def unused_recovery_codes(user: User) -> int:
    with bypass_rls():
        return RecoveryCode.objects.filter(user=user, used_at=None).count()


def verify(user: User, code: str) -> bool:
    """Check a code of either kind, use it up and log the result. The caller has locked the user."""
    code = "".join(character for character in code.lower() if character.isalnum())[:64]
    # Not counted as a failure of the app: 80 bits can't be guessed, and so a recovery code always helps.
    if RecoveryCode.objects.filter(user=user, code_hash=hash_code(code), used_at=None).update(used_at=now()):
        record_security_event(SecurityEventKind.RECOVERY_CODE_USED, user=user, actor=user)
        return True
    device = TotpDevice.objects.get(user=user)
    failures = device.throttling_failure_count
    if device.verify_token(code):
        return True
    # A code that comes too soon isn't counted, and the count stays.
    is_mailed = failures < device.throttling_failure_count == MAIL_AFTER_FAILURES
    record_security_event(SecurityEventKind.TWO_FACTOR_FAILED, user=user, is_mailed=is_mailed)
    return False


def store_recovery_codes(user: User) -> list[str]:
    RecoveryCode.objects.filter(user=user).delete()
    codes = [base64.b32encode(secrets.token_bytes(10)).decode().lower() for _ in range(RECOVERY_CODES)]
    RecoveryCode.objects.bulk_create([RecoveryCode(user=user, code_hash=hash_code(code)) for code in codes])
    return ["-".join(code[start : start + 4] for start in range(0, len(code), 4)) for code in codes]


def hash_code(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()


def switch_off(user: User, kind: SecurityEventKind) -> None:
    TotpDevice.objects.filter(user=user).delete()
    RecoveryCode.objects.filter(user=user).delete()
    user.two_factor_enabled_at = None
    user.save(update_fields=["two_factor_enabled_at"])
    record_security_event(kind, user=user)

"""Limits on guessing passwords. They neither lock a person out nor show whether an account exists.

A browser is known for an account if a person has signed in to the account there, or chosen its password. Attempts from
a known browser count against this browser and account alone, so other people can't keep it out.

Every other attempt is a stranger's. It counts, in this order, against

1. the client's address. Past this limit nothing else is counted, so a client can't use up the limits of many accounts.
   An address has a higher limit for a week after a successful sign-in, because several people may share it.
2. the account and the typed name. All spellings that could find one account share a count; a name without an account
   is counted in the same way, with the same work.

A stranger who uses up an account's limit keeps its owner out of new browsers only, and the owner can always reset the
password, which makes a browser known.

A signed cookie identifies a known browser: the account's id, a random id of the browser and a digest of the password's
hash, so it is useless after a change of password. It proves no identity; it only selects the limit and the place to
hash (`accounts.passwords`).
"""

import unicodedata
from collections.abc import Mapping

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, get_random_string, salted_hmac

from foundation.api.client_address import client_address
from foundation.api.rate_limits import is_attempt_allowed, is_remembered, remember
from organizations.models import User

# Per minute. An office shares an address and has some wrong passwords among its sign-ins. Behind an address without any
# success is a person with a forgotten password or one who guesses, so it gets no more attempts than an account.
ATTEMPTS_PER_ADDRESS = 30
ATTEMPTS_PER_ADDRESS_THAT_FAILS = 10
SUCCESSES, SUCCESS_SECONDS = "sign-in-success", 7 * 24 * 3600
ATTEMPTS_PER_ACCOUNT = 10
ATTEMPTS_PER_KNOWN_BROWSER = 10
PASSWORD_CHANGES = 5
TOO_MANY_ATTEMPTS = "Too many attempts. Wait a minute, then try again."

COOKIE = "known_browser"
COOKIE_SECONDS = 365 * 24 * 3600
SALT = "accounts.sign_in_limits"
ACCOUNTS_PER_BROWSER = 5


def fold_name(name: str) -> str:
    """Return one text for all spellings of a name that any comparison could find equal.

    Compatibility forms, letter case and marks on letters are removed. Upper case comes first, because some letters are
    equal in upper case alone: the upper case of the dotless i is I.
    """
    decomposed = unicodedata.normalize("NFKD", name.strip())
    letters = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return unicodedata.normalize("NFKD", letters.upper().casefold())


def is_sign_in_allowed(request: HttpRequest, name: str, account: User | None) -> bool:
    """Count an attempt to sign in under this name, which has found this account or none; return whether to check it."""
    browser = known_browser_id(request, account)
    if account and browser:
        key = f"{account.pk} {browser}"
        return is_attempt_allowed(request, group="sign-in-browser", key=key, limit=ATTEMPTS_PER_KNOWN_BROWSER)
    address = client_address(request.META)
    limit = ATTEMPTS_PER_ADDRESS if is_remembered(SUCCESSES, address) else ATTEMPTS_PER_ADDRESS_THAT_FAILS
    if not is_attempt_allowed(request, group="sign-in-address", key=address, limit=limit):
        return False
    name = fold_name(name)
    account_key = account.pk if account else name
    is_name_allowed = is_attempt_allowed(request, group="sign-in-name", key=name, limit=ATTEMPTS_PER_ACCOUNT)
    is_allowed = is_attempt_allowed(request, group="sign-in-account", key=account_key, limit=ATTEMPTS_PER_ACCOUNT)
    return is_allowed and is_name_allowed


def is_old_password_check_allowed(request: HttpRequest, user: User) -> bool:
    """Count an attempt, by browser: a stolen session must not keep its person out. Return whether to check it."""
    key = f"{user.pk} {known_browser_id(request, user)}"
    return is_attempt_allowed(request, group="password-change", key=key, limit=PASSWORD_CHANGES)


def password_digest(password_hash: str, secret: str | None = None) -> str:
    """Return a digest that changes with the password and reveals nothing of it. `secret` is SECRET_KEY by default."""
    return salted_hmac(SALT, password_hash, secret=secret, algorithm="sha256").hexdigest()[:32]


def read_cookie(cookies: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the browser's id and the digests by account id; "" and none for a missing or forged cookie."""
    try:
        browser, digests = signing.loads(cookies.get(COOKIE, ""), salt=SALT, max_age=COOKIE_SECONDS)
    except (signing.BadSignature, ValueError):
        return "", {}
    return browser, digests


def client_of(request: HttpRequest) -> str:
    """Return the id of the account that has signed in last in this browser, or the client's address.

    Not the browser's id: a person with an account can make many of these.
    """
    _, digests = read_cookie(request.COOKIES)
    return next(reversed(digests), "") or client_address(request.META)


def known_browser_id(request: HttpRequest, account: User | None) -> str:
    """Return the browser's id if it has signed in as this account since the last change of password, else ""."""
    browser, digests = read_cookie(request.COOKIES)
    # Also compared for no account, so that the time is the same.
    digest, password = (digests.get(account.pk, ""), account.password) if account else ("", "")
    valid = [password_digest(password, secret) for secret in (None, *settings.SECRET_KEY_FALLBACKS)]
    return browser if any(constant_time_compare(digest, other) for other in valid) else ""


def remember_browser(request: HttpRequest, user: User, response: HttpResponse) -> None:
    """Set the cookie of a browser whose person has just proved who they are; remember the client's address, too."""
    remember(SUCCESSES, client_address(request.META), SUCCESS_SECONDS)
    browser, digests = read_cookie(request.COOKIES)
    # The newest last; a browser shared by many people forgets the oldest.
    others = [(pk, digest) for pk, digest in digests.items() if pk != user.pk][1 - ACCOUNTS_PER_BROWSER :]
    value = [browser or get_random_string(22), dict([*others, (user.pk, password_digest(user.password))])]
    response.set_cookie(
        COOKIE,
        signing.dumps(value, salt=SALT),
        max_age=COOKIE_SECONDS,
        path="/admin/",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )

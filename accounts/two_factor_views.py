"""The pages of two-factor sign-in: the one after the password, and My account → Two-factor sign-in."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import segno
from django import forms
from django.contrib import messages
from django.contrib.admin.utils import quote as quote_pk
from django.contrib.auth import login, update_session_auth_hash
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_post_parameters
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget

from accounts import two_factor
from accounts.new_password import check_own_password
from accounts.pages import account_page, secret_page
from accounts.sign_in_limits import TOO_MANY_ATTEMPTS, remember_browser
from accounts.verification import request_verification
from foundation.api.exceptions import Conflict
from organizations.isolation import bypass_rls
from organizations.models import User
from organizations.permissions import current_user

PENDING_KEY = "pending_sign_in"
PENDING_SECONDS = 600
ISSUER = "Pipeline Backend"
# The pages that are open to users who must set up two-factor sign-in first. They show only the person's own account.
OPEN_PAGES = {"two_factor", "verify_address", "token", "logout", "jsi18n"}
OPEN_PAGES |= {"sessions", "password_change", "password_change_done"}

Result = TypeVar("Result")


class CodeForm(forms.Form):
    code = forms.CharField(
        max_length=64, widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "one-time-code", "autofocus": True})
    )


class PasswordAndCodeForm(CodeForm):
    """Asks for the password too: a person who finds an open session must not change how its owner signs in."""

    field_order = ("password", "code")
    password = forms.CharField(
        strip=False, widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "current-password"})
    )

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self.request = request
        super().__init__(*args, **kwargs)

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        check_own_password(self.request, current_user(self.request), password)
        return password


def ask_for_code(request: HttpRequest, user: User, *, next_url: str) -> HttpResponse:
    request.session.flush()  # drops the data of another user's session
    request.session[PENDING_KEY] = {
        "user": user.pk,
        "hash": user.get_session_auth_hash(),
        "until": timezone.now().timestamp() + PENDING_SECONDS,
        "next": next_url,
    }
    return HttpResponseRedirect(reverse("admin:second_factor"))


def pending_user(request: HttpRequest) -> User | None:
    """Return the user whose password was entered in this session in the last ten minutes, and is still valid."""
    pending = request.session.get(PENDING_KEY)
    if not pending or pending["until"] < timezone.now().timestamp():
        return None
    user = User.objects.filter(pk=pending["user"], is_active=True).first()
    return user if user is not None and user.is_session_hash(pending["hash"]) else None


@bypass_rls()  # as at sign-in: no scope is set yet in which the account could be found
@sensitive_post_parameters()
@csrf_protect
@never_cache
def second_factor_page(request: HttpRequest) -> HttpResponse:
    user = pending_user(request)
    if user is None:
        return HttpResponseRedirect(reverse("admin:login"))
    form = CodeForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        if not two_factor.is_code_check_allowed(request, user):
            form.add_error(None, TOO_MANY_ATTEMPTS)
        elif not two_factor.verify_second_factor(user=user, code=form.cleaned_data["code"]):
            form.add_error("code", two_factor.WRONG_CODE)
        else:
            response = HttpResponseRedirect(request.session.pop(PENDING_KEY)["next"])
            login(request, user, backend="django.contrib.auth.backends.ModelBackend")
            remember_browser(request, user, response)
            return response
    text = "Enter the code of your authenticator app, or a recovery code."
    return account_page(request, "page", "Second factor", form=form, text=text, button="Sign in")


def needs_two_factor(user: User, page: str | None) -> bool:
    """Return whether the user must set up two-factor sign-in before they use the page with this name."""
    return page not in OPEN_PAGES and user.two_factor_enabled_at is None and two_factor.is_required(user)


def require_two_factor(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    @wraps(view)
    def wrapper(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        name = request.resolver_match.url_name if request.resolver_match else None
        if needs_two_factor(current_user(request), name):
            messages.warning(request, "Your organization requires two-factor sign-in. Set it up to continue.")
            return HttpResponseRedirect(reverse("admin:two_factor"))
        return view(request, *args, **kwargs)

    return wrapper


@sensitive_post_parameters()
@never_cache
def two_factor_page(request: HttpRequest) -> HttpResponse:
    user = current_user(request)
    data = request.POST if request.method == "POST" else None
    # Every form counts, also those without a code: most are attempts at the password or a code.
    if data is not None and not two_factor.is_code_check_allowed(request, user):
        messages.error(request, TOO_MANY_ATTEMPTS)
        data = None
    return (enrolment_page if user.two_factor_enabled_at is None else settings_page)(request, user, data)


def enrolment_page(request: HttpRequest, user: User, data: QueryDict | None) -> HttpResponse:
    if data is None:
        return account_page(request, "two_factor_start", "Two-factor sign-in")
    if "verify" in data:
        try:
            request_verification(user=user)
            messages.success(request, f"We have sent a link to {user.email}. It is valid for one hour.")
        except Conflict as error:
            messages.error(request, str(error))
        return HttpResponseRedirect(reverse("admin:two_factor"))
    if "start" in data:
        try:
            form, key = PasswordAndCodeForm(request), two_factor.start_enrolment(user=user)
        except Conflict as error:  # the page with the button is old, or sent by hand
            messages.error(request, str(error))
            return HttpResponseRedirect(reverse("admin:two_factor"))
    else:
        form, key = PasswordAndCodeForm(request, data), two_factor.pending_key(user)
        if not key:  # sent by hand, or after a reset
            return HttpResponseRedirect(reverse("admin:two_factor"))
    codes = submit(form, two_factor.confirm_enrolment, user)
    if codes:
        update_session_auth_hash(request, user)
        return recovery_codes_page(request, user, codes)
    uri = f"otpauth://totp/{quote(f'{ISSUER}:{user.email}')}?{urlencode({'secret': key, 'issuer': ISSUER})}"
    return account_page(
        request,
        "two_factor_enrolment",
        "Two-factor sign-in",
        headers={"Content-Encoding": "identity"},  # the page shows a secret; see CompressionMiddleware
        form=form,
        key=" ".join(key[start : start + 4] for start in range(0, len(key), 4)),
        # An SVG element, because an image would need another request. It contains no text.
        qr_code=mark_safe(segno.make(uri, error="m").svg_inline(scale=5, light="#fff")),  # noqa: S308
    )


def settings_page(request: HttpRequest, user: User, data: QueryDict | None) -> HttpResponse:
    codes_form = CodeForm(data if data and "replace" in data else None)
    disable_form = PasswordAndCodeForm(request, data if data and "disable" in data else None)
    codes = submit(codes_form, two_factor.replace_recovery_codes, user)
    if codes:
        return recovery_codes_page(request, user, codes)
    if submit(disable_form, two_factor.disable, user):
        update_session_auth_hash(request, user)
        messages.success(request, two_factor.OFF)
        return HttpResponseRedirect(reverse("admin:two_factor"))
    return account_page(
        request,
        "two_factor",
        "Two-factor sign-in",
        enabled_at=user.two_factor_enabled_at,
        unused_codes=two_factor.unused_recovery_codes(user),
        codes_form=codes_form,
        disable_form=disable_form,
    )


def submit(form: CodeForm, change: Callable[..., Result], user: User) -> Result | None:
    """Call the service with user and code if the form was sent and is valid. Show its refusal in the form."""
    if not form.is_valid():
        return None
    try:
        result = change(user=user, code=form.cleaned_data["code"])
    except Conflict as error:
        form.add_error(None, str(error))
        return None
    if not result:
        form.add_error("code", two_factor.WRONG_CODE)
    return result


def recovery_codes_page(request: HttpRequest, user: User, codes: list[str]) -> HttpResponse:
    explanation = (
        "Each of these codes replaces your authenticator app once. They are shown only now: print them, or store them "
        "where you find them without your phone."
    )
    url = reverse("admin:organizations_user_change", args=[quote_pk(user.pk)])
    return secret_page(request, user, url, title="Recovery codes", explanation=explanation, secret="\n".join(codes))

"""A new password: a person who is signed in changes theirs, or chooses one at a link that was mailed to them."""

from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.hashers import make_password
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.views import INTERNAL_RESET_SESSION_TOKEN, PasswordChangeView, PasswordResetConfirmView
from django.db import DataError, transaction
from django.db.models import Max
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse, reverse_lazy
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.views.decorators.http import require_http_methods
from unfold.forms import AdminOwnPasswordChangeForm
from unfold.widgets import BASE_INPUT_CLASSES, UnfoldAdminEmailInputWidget
from uuid_utils.compat import uuid7

from accounts.pages import account_page, link_page
from accounts.sign_in_limits import TOO_MANY_ATTEMPTS, client_of, is_old_password_check_allowed, remember_browser
from accounts.two_factor import locked
from foundation.api.rate_limits import is_attempt_allowed
from foundation.db.deletes import delete_in_batches
from foundation.db.timestamps import now
from foundation.outbox import notify_on_commit
from organizations.models import PasswordReset, SecurityEvent, SecurityEventKind, User
from organizations.security_log import record_security_event

WRONG_GUESS = "Wrong old password, in a session"
WRONG_GUESSES_UNTIL_MAIL = 3
RESETS_PER_CLIENT = 10  # a minute, for each known browser or client address
# Of a link, and so of the request for one.
VALID_FOR = timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
# A stranger can request another person's links, but can't use them up: only links that still work count, and those are
# all in the person's mailbox. If none works, one is always mailed. Only the person ends links, as by signing in.
MAX_WORKING_LINKS = 3
# After these, one link works at a time, so that requests after each sign-in don't fill the mailbox.
LINKS_PER_HOUR = 12
# Each changes what Django signs in a link's token: the password, the address and the last sign-in.
ENDS_OF_LINKS = (
    SecurityEventKind.SIGNED_IN,
    SecurityEventKind.PASSWORD_CHANGED,
    SecurityEventKind.PASSWORD_RESET,
    SecurityEventKind.EMAIL_CHANGED,
)


class OwnPasswordChangeForm(AdminOwnPasswordChangeForm):
    """Django's form, with a limit on guesses: a stolen session must not help to find out the old password."""

    def __init__(self, user: User, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        self.request = request
        super().__init__(user, *args, **kwargs)

    def clean_old_password(self) -> str:
        password: str = self.cleaned_data["old_password"]
        check_own_password(self.request, self.user, password)
        return password


def check_own_password(request: HttpRequest, user: User, password: str) -> None:
    """Raise ValidationError unless it is the password of the signed-in user.

    A wrong one is logged; after several in a day, the person gets an e-mail. Locks the user for that.
    """
    if not is_old_password_check_allowed(request, user):
        raise forms.ValidationError(TOO_MANY_ATTEMPTS)
    if user.check_password(password):
        return
    kind = SecurityEventKind.SIGN_IN_FAILED
    guesses = SecurityEvent.objects.filter(user=user, kind=kind, details=WRONG_GUESS)
    # Locked, so that of simultaneous guesses one is the third; all are counted, even if the user may not read the log.
    with locked(user):
        earlier = guesses.filter(created_at__gte=now() - timedelta(days=1)).count()
        is_mailed = earlier + 1 == WRONG_GUESSES_UNTIL_MAIL
        record_security_event(kind, user=user, details=WRONG_GUESS, is_mailed=is_mailed)
    raise forms.ValidationError("The password is wrong.")


class OwnPasswordChangeView(PasswordChangeView):
    form_class = OwnPasswordChangeForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), **admin.site.each_context(self.request)}

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        """Change the password; its new hash keeps this session alive, and this browser known."""
        if not change_password(user=form.user, password=form.cleaned_data["new_password1"]):
            return redirect("admin:password_change")  # shown after signing in again
        update_session_auth_hash(self.request, form.user)
        response = redirect("admin:password_change_done")
        remember_browser(self.request, form.user, response)
        return response


@transaction.atomic
def change_password(*, user: User, password: str) -> bool:
    """Set the password, which ends the sessions. Locks the account.

    Returns False if the account was deactivated, or its sessions were ended, since `user` was read.
    """
    new = make_password(password)  # before the lock, because it takes long
    stored = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if not stored.has_credentials_of(user):
        return False
    user.password = new
    user.save(update_fields=["password"])
    record_security_event(SecurityEventKind.PASSWORD_CHANGED, user=user)
    return True


@transaction.atomic
def request_password_reset(*, email: str) -> None:
    """Store the request, in the same steps for any address. The worker mails a link if an account has it."""
    id = uuid7()
    PasswordReset.objects.create(id=id, group_id=id, email=email.strip())
    notify_on_commit(PasswordReset, id)


def choose_recipient(reset: PasswordReset) -> User | None:
    """Return the account to mail, and store it; None if there is none or it has enough working links. Locks it."""
    user: User | None = User.objects.with_email(reset.email).filter(is_active=True).select_for_update().first()
    if user is None or reset.user_id == user.pk:  # a retry: it has counted since its first attempt
        return user
    an_hour_ago = now() - timedelta(hours=1)
    recent = SecurityEvent.objects.filter(user=user, created_at__gt=an_hour_ago)
    ends = recent.filter(kind__in=ENDS_OF_LINKS)
    ended_at = ends.aggregate(latest=Max("created_at", default=an_hour_ago))["latest"]
    # By the time of the link, not of the request, which may have waited for a worker since before a sign-in.
    links = recent.filter(kind=SecurityEventKind.PASSWORD_RESET_REQUESTED)
    limit = MAX_WORKING_LINKS if links.count() < LINKS_PER_HOUR else 1
    if links.filter(created_at__gt=ended_at).count() >= limit:
        return None
    PasswordReset.objects.filter(pk=reset.pk).update(user=user)
    record_security_event(SecurityEventKind.PASSWORD_RESET_REQUESTED, user=user)
    return user


def reset_link(user: User) -> str:
    """Return a URL at which the user can choose a new password once. Only the mailbox and operators may get it."""
    args = [urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user)]
    return f"{settings.BASE_URL}{reverse('admin_password_reset_confirm', args=args)}"


@transaction.atomic
def reset_password(*, user: User, token: str, password: str) -> bool:
    """Set the password, which ends all sessions, and verify the address. Locks the account. False for a dead token."""
    user = User.objects.select_for_update().get(pk=user.pk)
    if not user.is_active or not default_token_generator.check_token(user, token):
        return False
    user.set_password(password)
    # The link was mailed to the address, or an operator answers for the person.
    user.email_verified_at = now()
    user.save(update_fields=["password", "email_verified_at"])
    record_security_event(SecurityEventKind.PASSWORD_RESET, user=user)
    return True


def prune_password_resets() -> None:
    """Delete requests after a day, because they hold addresses that anyone may have typed."""
    delete_in_batches(PasswordReset.objects.filter(created_at__lt=now() - timedelta(days=1)).order_by("created_at"))


class NewPasswordForm(SetPasswordForm):
    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = " ".join(BASE_INPUT_CLASSES)


class PasswordResetForm(forms.Form):
    email = forms.EmailField(label="E-mail", max_length=254, widget=UnfoldAdminEmailInputWidget)


@link_page
@require_http_methods(["GET", "HEAD", "POST"])
def ask_for_password_reset(request: HttpRequest) -> HttpResponse:
    form = PasswordResetForm(request.POST or None)
    if form.is_valid():
        # Counted by client only: requests for an account are limited by the worker, who knows whether there is one.
        if is_attempt_allowed(request, group="password-reset", key=client_of(request), limit=RESETS_PER_CLIENT):
            request_password_reset(email=form.cleaned_data["email"])
            return HttpResponseRedirect(reverse("password_reset_done"))
        form.add_error(None, TOO_MANY_ATTEMPTS)
    text = "Enter the address of your account. We will send you a link to choose a new password."
    return account_page(request, "page", "Forgot your password?", text=text, form=form, button="Send the link")


@link_page
@require_http_methods(["GET", "HEAD"])
def password_reset_done(request: HttpRequest) -> HttpResponse:
    text = (
        "If there is an account with this address, it will get an e-mail with a link within a few minutes. The link is "
        "valid for one hour."
    )
    return account_page(request, "page", "Forgot your password?", text=text)


class ChoosePasswordView(PasswordResetConfirmView):
    template_name = "accounts/page.html"
    extra_context = {"title": "Choose a password", "button": "Save password"}
    form_class = NewPasswordForm
    success_url = reverse_lazy("admin:login")

    def get_user(self, uidb64: str) -> User | None:
        try:
            user = super().get_user(uidb64)
        except DataError:  # an id with a NUL character
            return None
        return user if isinstance(user, User) and user.is_active else None

    def form_valid(self, form: forms.Form) -> HttpResponse:
        """Set the password, unless another request has used the link in the meantime."""
        token = self.request.session[INTERNAL_RESET_SESSION_TOKEN]
        assert self.user is not None  # Django shows no form without one
        if not reset_password(user=self.user, token=token, password=form.cleaned_data["new_password1"]):
            self.validlink = False
            return self.render_to_response(self.get_context_data())
        # Only now, because a form that is refused with PasswordHashingBusy is sent again.
        del self.request.session[INTERNAL_RESET_SESSION_TOKEN]
        messages.success(self.request, "Your new password is set. Sign in with it.")
        response = HttpResponseRedirect(self.get_success_url())
        # A person who has used up the account's sign-in limit can't keep its person out after the reset.
        self.user.refresh_from_db(fields=["password"])
        remember_browser(self.request, self.user, response)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        error = "" if self.validlink else "This link has already been used or has expired. Ask for a new one."
        return {**admin.site.each_context(self.request), "error": error, **super().get_context_data(**kwargs)}


choose_password = link_page(ChoosePasswordView.as_view())

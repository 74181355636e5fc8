"""The pages behind the links of account e-mails, and the page that asks for one. None needs a session."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import INTERNAL_RESET_SESSION_TOKEN, PasswordResetConfirmView
from django.db import DataError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse, reverse_lazy
from django.utils.cache import add_never_cache_headers
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods
from unfold.widgets import BASE_INPUT_CLASSES, UnfoldAdminEmailInputWidget

from accounts import invitations
from accounts.invitations import InvitationClosed, NewAccount, SignInRequired
from accounts.pages import account_page
from accounts.password_reset import request_password_reset, reset_password, reset_tokens
from accounts.sign_in_limits import TOO_MANY_ATTEMPTS, client_of, remember_browser
from foundation.api.rate_limits import is_attempt_allowed
from notifications.views import invalid_link_page, unsubscribe_page
from organizations.isolation import bypass_rls
from organizations.models import Invitation, User

RESETS_PER_CLIENT = 10  # a minute, for each known browser or client address


def link_page(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Run a view that finds its rows by a link's token. Its address is a secret, so no cache and no site may get it."""

    @wraps(view)
    def wrapper(request: HttpRequest, **kwargs: object) -> HttpResponseBase:
        # The link identifies person and organization, and no scope is set for a visitor.
        with bypass_rls():
            response = view(request, **kwargs)
            if hasattr(response, "render"):
                response.render()
        add_never_cache_headers(response)
        return response

    return wrapper


class NewPasswordForm(SetPasswordForm):
    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = " ".join(BASE_INPUT_CLASSES)


# --- Invitations ------------------------------------------------------------------------------------------------------


class NewAccountForm(NewPasswordForm):
    """Asks an invited person for the name and the password of their account."""

    first_name = forms.CharField(max_length=255)
    last_name = forms.CharField(max_length=255, required=False)
    field_order = ("first_name", "last_name", "new_password1", "new_password2")

    def new_account(self) -> NewAccount:
        data = self.cleaned_data
        return NewAccount(data["new_password1"], data["first_name"], data["last_name"])


@link_page
@require_http_methods(["GET", "HEAD", "POST"])
def answer_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show an invitation to whoever has its link; on a POST, accept or decline it."""
    try:
        invitation = invitations.find_invitation(token)
        account = User.objects.with_email(invitation.email).first()
        if request.user.is_authenticated and request.user != account:
            return account_page(request, "accounts/other_account.html", "Invitation")
        if account and not account.is_active:
            raise InvitationClosed(invitations.ACCOUNT_DISABLED)
        if request.method == "POST" and "decline" in request.POST:
            invitations.decline(token=token)
            path = invitations.unsubscribe_path(invitation)
            return account_page(
                request, "accounts/declined.html", "Invitation", invitation=invitation, unsubscribe_path=path
            )
        return show_invitation(request, token, invitation, account)
    except InvitationClosed as error:
        return account_page(request, "accounts/page.html", "Invitation", status=404, error=str(error))


def show_invitation(request: HttpRequest, token: str, invitation: Invitation, account: User | None) -> HttpResponse:
    """Show the invitation with the form that this person needs, or accept it if the form was sent and is valid.

    Raises InvitationClosed.
    """
    needs_sign_in = invitations.needs_sign_in(account, invitation)
    form: NewAccountForm | None = None
    if not needs_sign_in:
        names = {"first_name": account.first_name, "last_name": account.last_name} if account else {}
        form = NewAccountForm(account or User(email=invitation.email), request.POST or None, initial=names)
    error = ""
    # Also without a form and a session: the service says whether to sign in, or that the link has just been used.
    if request.method == "POST" and (form is None or form.is_valid()):
        user = request.user if isinstance(request.user, User) else None
        try:
            # A session of an account whose address was not verified ends now: its password changes.
            member = invitations.accept(
                token=token, signed_in_user=user, new_account=form.new_account() if form is not None else None
            )
        except SignInRequired as refusal:
            error = str(refusal)
        else:
            messages.success(request, f"You are now a member of {member.organization}.")
            return HttpResponseRedirect(reverse("admin:index"))
    return account_page(
        request,
        "accounts/invitation.html",
        "Invitation",
        invitation=invitation,
        form=form,
        error=error,
        sign_in_url=f"{reverse('admin:login')}?{urlencode({'next': request.path})}",
        needs_sign_in=needs_sign_in and not request.user.is_authenticated,
    )


# Without CSRF protection: mail servers post to it (RFC 8058), and the signed link itself authorizes.
@csrf_exempt
@link_page
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe_from_invitations(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for confirmation; a POST unsubscribes at once. A GET changes nothing, because mail filters open links."""
    invitation = invitations.find_by_unsubscribe_token(token)
    if invitation is None:
        return invalid_link_page(request, "To decline an invitation, open the link in its e-mail.")
    if request.method == "POST":
        invitations.unsubscribe(invitation=invitation)
    email, organization = invitation.email, invitation.organization
    return unsubscribe_page(
        request,
        question=f"Decline the invitation of {email} to {organization}, and get no more invitations from there?",
        result=f"{organization} can’t invite {email} any more. An open invitation is declined.",
    )


# --- New passwords ----------------------------------------------------------------------------------------------------


class PasswordResetForm(forms.Form):
    email = forms.EmailField(label="E-mail", max_length=254, widget=UnfoldAdminEmailInputWidget)


@link_page
@require_http_methods(["GET", "HEAD", "POST"])
def ask_for_password_reset(request: HttpRequest) -> HttpResponse:
    """Ask for an address, and store the request. The response is the same for every address."""
    form = PasswordResetForm(request.POST or None)
    if form.is_valid():
        # Counted by client only: requests for an account are limited by the worker, who knows whether there is one.
        if is_attempt_allowed(request, group="password-reset", key=client_of(request), limit=RESETS_PER_CLIENT):
            request_password_reset(email=form.cleaned_data["email"])
            return HttpResponseRedirect(reverse("password_reset_done"))
        form.add_error(None, TOO_MANY_ATTEMPTS)
    text = "Enter the address of your account. We will send you a link with which you can choose a new password."
    return account_page(
        request, "accounts/page.html", "Forgotten password", text=text, form=form, button="Send the link"
    )


@link_page
@require_http_methods(["GET", "HEAD"])
def password_reset_done(request: HttpRequest) -> HttpResponse:
    text = (
        "If there is an account with this address, it will get an e-mail with a link within a few minutes. The link is "
        "valid for one hour."
    )
    return account_page(request, "accounts/page.html", "Forgotten password", text=text)


class ChoosePasswordView(PasswordResetConfirmView):
    """Django's page for a link with which to choose a new password. A link works once."""

    template_name = "accounts/page.html"
    extra_context = {"title": "Choose a password", "button": "Save password"}
    form_class = NewPasswordForm
    token_generator = reset_tokens
    success_url = reverse_lazy("admin:login")

    def get_user(self, uidb64: str) -> User | None:
        try:
            user = super().get_user(uidb64)
        except DataError:  # an id with a NUL character
            return None
        return user if isinstance(user, User) and user.is_active else None

    def form_valid(self, form: forms.Form) -> HttpResponse:
        """Set the password, unless another request has used the link in the meantime."""
        token = self.request.session.pop(INTERNAL_RESET_SESSION_TOKEN, "")
        assert self.user is not None  # Django shows no form without one
        if not reset_password(user=self.user, token=token, password=form.cleaned_data["new_password1"]):
            self.validlink = False
            return self.render_to_response(self.get_context_data())
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

"""The pages behind the links of an invitation's e-mail. They need no session."""

from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from accounts import invitations
from accounts.invitations import InvitationClosed, SignInRequired
from accounts.new_password import NewPasswordForm
from accounts.pages import account_page, link_page
from notifications.views import invalid_link_page, moving_page, unsubscribe_page
from organizations.models import Invitation, User


class NewAccountForm(NewPasswordForm):
    first_name = forms.CharField(max_length=255)
    last_name = forms.CharField(max_length=255, required=False)
    browser_zone = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)  # browser_zone.js sets it
    field_order = ("first_name", "last_name", "new_password1", "new_password2")


@link_page
@require_http_methods(["GET", "HEAD", "POST"])
def answer_invitation(request: HttpRequest, token: str) -> HttpResponse:
    try:
        invitation = invitations.find_invitation(token)
        account = User.objects.with_email(invitation.email).first()
        if request.user.is_authenticated and request.user != account:
            text = "and this invitation is for another address. Sign out first, then open the link again."
            return account_page(request, "sign_out", "Invitation", text=text)
        if account and not account.is_active:
            raise InvitationClosed(invitations.ACCOUNT_DISABLED)
        if request.method == "POST" and "decline" in request.POST:
            invitations.decline(token=token)
            path = invitations.unsubscribe_path(invitation)
            return account_page(request, "declined", "Invitation", invitation=invitation, unsubscribe_path=path)
        return show_invitation(request, token, invitation, account)
    except InvitationClosed as error:
        return account_page(request, "page", "Invitation", status=404, error=str(error))


def show_invitation(request: HttpRequest, token: str, invitation: Invitation, account: User | None) -> HttpResponse:
    """Show the form that this person needs, or accept if it was sent and is valid. Raises InvitationClosed."""
    needs_sign_in = invitations.needs_sign_in(account, invitation)
    form: NewAccountForm | None = None
    if not needs_sign_in:
        names = {"first_name": account.first_name, "last_name": account.last_name} if account else {}
        form = NewAccountForm(account or User(email=invitation.email), request.POST or None, initial=names)
    error = ""
    # Also without a form and a session: the service says whether to sign in, or that the link has just been used.
    if request.method == "POST" and (form is None or form.is_valid()):
        user = request.user if isinstance(request.user, User) else None
        data = form.cleaned_data if form else {}
        names = {name: data[name] for name in ("first_name", "last_name") if data}
        try:
            # A session of an account whose address was not verified ends now: its password changes.
            member = invitations.accept(
                token=token,
                signed_in_user=user,
                password=data.get("new_password1", ""),
                time_zone=data.get("browser_zone", ""),
                **names,
            )
            messages.success(request, f"You are now a member of {member.organization}.")
            return HttpResponseRedirect(reverse("admin:index"))
        except SignInRequired as refusal:
            error = str(refusal)
    return account_page(
        request,
        "invitation",
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
    if invitation.organization.move:
        return moving_page(request)
    if request.method == "POST":
        invitations.unsubscribe(invitation=invitation)
    email, organization = invitation.email, invitation.organization
    return unsubscribe_page(
        request,
        question=f"Decline the invitation of {email} to {organization}, and get no more invitations from there?",
        result=f"{organization} can’t invite {email} any more. An open invitation is declined.",
    )

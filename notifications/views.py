"""The page behind the unsubscribe links of e-mails."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from foundation.api.exceptions import RETRY_AFTER_SECONDS
from notifications.services import read_token, unsubscribe
from organizations.isolation import bypass_rls
from organizations.isolation.row_level_security import tenant_scope
from organizations.models import Membership


# Without CSRF protection: mail servers post to it (RFC 8058), and the signed link itself authorizes.
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe_from_notifications(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for confirmation; a POST unsubscribes. A GET changes nothing, because mail filters open links."""
    hint = "Choose which e-mails you get after you have signed in, under My e-mail notifications."
    subscription = read_token(token)
    if subscription is None:
        return invalid_link_page(request, hint)
    organization_id, member_id, kind = subscription
    # No session and no key say whose request this is, but the link does: it sees that organization's rows only.
    with bypass_rls(tenant_scope(organization_id)):
        members = Membership.objects.of(organization_id).select_related("organization", "user")
        member = members.filter(pk=member_id).first()
        if member is None:
            return invalid_link_page(request, hint)
        if member.organization.move:
            return moving_page(request)
        if request.method == "POST":
            unsubscribe(member=member, kind=kind)
    email, emails = member.user.email, f"e-mails “{kind.label}” from {member.organization}"
    return unsubscribe_page(
        request,
        question=f"Stop the {emails} to {email}?",
        result=f"{email} gets no more {emails}. To get them again, sign in and choose them under My e-mail "
        "notifications.",
    )


def unsubscribe_page(request: HttpRequest, *, question: str, result: str) -> HttpResponse:
    is_done = request.method == "POST"
    context = {
        "title": "You are unsubscribed" if is_done else "Unsubscribe",
        "text": result if is_done else question,
        "has_button": not is_done,
    }
    return render(request, "notifications/unsubscribe.html", context)


def moving_page(request: HttpRequest) -> HttpResponse:
    """Return a page instead of a change that the organization's new place would not have."""
    text = "Nothing has changed yet: we are moving to another server. Please try again in a few minutes."
    context = {"title": "Try again later", "text": text}
    response = render(request, "notifications/unsubscribe.html", context, status=503)
    response["Retry-After"] = RETRY_AFTER_SECONDS
    return response


def invalid_link_page(request: HttpRequest, hint: str) -> HttpResponse:
    context = {"title": "This link is not valid", "text": hint}
    return render(request, "notifications/unsubscribe.html", context, status=404)

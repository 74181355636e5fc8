"""The page behind the unsubscribe links of e-mails."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from notifications.services import unsubscribe
from notifications.unsubscribing import read_token
from organizations.isolation import bypass_rls
from organizations.isolation.row_level_security import tenant_scope
from organizations.models import Membership


# Without CSRF protection: mail servers post to it (RFC 8058), and the signed link itself authorizes.
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe_page(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for confirmation; a POST unsubscribes at once. A GET changes nothing, because mail filters open links."""
    subscription = read_token(token)
    if subscription is None:
        return render(request, "notifications/unsubscribe.html", {"state": "invalid"}, status=404)
    # No session and no key say whose request this is, but the link does: it sees that organization's rows only.
    with bypass_rls(tenant_scope(subscription.organization_id)):
        members = Membership.objects.of(subscription.organization_id).select_related("organization", "user")
        member = members.filter(pk=subscription.member_id).first()
        if member is None:
            return render(request, "notifications/unsubscribe.html", {"state": "invalid"}, status=404)
        if request.method == "POST":
            unsubscribe(member=member, kind=subscription.kind)
    context = {
        "state": "done" if request.method == "POST" else "confirm",
        "kind": subscription.kind.label,
        "email": member.user.email,
        "organization": member.organization,
    }
    return render(request, "notifications/unsubscribe.html", context)

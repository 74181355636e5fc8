"""The page behind the unsubscribe links of e-mails to leads."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from appointments.services import unsubscribe_lead
from notifications.services import read_lead_token
from notifications.views import invalid_link_page, moving_page, unsubscribe_page
from organizations.isolation import bypass_rls
from organizations.isolation.row_level_security import tenant_scope
from organizations.models import Organization


# Without CSRF protection: mail servers post to it (RFC 8058), and the signed link itself authorizes.
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe_lead_from_mails(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for confirmation; a POST unsubscribes. A GET changes nothing, because mail filters open links.

    The page is the same whether or not the lead still exists, and shows nothing of it.
    """
    hint = "To get no more e-mails, answer the last one that you got."
    subscription = read_lead_token(token)
    if subscription is None:
        return invalid_link_page(request, hint)
    organization_id, lead_id = subscription
    # No session and no key say whose request this is, but the link does: it sees that organization's rows only.
    with bypass_rls(tenant_scope(organization_id)):
        organization = Organization.objects.filter(pk=organization_id).first()
        if organization is None:
            return invalid_link_page(request, hint)
        if organization.move:
            return moving_page(request)
        if request.method == "POST":
            unsubscribe_lead(organization=organization, lead_id=lead_id)
    return unsubscribe_page(
        request,
        question=f"Stop all e-mails of {organization} about calls to you? You get no more invitations and reminders.",
        result=f"You get no more e-mails of {organization} about calls.",
    )

"""My account → Sessions: where the user is signed in, and how to end it."""

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.middleware.csrf import get_token
from django.template.response import TemplateResponse
from django.urls import reverse

from accounts.sessions import active_sessions, end_other_sessions, end_session
from organizations.permissions import current_user


def sessions_page(request: HttpRequest) -> HttpResponse:
    """Show the user's sessions. A POST ends the one that it names, or all others."""
    user, current_key = current_user(request), request.session.session_key
    if request.method == "POST":
        if "others" in request.POST:
            count = end_other_sessions(user=user, current_key=current_key)
            messages.success(request, f"{count} other {'session has' if count == 1 else 'sessions have'} ended.")
        elif end_session(user=user, id=request.POST.get("session", "")):
            messages.success(request, "The session has ended.")
        else:
            messages.warning(request, "That session has already ended.")
        return HttpResponseRedirect(reverse("admin:sessions"))
    context = {
        **admin.site.each_context(request),
        "title": "Sessions",
        "sessions": active_sessions(user, current_key),
    }
    return TemplateResponse(request, "admin/sessions.html", context)


def token_view(request: HttpRequest) -> HttpResponse:
    """Return the session's current token as JSON. `admin.js` asks for it before it sends a form."""
    return JsonResponse({"token": get_token(request)})

"""Content-Security-Policy, Permissions-Policy and X-Frame-Options headers.

Scripts are loaded from this host only and are never inline. Three kinds of pages need a policy of their own; every
other response, above all JSON, allows nothing.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

CSP_NONE = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
CSP_SELF = (
    "default-src 'none'; connect-src 'self'; font-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# Alpine.js, which the admin uses, evaluates expressions in attributes; the theme and status colors are inline styles.
CSP_ADMIN = f"{CSP_SELF}; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'"
# Swagger UI's page has an inline style.
CSP_DOCS = f"{CSP_SELF}; script-src 'self'; style-src 'self' 'unsafe-inline'"
CSP_PAGE = f"{CSP_SELF}; style-src 'self'"

POLICIES = {"/admin/": CSP_ADMIN, "/api/docs": CSP_DOCS, "/local/": CSP_PAGE, "/unsubscribe/": CSP_PAGE}
PERMISSIONS_POLICY = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


class SecurityHeadersMiddleware:
    """Sets the headers on every response, also on errors."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        path = request.path_info
        policy = next((policy for prefix, policy in POLICIES.items() if path.startswith(prefix)), CSP_NONE)
        response["Content-Security-Policy"] = policy
        response["Permissions-Policy"] = PERMISSIONS_POLICY
        response["X-Frame-Options"] = "DENY"  # newer releases of unfold set SAMEORIGIN on some pages
        return response

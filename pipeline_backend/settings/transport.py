"""Https, the reverse proxy, and forms of other sites."""

from pipeline_backend.env import read_bool
from pipeline_backend.settings.instance import BASE_URL, HTTPS

SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0  # a year, as browsers' preload lists require
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz)$"]  # probes connect directly, without TLS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if read_bool("BEHIND_PROXY", default=False) else None
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "pipeline_backend.web.stale_forms.csrf_failure"
CSRF_TRUSTED_ORIGINS = [BASE_URL]

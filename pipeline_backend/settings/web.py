"""Requests: their limits, https, the reverse proxy and forms of other sites. Static files, served by WhiteNoise."""

from pipeline_backend.env import read_bool, read_folder, read_int
from pipeline_backend.settings.instance import BASE_URL, HTTPS

# Of each web process; each keeps a database connection. Admin pages use half of them, as does each organization.
WEB_THREADS = 4
# Between SIGTERM and the end: longer than the proxy needs to see that /livez fails, and to give up idle connections.
DRAIN_SECONDS = read_int("DRAIN_SECONDS", default=0, min_value=0, max_value=60)
RATE_LIMIT_PER_MINUTE = read_int("RATE_LIMIT_PER_MINUTE", default=600)
# Of a client's address. A client with a wrong key learns in a minute that it is wrong; keys can't be guessed anyway.
FAILED_KEYS_PER_MINUTE = 60
ADMIN_REQUESTS_PER_MINUTE = 300  # of a person, who reads a few pages a minute
BODY_LIMIT = DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
IMPORT_LIMIT = 10 * BODY_LIMIT  # of an uploaded file of leads or appointments
BODIES_LIMIT = 64 * BODY_LIMIT  # of all requests of a web process together, until they are answered
BODIES_LIMIT_PER_CLIENT = BODIES_LIMIT // 4
RESPONSES_LIMIT_PER_GROUP = 1024 * BODY_LIMIT  # on disk, of an organization's or network's slow readers
BODY_SECONDS = 20  # for a mebibyte, at half a megabit a second; files get more. Caddy waits longer (Caddyfile)

SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0  # a year, as browsers' preload lists require
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz)$"]  # probes connect directly, without TLS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if read_bool("BEHIND_PROXY") else None
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "pipeline_backend.web.stale_forms.csrf_failure"
CSRF_TRUSTED_ORIGINS = [BASE_URL]

STATIC_URL = "static/"
STATIC_ROOT = read_folder("STATIC_ROOT")
# Without collected files (local run, tests) WhiteNoise finds a file on request instead of scanning all at the start.
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = STATIC_ROOT is None
if STATIC_ROOT:
    # The name of a collected file has a hash of its content, so browsers keep it for years.
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    }

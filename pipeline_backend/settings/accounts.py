"""Users, passwords and sessions."""

from django.urls import reverse_lazy

from pipeline_backend.env import MAX_DAYS, read_int
from pipeline_backend.settings.instance import HTTPS

AUTH_USER_MODEL = "organizations.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
PASSWORD_HASHERS = ["accounts.passwords.BoundedPBKDF2PasswordHasher"]
PASSWORD_RESET_TIMEOUT = 3600  # seconds for which a link for a new password is valid
LOGIN_URL = reverse_lazy("admin:login")
LOGIN_REDIRECT_URL = reverse_lazy("admin:index")
SESSION_ENGINE = "accounts.sessions"  # a session ends two weeks after its last use: Django's SESSION_COOKIE_AGE
SESSION_COOKIE_SECURE = HTTPS
KEEP_SECURITY_EVENTS_DAYS = read_int("KEEP_SECURITY_EVENTS_DAYS", default=365, max_value=MAX_DAYS)

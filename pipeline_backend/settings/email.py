"""E-mail."""

from pipeline_backend.env import env, read_mailbox, read_url

EMAIL_URL = read_url(
    "EMAIL_URL", "smtp+tls://user:password@host:587", schemes=env.EMAIL_SCHEMES, pattern="smtp.*:[^/]+/?|.+mail:.*"
)
vars().update(env.email_url_config(EMAIL_URL))
EMAIL_TIMEOUT = 10  # seconds for each response of the mail server
DEFAULT_FROM_EMAIL = read_mailbox("DEFAULT_FROM_EMAIL", "Pipeline Backend <pipeline@localhost>")

"""The web layer: everything between the web server and the views that is the same for all apps.

1. A client that sends its body or reads its response slowly must occupy neither thread nor memory: `rsgi` reads bodies
   in the event loop, with a size limit and a deadline; `responses` writes large ones to temporary files first.
2. API requests are the hot path. What only pages need (static files, sessions, sign-in, messages) must not slow them:
   `middleware` has subclasses of Django's that skip `/api/`.
3. Every error has the form that its reader expects: JSON below `/api/`, a page elsewhere. If the database is the cause,
   the status is 503 with `Retry-After`, and the error page makes no query (`error_handlers`).
4. Pages load scripts, styles and images from this host only (`middleware.security_headers`).
5. Health checks name no tenant, and a busy or missing worker doesn't take the web servers out of rotation (`health`).
6. Error reports and the log lines of requests contain no secrets and no personal data (`error_handlers`, `logs`).

Apps don't import from here.
"""

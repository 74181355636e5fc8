"""The web layer: everything between the web server and the views that is the same for all apps.

Constraints:

1. A client that sends its body or reads its response slowly must occupy neither a thread nor memory.
2. API requests are the hot path. What only pages need (static files, sessions, sign-in, messages) must not slow them.
3. Every error has the form its reader expects: JSON below `/api/`, a page elsewhere. If the database is the cause, the
   status is 503 with `Retry-After`, and the error page itself makes no query.
4. Pages load scripts, styles and images from this host only.
5. Health checks name no tenant, and a busy or missing worker doesn't take the web servers out of rotation.
6. Error reports and the log lines of requests contain no secrets and no personal data.

How the design follows:

- `rsgi` reads bodies in the event loop, with a size limit and a deadline, then hands the request to a thread. A
  streamed response is written to a temporary file first (1).
- `middleware` holds subclasses of four middlewares that skip `/api/` (2), sets the admin's time zone, and sets
  Content-Security-Policy and Permissions-Policy on every response (4).
- `logs` holds the two formatters and the log line of each request, which only `LOG_FORMAT=json` turns on (6).
- `metrics` measures each request and answers `/metrics`, if there is a token (docs/metrics.md).
- `error_handlers` holds Django's handlers for 400, 403, 404 and 500, and the filter for error reports (3, 6).
- `health` separates `/healthz`, which includes the backlog, from `/readyz`, which checks this server only (5).
- `home` is the page at `/`, with links to the others.
- `openapi_views` serves the OpenAPI document, which is rendered once per process, and Swagger UI.

Settings, `urls` and the command line of Granian name these modules. Apps don't import from here; the only functions for
other packages are `health.health_error` (for `manage.py health`) and `openapi_views.rendered_schema` (for tests).
"""

"""The conventions of the HTTP interface: what every endpoint has in common, in one place and in one way.

What it is for: a view of an app says which input it accepts, which service it calls and which serializer shows the
result. Everything else (the order of checks, error responses, strict types, filters, pages, rate limits, documentation)
comes from here, as docs/interface.md promises it in the section on general rules (G1 to G38).

The constraints:

1. Every endpoint checks in the same order: key, rate limit, scope, method, media type, body. Without a
   valid key, no response reveals which paths, methods or ids exist.
2. Every response is JSON in one of three forms (action, data, error), also when something fails unexpectedly. Errors
   say what to fix, and quote nothing that is internal.
3. Input is never guessed: a JSON type is accepted as it is or refused by name.
4. A list page takes a few statements and a few milliseconds, at ten rows and at ten million.
5. List, detail, event bodies and the OpenAPI document can't contradict each other.
6. Without Redis nothing fails: requests are then let through, and only attempts to guess a secret are counted.

What follows from them: all views derive from `ApiView` (1); services raise `DomainError`, and one exception handler
knows the status codes (2); input fields and query parameters are our own, with messages that follow the field's name
(3); an output serializer is compiled to one statement that returns finished JSON (4, 5), and a list reads the ids of
its page first, by a statement that fits its filters and order (4); the OpenAPI document is made of the same
serializers, input fields and filters that serve the requests (5); a process that sees Redis fail leaves it alone for
some seconds (6).

A request, step by step: `RequestIdMiddleware` → `ApiView` (authentication, `rate_limits.hit`, scope) →
`StrictJsonParser` → `validated(…)` by an `InputSerializer` → the app's service → `SQLSerializer.get` or `get_many` →
`action_response` or `data_response` → `JsonRenderer`.

Modules that other packages import, each from its own path (Django and DRF load some of them by name from the settings,
before the apps are ready, so this file imports none):

- `viewsets`: `ExternalViewSet`, `ApiView`
- `sql_serializers`: output serializers; `fields`: input serializers
- `filters`: a list's filters, which choose among the statements in `page_queries`; `pagination`: pages
- `exceptions`: `DomainError`, `ResourceNotFound`, `Conflict`, `ValidationFailed`
- `responses`: `action_response`, `data_response`
- `openapi`: `ActionResponse`, `DetailResponse`, `ListResponse`, `list_parameters`
- `rate_limits`: `hit`, `is_attempt_allowed`, and the memory of a used-up limit; `client_address`
- `request_id`: `current_request_id`, `NO_REQUEST`

`parsers` is named in the settings only. Authentication and scopes are in `organizations`, which owns the keys.
`introduction.md` is the first page of the OpenAPI document.
"""

"""The conventions of the HTTP interface (docs/interface.md, G1 to G38). Apps add input, services and serializers.

1. Every endpoint checks in the same order: key, rate limit, scope, method, media type, body (`viewsets.ApiView`).
   Without a valid key, no response reveals which paths, methods or ids exist.
2. Every response is JSON in one of three forms (action, data, error), also when something fails unexpectedly: services
   raise a `DomainError`, and `exceptions` knows the status codes. Errors quote nothing that is internal.
3. Input is never guessed: a JSON type is accepted as it is or refused by name (`parsers`, `fields`).
4. A list page takes a few statements and a few milliseconds, at ten rows and at ten million: `filters` choose a
   statement of `page_queries` that reads the ids, `sql_serializers` read these objects as finished JSON.
5. List, detail, event bodies and the OpenAPI document are made of the same serializers, fields and filters (`openapi`).
6. Without Redis nothing fails: requests are let through, and only attempts to guess a secret are counted
   (`rate_limits`).

A request, step by step: `RequestIdMiddleware` → `ApiView` (authentication, `rate_limits.hit`, scope) →
`StrictJsonParser` → `validated(…)` by an `InputSerializer` → the app's service → `SQLSerializer.get` or `get_many` →
`action_response` or `data_response` → `JsonRenderer`.

Import from the modules. This file imports none, because Django and DRF load some before the apps are ready.
Authentication and scopes are in `organizations`. `introduction.md` is the first page of the OpenAPI document.
"""

"""Outgoing HTTP: every request that this service sends to a URL that a tenant has chosen.

1. A request reaches public addresses only, unless the operator allows others. The addresses that were checked are the
   ones we connect to, so a name that resolves differently the second time (DNS rebinding) gains nothing (`ssrf`).
2. A request ends at a total deadline, however slowly the receiver answers.
3. A response costs little memory, however long it is: 64 KiB are read, nothing is decompressed, 4 KiB are kept.
4. A connection is used for one endpoint only, and never again after unexpected bytes.
5. Redirects are not followed, cookies not kept, and proxies from the environment not used.
6. `EndpointClient.post` raises nothing for what a receiver does: every outcome is a `Result` with an error class.

Other packages import from here only, and `EndpointClient` from `client` when they send: its library is slow to import.
"""

from foundation.egress.ssrf import BlockedAddress, is_allowed, receiving_host, validate_url

"""Outgoing HTTP: every request that this service sends to a URL that a tenant has chosen.

Constraints
  1. A request reaches public addresses only, unless the operator allows others. The addresses that were checked are the
     ones we connect to, so a name that resolves differently the second time (DNS rebinding) gains nothing.
  2. A request ends at a total deadline, however slowly the receiver answers.
  3. A response costs little memory, however long it is: 64 KiB are read, nothing is decompressed, 4 KiB are kept.
  4. A connection is used for one endpoint only, and never again after unexpected bytes.
  5. Redirects are not followed, cookies not kept, and proxies from the environment not used.
  6. `EndpointClient.post` raises nothing for what a receiver does: every outcome is a `Result` with an error class.

Modules: `ssrf` (which URLs and addresses are allowed), `client` (aiohttp with these constraints, and what a response
means).

Other packages import from here only:
  - `EndpointClient`, `GONE`: send to one endpoint.
  - `validate_url`, `BlockedAddress`: check a URL before it is saved.
  - `receiving_host`: which host a URL leads to.
  - `is_allowed`: check an address, for tests.
"""

from foundation.egress.client import GONE, EndpointClient
from foundation.egress.ssrf import BlockedAddress, is_allowed, receiving_host, validate_url

__all__ = ["GONE", "BlockedAddress", "EndpointClient", "is_allowed", "receiving_host", "validate_url"]

"""Outgoing HTTP: a client for one endpoint, and the guard against server-side request forgery."""

from pipeline_backend.egress.client import GONE, EndpointClient, SendResult
from pipeline_backend.egress.ssrf import BlockedAddress, is_allowed, validate_url

__all__ = ["GONE", "BlockedAddress", "EndpointClient", "SendResult", "is_allowed", "validate_url"]

"""Relays: small programs that customers deploy beside a scheduler or a form tool. The service uses none of them."""

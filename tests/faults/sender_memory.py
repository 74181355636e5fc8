"""Sends to URLs one after another and prints the cost of each as a line of JSON.

python -m tests.faults.sender_memory <url> ...
"""

import asyncio
import json
import sys
import time
import tracemalloc

import django


async def main(urls: list[str]) -> None:
    """Send one request to each URL."""
    from foundation.egress.client import EndpointClient  # noqa: PLC0415  # needs Django

    tracemalloc.start()
    for url in urls:
        tracemalloc.reset_peak()
        (before, _), started = tracemalloc.get_traced_memory(), time.monotonic()
        async with EndpointClient(url) as client:
            result = await client.post(b"{}", {"webhook-id": "1"})
        cost = {
            "error": result.error,
            "seconds": time.monotonic() - started,
            "bytes": tracemalloc.get_traced_memory()[1] - before,
        }
        print(json.dumps(cost), flush=True)  # noqa: T201


if __name__ == "__main__":
    django.setup()
    asyncio.run(main(sys.argv[1:]))

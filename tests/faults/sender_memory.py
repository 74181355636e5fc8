"""A process that sends to the URLs it is given, one after another, and says what each cost: a line of JSON.

python -m tests.faults.sender_memory <url> ...
"""

import asyncio
import json
import sys
import time
import tracemalloc

import django


async def main(urls: list[str]) -> None:
    """Send to each."""
    from pipeline_backend.egress import EndpointClient  # noqa: PLC0415  # when Django is ready

    tracemalloc.start()
    for url in urls:
        tracemalloc.reset_peak()
        (before, _), started = tracemalloc.get_traced_memory(), time.monotonic()
        line = EndpointClient(url)
        sent = await line.post(b"{}", {"webhook-id": "1"})
        line.close()
        cost = {
            "error": sent.error,
            "seconds": time.monotonic() - started,
            "bytes": tracemalloc.get_traced_memory()[1] - before,
        }
        print(json.dumps(cost), flush=True)  # noqa: T201


if __name__ == "__main__":
    django.setup()
    asyncio.run(main(sys.argv[1:]))

"""Request bodies that are cheap to send and expensive to read, against `json.loads` of the same bytes."""

import json
import time
from collections.abc import Callable, Iterator

import django

from benchmarks.measurement import Comparison, Measurement, Scale, at_most, compare

django.setup()

from foundation.api.parsers import parse_json  # noqa: E402  # after the settings

MIB = 1024 * 1024
REPETITIONS = 3
ESCAPED = "\\ud83d\\ude00"
# The item of a list that fills a body of 1 MiB.
ITEMS = {
    "empty lists": "[]",
    "nested lists": "[" * 30 + "]" * 30,
    "empty objects": "{}",
    "small objects": '{"a":true}',
    "nested objects": '{"a":' * 28 + "0" + "}" * 28,
    "whole numbers": "0",
    "numbers of 4,000 digits": "1" * 4000,
    "floats": "0.1",
    "exponents": "1e9",
    "literals": "true",
    "empty texts": '""',
    "texts of brackets": '"["',
    "surrogate pairs": f'"{ESCAPED * 100}"',
    "escaped backslashes": '"' + "\\\\" * 1000 + '"',
}


def run(scale: Scale) -> Iterator[Comparison]:
    """Yield a comparison for each kind of body. It needs no server."""
    names = ",".join(f'"{number:x}":0' for number in range(105_000))
    bodies = {name: list_of(item) for name, item in ITEMS.items()} | {"names": f"{{{names}}}".encode()}
    for name, body in bodies.items():
        yield compare(
            f"parse 1 MiB of {name}",
            "ms",
            milliseconds(parse_json, body),
            "json.loads",
            milliseconds(json.loads, body),
            at_most(3),
            scale,
        )


def list_of(item: str) -> bytes:
    """Return a body of 1 MiB with a list of as many items as fit."""
    count = (MIB - 20) // (len(item) + 1)
    return f'{{"unknown":[{",".join([item] * count)}]}}'.encode()


def milliseconds(parse: Callable[[bytes], object], body: bytes) -> Measurement:
    """Return a measurement of the processor time of one call, the best of several."""

    def measure() -> float:
        times = []
        for _ in range(REPETITIONS):
            started_at = time.process_time()
            parse(body)
            times.append(time.process_time() - started_at)
        return min(times) * 1000

    return measure

"""Requests that are repeated after lost connections, rate limits and failures of the service."""

import json
import random
import re
import time
import uuid

import httpx

LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)


class PipelineError(Exception):
    """A response that is not a success: `status_code`, `message`, `errors` by field, `request_id` and `body`."""

    def __init__(self, response: httpx.Response) -> None:
        try:
            self.body = dict(json.loads(response.content))
        except (TypeError, ValueError):  # of a proxy
            self.body = {}
        self.status_code = response.status_code
        self.message = str(self.body.get("message") or f"The response has the status code {self.status_code}")
        self.errors: dict[str, list[str]] = self.body.get("errors") or {}
        self.request_id: str | None = response.headers.get("x-request-id")
        super().__init__(f"{self.message} ({self.status_code}, request {self.request_id})")


class RetryingTransport(httpx.BaseTransport):
    """Authenticates each request, and repeats it until `deadline` seconds have passed. Raises PipelineError.

    A write gets an `Idempotency-Key` unless it has one, so that repeating it does nothing twice.
    """

    def __init__(self, api_key: str, deadline: float, transport: httpx.BaseTransport) -> None:
        self._key, self._deadline, self._transport = api_key, deadline, transport
        self._next_window = 0.0  # when the next request may be sent

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["x-api-key"] = self._key
        if request.method != "GET":
            request.headers.setdefault("idempotency-key", str(uuid.uuid4()))
        end, pause = time.monotonic() + self._deadline, 0.5
        wait(self._next_window - time.monotonic(), end)
        while True:
            try:
                response = self._transport.handle_request(request)
                response.read()
            except LOST:
                if not wait(pause, end):
                    raise
            else:
                window = re.search(r";r=0;t=(\d+)", response.headers.get("ratelimit", ""))
                self._next_window = time.monotonic() + int(window[1]) if window else 0
                if response.is_success:
                    return response
                retry_after = re.fullmatch(r"\d+", response.headers.get("retry-after", ""))
                if not is_temporary(response) or not wait(int(retry_after[0]) if retry_after else pause, end):
                    raise PipelineError(response)
            pause = min(pause * random.uniform(1.5, 2.5), 30)  # noqa: S311

    def close(self) -> None:
        self._transport.close()


def wait(seconds: float, end: float) -> bool:
    """Wait, and return True; return False at once if that would end too late."""
    if time.monotonic() + seconds > end:
        return False
    time.sleep(max(seconds, 0))
    return True


def is_temporary(response: httpx.Response) -> bool:
    """Return whether repeating may help; a 409 with Retry-After means that the first request still runs."""
    code = response.status_code
    return code in (408, 429) or code >= 500 or (code == 409 and "retry-after" in response.headers)

"""Reads an HTTP response as far as we need it: its status, `Retry-After`, and the start of its body.

The parser is llhttp, the one of Node.js. It is set to accept what sloppy servers send, as browsers do: a connection
belongs to a single endpoint, so a response that is misread harms nobody else.
"""

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

MAX_HEAD_SIZE = 64 * 1024
MAX_HEADERS = 100
MAX_READ_SIZE = 64 * 1024
BODY_PREFIX = 4 * 1024
LENIENT = {
    "lenient_headers": True,
    "lenient_chunked_length": True,
    "lenient_optional_lf_after_cr": True,
    "lenient_optional_cr_before_lf": True,
    "lenient_optional_crlf_after_chunk": True,
    "lenient_spaces_after_chunk_size": True,
}


class InvalidResponse(Exception):
    """The receiver did not answer with HTTP, or its head is too large."""


class ResponseReader:
    """A response, read piece by piece. The parser calls the `on_` methods."""

    def __init__(self) -> None:
        self.parser = HttpResponseParser(self)
        self.parser.set_dangerous_leniencies(**LENIENT)
        self.size = self.header_count = self.status = 0
        self.retry_after = self.body = b""
        self.has_head = self.is_complete = self.keeps_alive = False

    def feed(self, data: bytes) -> None:
        """Parse the next bytes. Raises InvalidResponse if the head is malformed or too large."""
        self.size += len(data)
        try:
            self.parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            # After a valid head an error only ends the response: the status alone decides whether it was a success.
            self.is_complete, self.keeps_alive = True, False
        if not self.has_head and (self.is_complete or self.size > MAX_HEAD_SIZE):
            raise InvalidResponse

    @property
    def has_enough(self) -> bool:
        """Return True if the response is complete, or as long as we read."""
        return self.is_complete or self.size >= MAX_READ_SIZE

    @property
    def text(self) -> str:
        """Return the start of the body in a form that PostgreSQL can store."""
        return self.body[:BODY_PREFIX].decode("utf-8", "backslashreplace").replace("\x00", "\\x00")

    def on_message_begin(self) -> None:
        """Note that a message after a complete response was not requested, so the connection can't be used again."""
        self.keeps_alive = self.keeps_alive and not self.is_complete

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count the header, and keep it if it is `Retry-After`."""
        self.header_count += 1
        if self.header_count > MAX_HEADERS:
            raise InvalidResponse
        if name.lower() == b"retry-after":
            self.retry_after = value

    def on_headers_complete(self) -> None:
        """Take the status, unless it is an interim one (1xx), which another response follows."""
        status = self.parser.get_status_code()
        if status >= 200 and not self.is_complete:
            self.has_head, self.status, self.keeps_alive = True, status, self.parser.should_keep_alive()

    def on_body(self, data: bytes) -> None:
        """Keep the start of the body."""
        if len(self.body) < BODY_PREFIX:
            self.body += data

    def on_message_complete(self) -> None:
        """Mark the response as complete, unless it was an interim one."""
        self.is_complete = self.has_head

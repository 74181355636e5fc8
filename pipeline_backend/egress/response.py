"""An answer, read no further than we care: its status, `Retry-After`, and the start of its body.

The parser is llhttp, Node's. It is asked to take what sloppy servers say, as browsers do: the connection is one
endpoint's alone, so an answer that is misread harms nobody else.
"""

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

HEAD_AT_MOST = 64 * 1024
HEADERS_AT_MOST = 100
READ_AT_MOST = 64 * 1024
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
    """Not HTTP, or too much of it."""


class ResponseReader:
    """What has come of it so far; the parser calls the `on_` methods."""

    def __init__(self) -> None:
        self.parser = HttpResponseParser(self)
        self.parser.set_dangerous_leniencies(**LENIENT)
        self.size = self.headers = self.status = 0
        self.retry_after = self.body = b""
        self.has_head = self.is_over = self.keeps_alive = False

    def feed(self, data: bytes) -> None:
        """The next bytes of it; BadAnswer for a bad head. What is wrong behind the head ends the answer and changes nothing."""
        self.size += len(data)
        try:
            self.parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self.is_over, self.keeps_alive = True, False
        if not self.has_head and (self.is_over or self.size > HEAD_AT_MOST):
            raise InvalidResponse

    @property
    def is_enough(self) -> bool:
        """Whether it is complete, or as long as we read."""
        return self.is_over or self.size >= READ_AT_MOST

    @property
    def text(self) -> str:
        """The start of the body, as PostgreSQL can store it."""
        return self.body[:BODY_PREFIX].decode("utf-8", "backslashreplace").replace("\x00", "\\x00")

    def on_message_begin(self) -> None:
        """Nothing may come behind the answer; before it, 1xx may."""
        self.keeps_alive = self.keeps_alive and not self.is_over

    def on_header(self, name: bytes, value: bytes) -> None:
        """One alone matters."""
        self.headers += 1
        if self.headers > HEADERS_AT_MOST:
            raise InvalidResponse
        if name.lower() == b"retry-after":
            self.retry_after = value

    def on_headers_complete(self) -> None:
        """What 1xx say is nothing yet."""
        status = self.parser.get_status_code()
        if status >= 200 and not self.is_over:
            self.has_head, self.status, self.keeps_alive = True, status, self.parser.should_keep_alive()

    def on_body(self, data: bytes) -> None:
        """A part of it."""
        if len(self.body) < BODY_PREFIX:
            self.body += data

    def on_message_complete(self) -> None:
        """The end, unless it was one of 1xx."""
        self.is_over = self.has_head

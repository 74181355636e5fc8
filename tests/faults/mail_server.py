"""An SMTP server on a real socket of this machine that can be made to fail."""

import socketserver
import threading
import time
from dataclasses import dataclass, field
from typing import BinaryIO


@dataclass
class MailServer:
    """Speaks just enough SMTP to receive mail.

    `greeting` is its first reply, `accepted` that to each mail, `refused` maps recipients to the reply that refuses
    them, and `pause` is the seconds before each reply.
    """

    greeting: str = "220 ready"
    accepted: str = "250 accepted"
    refused: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0
    mails: list[tuple[str, str]] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    def __enter__(self) -> "MailServer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen, the second time on the same port as the first."""
        self.server = Server(("127.0.0.1", self.port), handler_for(self))
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        """Refuse connections."""
        self.server.shutdown()
        self.server.server_close()

    def recipients(self) -> list[str]:
        """Return the recipients of the mails, in order of arrival."""
        return [recipient for recipient, _ in self.mails]


class Server(socketserver.ThreadingTCPServer):
    """A TCP server whose threads do not outlive the tests."""

    daemon_threads = True
    allow_reuse_address = True


def handler_for(server: MailServer) -> type[socketserver.StreamRequestHandler]:
    """Return a handler class that is bound to the server."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            server.connections += 1
            recipient = ""
            try:
                self.reply(server.greeting)
                while line := self.rfile.readline().decode().strip():
                    verb = line[:4].upper()
                    if verb == "RCPT":
                        recipient = line.partition("<")[2].partition(">")[0]
                        self.reply(server.refused.get(recipient, "250 ok"))
                    elif verb == "DATA":
                        self.reply("354 go on")
                        server.mails.append((recipient, read_message(self.rfile)))
                        self.reply(server.accepted)
                    elif verb == "QUIT":
                        return self.reply("221 bye")
                    else:
                        self.reply("250 ok")
            except OSError:
                return None

        def reply(self, text: str) -> None:
            time.sleep(server.pause)
            self.wfile.write(f"{text}\r\n".encode())

    return Handler


def read_message(file: BinaryIO) -> str:
    """Read an e-mail up to the line that ends it. Raises ConnectionError if the client ends first."""
    lines = []
    while (line := file.readline()) != b".\r\n":
        if not line:
            raise ConnectionError
        lines.append(line.decode())
    return "".join(lines)

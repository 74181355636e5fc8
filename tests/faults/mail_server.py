"""A mail server on a real socket of this machine, which can be ill."""

import socketserver
import threading
import time
from dataclasses import dataclass, field


@dataclass
class MailServer:
    """Speaks just enough SMTP. `greeting` and `refused` are its ills, and `pause` the seconds before each of its words."""

    greeting: str = "220 ready"
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
        """Listen, where it listened before."""
        self.server = Server(("127.0.0.1", self.port), handler_for(self))
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        """Refuse connections."""
        self.server.shutdown()
        self.server.server_close()

    def recipients(self) -> list[str]:
        """Who has got mail, in order."""
        return [recipient for recipient, _ in self.mails]


class Server(socketserver.ThreadingTCPServer):
    """Threads that end with the tests."""

    daemon_threads = True
    allow_reuse_address = True


def handler_for(server: MailServer) -> type[socketserver.StreamRequestHandler]:
    """The server's side of one connection."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            server.connections += 1
            recipient = ""
            try:
                self.say(server.greeting)
                while line := self.rfile.readline().decode().strip():
                    verb = line[:4].upper()
                    if verb == "RCPT":
                        recipient = line.partition("<")[2].partition(">")[0]
                        self.say(server.refused.get(recipient, "250 ok"))
                    elif verb == "DATA":
                        self.say("354 go on")
                        server.mails.append((recipient, self.text()))
                        self.say("250 taken")
                    elif verb == "QUIT":
                        return self.say("221 bye")
                    else:
                        self.say("250 ok")
            except OSError:
                return None

        def say(self, words: str) -> None:
            time.sleep(server.pause)
            self.wfile.write(f"{words}\r\n".encode())

        def text(self) -> str:
            lines = []
            while (line := self.rfile.readline()) not in {b".\r\n", b""}:
                lines.append(line.decode())
            return "".join(lines)

    return Handler

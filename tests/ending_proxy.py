"""A proxy in front of PostgreSQL that ends a session after any statement, or between its result and its end."""

import contextlib
import socket
import struct
import threading

FIELDS = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"
FATAL = b"E" + struct.pack("!I", 4 + len(FIELDS)) + FIELDS
HEADER = struct.Struct("!cI")  # a message's kind, and its length without the kind
COUNTED = {b"C", b"Z"}  # "this statement is complete" and "ready for the next one"


class EndingProxy:
    """Passes everything on, at `port` of 127.0.0.1, while the block runs."""

    def __init__(self, host: str, port: int) -> None:
        self.server = (host, port)
        self.remaining = 0  # counted messages until a session is ended; 0: none will be
        self.last_message = b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.connections: list[socket.socket] = []

    def __enter__(self) -> "EndingProxy":
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for connection in (self.listener, *self.connections):
            end(connection)

    def end_after(self, count: int, last_message: bytes) -> None:
        """End the session after the server's next `count` counted messages and these bytes.

        All sessions must be idle.
        """
        self.last_message, self.remaining = last_message, count

    def cancel_end(self) -> bool:
        """End no session any more. Return whether one was still to be ended."""
        was_planned, self.remaining = self.remaining > 0, 0
        return was_planned

    def accept(self) -> None:
        """Connect each client with the server until the listener is closed."""
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.server)
                self.connections += [client, server]
                for copy in (self.copy_requests, self.copy_responses):
                    threading.Thread(target=copy, args=(client, server), daemon=True).start()

    def copy_requests(self, client: socket.socket, server: socket.socket) -> None:
        """Copy what the client sends until one of both closes."""
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
        end(client)
        end(server)

    def copy_responses(self, client: socket.socket, server: socket.socket) -> None:
        """Copy what the server sends until one of both closes, or until the session is to end."""
        with contextlib.suppress(OSError):
            unsent, is_ending = b"", False
            while not is_ending and (data := server.recv(65536)):
                complete, unsent, is_ending = self.cut(unsent + data)
                client.sendall(complete)
        end(client)
        end(server)

    def cut(self, data: bytes) -> tuple[bytes, bytes, bool]:
        """Return what to send now, what to keep until more has come, and whether the session ends then."""
        if not self.remaining:  # also while a session is opened, which begins with a byte that is no message
            return data, b"", False
        position = 0
        while len(data) >= position + HEADER.size:
            kind, length = HEADER.unpack_from(data, position)
            if len(data) < position + 1 + length:
                break
            position += 1 + length
            self.remaining -= kind in COUNTED
            if not self.remaining:
                return data[:position] + self.last_message, b"", True
        return data[:position], data[position:], False


def end(connection: socket.socket) -> None:
    """Close the connection; a thread that waits for its data continues."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()

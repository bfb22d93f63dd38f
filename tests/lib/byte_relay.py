# SPDX-License-Identifier: Apache-2.0
"""Copies bytes between two connections, for tests that play a proxy."""
import contextlib
import socket
import threading


def copy(source, target, size=65536):
    """Until the source ends; then end the target."""
    with contextlib.suppress(OSError):
        while data := source.recv(size):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def join(one, other, size=65536):
    """Copy both ways until both end; from one, size bytes at a time."""
    back = threading.Thread(target=copy, args=(other, one))
    back.start()
    copy(one, other, size)
    back.join()


def read_head(connection):
    """A request of HTTP/1.1 up to its empty line, or None."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        data = connection.recv(1)
        if not data:
            return None
        head += data
    return head.decode()


def connect_port(head):
    """The port that a CONNECT request asks for."""
    return int(head.split()[1].rpartition(":")[2])


@contextlib.contextmanager
def port_of(other, size=65536):
    """A port of the loopback that leads to a connection (closed), size bytes at
    a time."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run():
        connection, _ = listener.accept()
        join(connection, other, size)
        connection.close()
        other.close()

    thread = threading.Thread(target=run)
    thread.start()
    yield listener.getsockname()[1]
    thread.join()
    listener.close()

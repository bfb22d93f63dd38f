# SPDX-License-Identifier: Apache-2.0
"""Servers in place of a guest's (net-ports.py): in a network namespace, as
net_tap.py.

Arguments: the stream's fd, and a folder. An HTTP server of the folder at port
8000, and one that echoes datagrams at port 9000. "up" is printed when both are
there.
"""
import functools
import http.server
import os
import socket
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import net_tap  # noqa: E402


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):  # a client has gone
        pass


def echo(sock):
    while True:
        data, peer = sock.recvfrom(65536)
        sock.sendto(data, peer)


def main():
    net_tap.begin(int(sys.argv[1]))
    server = Server(
        ("0.0.0.0", 8000), functools.partial(Handler, directory=sys.argv[2]))
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("0.0.0.0", 9000))
    threading.Thread(target=echo, args=(sock,), daemon=True).start()
    print("up", flush=True)
    server.serve_forever()


main()

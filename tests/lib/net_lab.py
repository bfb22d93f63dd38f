# SPDX-License-Identifier: Apache-2.0
"""A small Internet in network namespaces, for tests of the network policy.

    here    192.0.2.1, 2001:db8::1       services on 127.0.0.1 and 192.0.2.1
    world   192.0.2.2, 2001:db8::2       the addresses below, all with services

A service says its address: by TCP and UDP on port 8000. 198.51.100.53 is a name
server, of a kind: it answers whatever it is asked with the same 4 bytes.
"""
import os
import socket
import threading
import time

from far_network import FarNetwork, enter as enter_network, serve_far, sh  # noqa: F401

LISTED, NEAR_LISTED, UNLISTED = "198.51.100.7", "198.51.100.8", "203.0.113.9"
LISTED6, UNLISTED6 = "2001:db8:1::7", "2001:db8:2::9"
METADATA, DNS, OWN = "169.254.169.254", "198.51.100.53", "192.0.2.1"
# Cloud metadata services, and METADATA as IPv6 translators (NAT64) write it.
CLOUDS = ["100.100.100.200", "100.96.0.96", "168.63.129.16", "192.0.0.192",
          "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
          "fd00:c1::a9fe:a9fe", "fd00:42::42", "fd00:a9fe:a9fe::1",
          "fd00:100::100:200"]
EMBEDDED = ["64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe",
            "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:fffe::a9fe:a9fe",
            "2002:a9fe:a9fe::1", "64:ff9b::6464:64c8"]
# OWN, by way of a translator; and UNLISTED, which a guest may reach so.
OWN_EMBEDDED = "64:ff9b::c000:201"
UNLISTED_EMBEDDED = ["64:ff9b::cb00:7109", "64:ff9b:1::cb00:7109",
                     "64:ff9b:1:fffe::cb00:7109", "64:ff9b:1:cb00:71:900::",
                     "2002:cb00:7109::1"]
WORLD = [LISTED, NEAR_LISTED, UNLISTED, METADATA, DNS, LISTED6, UNLISTED6,
         *CLOUDS, *EMBEDDED, OWN_EMBEDDED, *UNLISTED_EMBEDDED]
PORT = 8000


def enter():
    return enter_network("NET_LAB")


def serve_tcp(family, address, port, answer):
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(64)

    def talk(connection):
        try:
            connection.sendall(answer)
            while True:
                data = connection.recv(65536)
                if not data:
                    break
                if data.startswith(b"flow"):  # say something every 50 ms
                    while True:
                        connection.sendall(b"tick")
                        time.sleep(0.05)
                connection.sendall(data)
        except OSError:
            pass
        connection.close()

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=talk, args=(connection,),
                             daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


def serve_udp(family, address, port, answer):
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.bind((address, port))

    def talk():
        while True:
            data, peer = sock.recvfrom(65536)
            for _ in range(40 if data.startswith(b"flow") else 0):
                sock.sendto(b"tick", peer)
                time.sleep(0.02)
            sock.sendto(answer + (bytes(2800) if data.startswith(b"big") else
                                  data[len(answer):]), peer)
    threading.Thread(target=talk, daemon=True).start()


def serve_port(address):
    """By UDP: the port that a question came from."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((address, PORT + 1))

    def talk():
        while True:
            _, peer = sock.recvfrom(65536)
            sock.sendto(str(peer[1]).encode(), peer)
    threading.Thread(target=talk, daemon=True).start()


def serve(address, port=PORT, answer=None):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    answer = answer or address.encode()
    serve_tcp(family, address, port, answer)
    serve_udp(family, address, port, answer)


def begin():
    for address in WORLD:
        serve(address)
    serve(DNS, 53, b"dns!")
    serve_port(LISTED)


class Lab(FarNetwork):
    def __init__(self):
        super().__init__(os.path.abspath(__file__))
        serve("127.0.0.1", answer=b"loopback")
        serve("::1", answer=b"loopback6")
        serve(OWN, answer=b"own")
        serve("2001:db8::1", answer=b"own6")


if __name__ == "__main__":
    serve_far(WORLD, begin)

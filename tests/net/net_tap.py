# SPDX-License-Identifier: Apache-2.0
"""A real system in place of a guest (net-parts.py): a network namespace whose
only card is a tap device, of which stepback-net has the other end.

Arguments: the stream's fd, and addresses. A line for each try: what it is, the
address, and what came of it.
"""
import fcntl
import os
import socket
import struct
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from net_guest import IP, IP6, MAC  # noqa: E402

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454ca, 2, 0x1000
PORT, PATIENCE = 8000, 2
# More than a frame takes, and what slirp takes at once over IPv6.
SIZES = {socket.AF_INET: (1473, 4000, 65507), socket.AF_INET6: (1453, 8900)}


def open_tap():
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", b"tap0",
                                            IFF_TAP | IFF_NO_PI))
    for line in (f"link set tap0 address {MAC.hex(':')}",
                 "link set tap0 up", f"addr add {IP}/24 dev tap0",
                 f"-6 addr add {IP6}/64 dev tap0 nodad",
                 "route add default via 10.0.2.2",
                 "-6 route add default via fec0::2"):
        subprocess.run(["ip", *line.split()], check=True)
    with open("/proc/sys/net/ipv4/ping_group_range", "w",
              encoding="ascii") as file:
        file.write("0 2147483647")
    return tap


def pump_out(tap, stream):
    while True:
        frame = os.read(tap, 65536)
        stream.sendall(struct.pack("!I", len(frame)) + frame)


def pump_in(tap, stream):
    whole = stream.makefile("rb")
    while length := whole.read(4):
        os.write(tap, whole.read(struct.unpack("!I", length)[0]))


def begin(fd):
    """Connect this namespace to the stream."""
    stream = socket.socket(fileno=fd)
    tap = open_tap()
    for pump in (pump_out, pump_in):
        threading.Thread(target=pump, args=(tap, stream), daemon=True).start()


def exchange(kind, address, message, head):
    """Send it, and say whether it came back; head: bytes that may differ."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM, kind) as peer:
        peer.settimeout(PATIENCE)
        try:
            peer.connect((address, PORT))
            peer.send(message)
            answer = peer.recv(65536)
        except OSError as error:
            return type(error).__name__
        return "answered" if answer[head:] == message[head:] else "other"


def main():
    begin(int(sys.argv[1]))
    for address in sys.argv[2:]:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        for size in SIZES[family]:
            print("datagram", address, exchange(
                0, address, os.urandom(size), len(address)), flush=True)
        if family == socket.AF_INET:
            print("ping", address, exchange(
                socket.IPPROTO_ICMP, address,
                struct.pack("!BBHHH", 8, 0, 0, 0, 1) + os.urandom(4000), 8),
                flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()

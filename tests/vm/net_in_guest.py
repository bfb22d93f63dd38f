# SPDX-License-Identifier: Apache-2.0
"""Runs in a guest, as root (vm-roundtrip.py): tries to get off the list.

Arguments: the address that is listed, the one that is not. Each answers on port
8000 with itself. A line for each try: its name, and what came of it.
"""
import socket
import struct
import subprocess
import sys
import time

LISTED, UNLISTED = sys.argv[1:3]
PORT = 8000


def ip(line, check=True):
    subprocess.run(["busybox", "ip"] + line.split(), check=check,
                   stderr=subprocess.DEVNULL)


def connect(address):
    try:
        with socket.create_connection((address, PORT), timeout=4) as peer:
            return peer.recv(100).decode()
    except OSError as error:
        return type(error).__name__


def wait_for_address():
    for _ in range(60):
        with open("/proc/net/route", encoding="ascii") as routes:
            if any(line.split()[1] == "00000000" for line in routes
                   if line.startswith("eth0")):
                return
        time.sleep(0.5)
    sys.exit("no address by DHCP")


def sum16(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def syn(source, target, mac):
    """A connection's first frame, made by hand."""
    ends = socket.inet_aton(source) + socket.inet_aton(target)
    tcp = struct.pack("!HHIIBBHHH", 4242, PORT, 1, 0, 5 << 4, 2, 9999, 0, 0)
    total = sum16(ends + struct.pack("!HH", 6, 20) + tcp)
    tcp = tcp[:16] + struct.pack("!H", total) + tcp[18:]
    head = struct.pack("!BBHHHBBH", 0x45, 0, 40, 7, 0, 64, 6, 0) + ends
    head = head[:10] + struct.pack("!H", sum16(head)) + head[12:]
    return bytes.fromhex("52550a000202") + mac + b"\x08\0" + head + tcp


def raw(source, target):
    """Whether a SYN+ACK comes back: past all of this system's own rules."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                       socket.htons(0x0800)) as wire:
        wire.bind(("eth0", 0))
        mac = wire.getsockname()[4]
        wire.settimeout(0.5)
        end = time.monotonic() + 1.2
        while time.monotonic() < end:
            wire.send(syn(source, target, mac))
            try:
                frame = wire.recv(2000)
            except TimeoutError:
                continue
            if frame[23] == 6 and frame[36:38] == b"\x10\x92" and \
                    frame[47] & 0x12 == 0x12:
                return "answered"
    return "nothing"


def tell(name, outcome):
    print(name, outcome, flush=True)


wait_for_address()
tell("listed", connect(LISTED))
tell("unlisted", connect(UNLISTED))
tell("host", connect("10.0.2.2"))
if len(sys.argv) < 4:  # the whole of it
    tell("raw-listed", raw("10.0.2.15", LISTED))
    for target in (UNLISTED, "127.0.0.1", "10.0.2.2"):
        tell(f"raw-{target}", raw("10.0.2.15", target))
    tell("raw-spoofed", raw("10.0.2.2", UNLISTED))
    ip(f"route add {UNLISTED}/32 via 10.0.2.3")
    tell("own-route", connect(UNLISTED))
    ip(f"route del {UNLISTED}/32")
    ip(f"addr add {UNLISTED[:-1]}8/24 dev eth0")
    tell("own-network", connect(UNLISTED))
    ip(f"addr del {UNLISTED[:-1]}8/24 dev eth0")
    ip("link set eth0 down")
    ip("link set eth0 address 02:00:00:00:00:77")
    ip("addr flush dev eth0")
    ip("link set eth0 up")
    ip("addr add 10.0.2.20/24 dev eth0")
    ip("route add default via 10.0.2.2")
    tell("changed-listed", connect(LISTED))
    tell("changed-unlisted", connect(UNLISTED))

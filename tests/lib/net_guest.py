# SPDX-License-Identifier: Apache-2.0
"""A guest that sends its own frames on the stream of stepback-net."""
import ipaddress
import itertools
import json
import os
import select
import socket
import struct
import subprocess
import time

from tap_functions import Failed

PROGRAM = os.path.join(os.environ.get("STEPBACK_LIBEXECDIR", os.getcwd()),
                       "stepback-net")
MAC = bytes.fromhex("525400123456")
GATEWAY_MAC = bytes.fromhex("52550a000202")
IP, IP6 = "10.0.2.15", "fec0::5054:ff:fe12:3456"
ICMP, TCP, UDP, ICMP6 = 1, 6, 17, 58
NUMBERS = itertools.count(1000)  # of packets that come in parts
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def packed(address):
    return ipaddress.ip_address(address).packed


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ethernet(kind, payload, source=MAC, target=GATEWAY_MAC):
    return target + source + struct.pack("!H", kind) + payload


def arp(operation, sender, target, mac=MAC, claimed=None):
    return ethernet(0x0806, struct.pack(
        "!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, operation, claimed or mac,
        packed(sender), bytes(6), packed(target)), mac, b"\xff" * 6)


def ipv4(protocol, payload, target, source=IP, id=1, offset=0, more=False,
         mac=MAC, options=b"", total=None):
    header = struct.pack(
        "!BBHHHBBH4s4s", 0x45 + len(options) // 4, 0,
        total or 20 + len(options) + len(payload), id,
        (0x2000 if more else 0) | offset // 8, 64, protocol, 0, packed(source),
        packed(target)) + options
    header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
    return ethernet(0x0800, header + payload, mac)


def ipv6(protocol, payload, target, source=IP6, hops=64, mac=MAC):
    return ethernet(0x86dd, struct.pack(
        "!IHBB16s16s", 6 << 28, len(payload), protocol, hops, packed(source),
        packed(target)) + payload, mac)


def with_sum(data, at, protocol, source, target):
    pseudo = packed(source) + packed(target) + struct.pack(
        "!IHBB", len(data), 0, 0, protocol)
    if protocol == ICMP:
        pseudo = b""
    return data[:at] + struct.pack("!H", checksum(pseudo + data)) + data[at + 2:]


def packet(protocol, payload, target, source=None, **more):
    """Of either family, with the sum of what it carries."""
    v6 = ":" in target
    source = source or (IP6 if v6 else IP)
    payload = with_sum(payload, {TCP: 16, UDP: 6}.get(protocol, 2), protocol,
                       source, target)
    return (ipv6 if v6 else ipv4)(protocol, payload, target, source, **more)


def part(frame, begin, end, id, more=None):
    """That part of what a frame without options carries."""
    v6 = frame[12] == 0x86
    header = 54 if v6 else 34
    payload = frame[header:]
    more = end < len(payload) if more is None else more
    ip, data = frame[14:header], payload[begin:end]
    if v6:
        ip = ip[:4] + struct.pack("!HB", 8 + len(data), 44) + ip[7:] + \
            struct.pack("!BBHI", ip[6], 0, begin | more, id)
    else:
        ip = ip[:2] + struct.pack("!HHH", 20 + len(data), id, begin // 8 |
                                  (0x2000 if more else 0)) + ip[6 + 2:]
        ip = ip[:10] + b"\0\0" + ip[12:]
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return frame[:14] + ip + data


def in_parts(frame, size=1400, id=None):
    """A frame of any length, as a guest's system would send it."""
    id = next(NUMBERS) if id is None else id
    length = len(frame) - (54 if frame[12] == 0x86 else 34)
    return [part(frame, at, min(at + size, length), id)
            for at in range(0, length, size)]


def udp(target, port, data, source_port=40000, **more):
    return packet(UDP, struct.pack("!HHHH", source_port, port, 8 + len(data),
                                   0) + data, target, **more)


def tcp(target, port, source_port, flags, seq=0, ack=0, data=b"", mss=None,
        **more):
    options = struct.pack("!BBH", 2, 4, mss) if mss and flags & SYN else b""
    return packet(TCP, struct.pack("!HHIIBBHHH", source_port, port,
                                   seq & 0xffffffff, ack & 0xffffffff,
                                   (5 + len(options) // 4) << 4, flags, 65000,
                                   0, 0) + options + data, target, **more)


def echo(target, length=32, **more):
    v6 = ":" in target
    return packet(ICMP6 if v6 else ICMP, struct.pack(
        "!BBHHH", 128 if v6 else 8, 0, 0, 7, 1) + b"x" * length, target, **more)


class Packet:
    """What came, taken apart as far as the tests ask."""

    def __init__(self, frame):
        self.frame = frame
        self.kind, = struct.unpack("!H", frame[12:14])
        self.protocol = self.source = self.target = self.id = None
        ip = frame[14:]
        if self.kind == 0x0800:
            assert checksum(ip[:20]) == 0, "the sum of IPv4 is wrong"
            self.protocol, length = ip[9], struct.unpack("!H", ip[2:4])[0]
            self.id, = struct.unpack("!H", ip[4:6])
            self.offset = struct.unpack("!H", ip[6:8])[0]
            self.source, self.target = ip[12:16], ip[16:20]
            self.payload = ip[20:length]
        elif self.kind == 0x86dd:
            self.protocol, length = ip[6], struct.unpack("!H", ip[4:6])[0]
            self.offset, begin = 0, 40
            if self.protocol == 44:
                self.protocol, _, offset, self.id = struct.unpack(
                    "!BBHI", ip[40:48])
                self.offset, begin = offset >> 3 | (offset & 1) << 13, 48
            self.source, self.target = ip[8:24], ip[24:40]
            self.payload = ip[begin:40 + length]
        if self.protocol is not None:
            self.source = str(ipaddress.ip_address(self.source))
            self.target = str(ipaddress.ip_address(self.target))
            if self.offset & 0x3fff == 0:
                self.check_sum()
        if self.protocol in (TCP, UDP) and self.offset & 0x1fff == 0:
            self.sport, self.dport = struct.unpack("!HH", self.payload[:4])
        if self.protocol == TCP:
            self.seq, self.ack = struct.unpack("!II", self.payload[4:12])
            self.flags = self.payload[13]
            self.data = self.payload[(self.payload[12] >> 4) * 4:]
        if self.protocol == UDP:
            self.data = self.payload[8:]

    def check_sum(self):
        if self.protocol == UDP and self.payload[6:8] == b"\0\0":
            return
        pseudo = packed(self.source) + packed(self.target) + struct.pack(
            "!IHBB", len(self.payload), 0, 0, self.protocol)
        assert checksum((b"" if self.protocol == ICMP else pseudo) +
                        self.payload) == 0, "a sum is wrong"

    def is_refusal(self):
        return (self.protocol == ICMP and self.payload[:2] == b"\3\15") or \
            (self.protocol == ICMP6 and self.payload[:2] == b"\1\1")


class Guest:
    """stepback-net with QEMU's and the agent's ends of its sockets."""

    def __init__(self, policy, dns=None, configure=True, **options):
        self.stream, stream = socket.socketpair()
        self.control, control = socket.socketpair()
        self.ports, ports = socket.socketpair(socket.AF_UNIX,
                                              socket.SOCK_SEQPACKET)
        self.names, names = socket.socketpair(socket.AF_UNIX,
                                              socket.SOCK_SEQPACKET)
        command = [PROGRAM, f"--stream-fd={stream.fileno()}",
                   f"--control-fd={control.fileno()}",
                   f"--ports-fd={ports.fileno()}",
                   f"--names-fd={names.fileno()}", "--log-level=debug"]
        if "seccomp" in options:
            command.append(f"--seccomp={options['seccomp']}")
        if "files" in options:
            command = ["prlimit", f"--nofile={options['files']}", *command]
        self.process = subprocess.Popen(
            command,
            pass_fds=(stream.fileno(), control.fileno(), ports.fileno(),
                      names.fileno()))
        stream.close()
        control.close()
        ports.close()
        names.close()
        self.lines = self.control.makefile("r")
        self.input = b""
        self.events = []
        self.last_id = 0
        self.port = 41000
        if configure:
            self.configure(network_policy=policy, dns_server=dns)
            self.meet()

    # ---- the agent ----

    def request(self, kind, payload):
        self.last_id += 1
        self.control.sendall(json.dumps(
            {"type": kind, "request_id": str(self.last_id),
             "payload": payload}).encode() + b"\n")
        while True:
            line = self.lines.readline()
            if not line:
                raise Failed("stepback-net has ended")
            message = json.loads(line)
            if message["type"] == "response":
                return message
            self.events.append(message)

    def configure(self, **payload):
        answer = self.request("configure", payload)
        if answer["status"] != "ok":
            raise Failed(answer["error"]["message"])

    def publish(self, guest_port, protocol="tcp", address="127.0.0.1"):
        """As the agent does. The port's id, and the host's port."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM if protocol ==
                           "udp" else socket.SOCK_STREAM) as sock:
            sock.bind((address, 0))
            if protocol == "tcp":
                sock.listen(128)
            socket.send_fds(self.ports, [b"p"], [sock.fileno()])
            host_port = sock.getsockname()[1]
            id = self.last_id
            answer = self.request("port.add", {
                "id": id, "protocol": protocol, "guest_port": guest_port})
        if answer["status"] != "ok":
            raise Failed(answer["error"]["message"])
        return id, host_port

    def unpublish(self, id):
        answer = self.request("port.remove", {"id": id})
        if answer["status"] != "ok":
            raise Failed(answer["error"]["message"])

    def accept(self, own_port, patience=3, **more):
        """The next connection to a port of the guest, or None."""
        found = self.wait(lambda found: found.protocol == TCP and
                          found.flags & (SYN | ACK) == SYN and
                          found.dport == own_port, patience)
        if not found:
            return None
        connection = Connection(self, found.source, found.sport, own_port, more)
        connection.seq, connection.ack = 7000, found.seq + 1
        connection.segment(SYN | ACK)
        connection.seq += 1
        return connection

    def status(self):
        return self.request("status", {})["payload"]

    def refused(self):
        """The payloads of event.refused so far."""
        time.sleep(0.45)
        self.status()
        return [event["payload"] for event in self.events
                if event["type"] == "event.refused"]

    # ---- frames ----

    def send(self, *frames):
        self.stream.sendall(b"".join(struct.pack("!I", len(frame)) + frame
                                     for frame in frames))

    def frames(self, patience):
        """The next frames; ends when none has come for so long."""
        end = time.monotonic() + patience
        while True:
            while len(self.input) >= 4:
                length, = struct.unpack("!I", self.input[:4])
                if len(self.input) < 4 + length:
                    break
                frame = self.input[4:4 + length]
                self.input = self.input[4 + length:]
                yield Packet(frame)
            left = end - time.monotonic()
            if left < 0 or not select.select([self.stream], [], [], left)[0]:
                return
            data = self.stream.recv(1 << 20)
            if not data:
                raise Failed("stepback-net has ended")
            self.input += data

    def wait(self, wanted, patience=3):
        for found in self.frames(patience):
            if wanted(found):
                return found
        return None

    def whole(self, protocol, patience=3):
        """What a packet carries that comes in parts, and where it is from."""
        got = {}
        for found in self.frames(patience):
            if found.protocol != protocol or found.is_refusal():
                continue
            if len(found.frame) > 1514:
                raise Failed(f"a frame of {len(found.frame)} bytes")
            got[found.offset & 0x1fff] = found
            parts = [got[at] for at in sorted(got)]
            data = b"".join(one.payload for one in parts)
            if parts[-1].offset & 0x2000 == 0 and \
                    8 * (parts[-1].offset & 0x1fff) == \
                    len(data) - len(parts[-1].payload):
                self.check_whole(parts, data)
                return data, parts[0].source
        return None

    @staticmethod
    def check_whole(parts, data):
        one = parts[0]
        if len({part.id for part in parts[1:]} | {one.id}) != 1:
            raise Failed("parts of several packets")
        pseudo = packed(one.source) + packed(one.target) + struct.pack(
            "!IHBB", len(data), 0, 0, one.protocol)
        if checksum((b"" if one.protocol == ICMP else pseudo) + data) != 0:
            raise Failed("the sum of the whole is wrong")

    def drain(self, patience=0.1):
        for _ in self.frames(patience):
            pass

    def quiet(self, wanted=lambda found: True, patience=0.06):
        """True if no such frame comes."""
        return self.wait(wanted, patience) is None

    def meet(self):
        """As every system does: ask for the gateways."""
        self.send(arp(1, IP, "10.0.2.2"))
        if not self.wait(lambda found: found.kind == 0x0806):
            raise Failed("the gateway does not answer ARP")

    # ---- operations of programs ----

    def ask_udp(self, target, port=8000, data=b"?" * 40, patience=3, **more):
        """The answer's data, "refused" or None."""
        self.port += 1
        self.send(udp(target, port, data, self.port, **more))
        found = self.wait(lambda found: found.is_refusal() or (
            found.protocol == UDP and found.dport == self.port), patience)
        return found and ("refused" if found.is_refusal() else found)

    def connect(self, target, port=8000, patience=3, **more):
        """A connection, "refused" (by the policy), "reset" or None."""
        self.port += 1
        connection = Connection(self, target, port, self.port, more)
        self.send(tcp(target, port, self.port, SYN, 1000, **more))
        found = self.wait(lambda found: found.is_refusal() or (
            found.protocol == TCP and found.dport == connection.own_port),
            patience)
        if found is None:
            return None
        if found.is_refusal():
            return "refused"
        if found.flags & RST:
            return "reset"
        connection.ack = found.seq + 1
        connection.acknowledge()
        return connection

    def close(self):
        self.stream.close()
        status = self.process.wait(5)
        self.control.close()
        self.ports.close()
        return status


class Connection:
    def __init__(self, guest, target, port, own_port, more):
        self.guest, self.target, self.port = guest, target, port
        self.own_port, self.more = own_port, more
        self.seq, self.ack = 1001, 0

    def segment(self, flags, data=b""):
        self.guest.send(tcp(self.target, self.port, self.own_port, flags,
                            self.seq, self.ack, data, **self.more))
        self.seq += len(data)

    def acknowledge(self):
        self.segment(ACK)

    def is_mine(self, found):
        return found.protocol == TCP and found.dport == self.own_port and \
            found.sport == self.port

    def read(self, patience=3):
        """Some data; b"" at the end, None if nothing comes."""
        while True:
            found = self.guest.wait(self.is_mine, patience)
            if found is None:
                return None
            if found.flags & RST:
                return b""
            if found.data and found.seq == self.ack & 0xffffffff:
                self.ack += len(found.data)
                self.acknowledge()
                return found.data
            if found.flags & FIN:
                return b""

    def write(self, data):
        self.segment(ACK | PSH, data)

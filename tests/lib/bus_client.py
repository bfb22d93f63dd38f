# SPDX-License-Identifier: Apache-2.0
"""A connection to a message bus, byte for byte. As a program, without any other file: it
makes the calls in its argument, and prints their ends and the signals that came. A test
runs that in a sandbox."""
import json
import os
import socket
import struct
import sys

CALL, ANSWER, ERROR, SIGNAL = 1, 2, 3, 4
BUS, BUS_PATH = "org.freedesktop.DBus", "/org/freedesktop/DBus"
FIELDS = {1: "path", 2: "interface", 3: "member", 4: "error", 5: "answers",
          6: "destination", 7: "sender", 8: "signature"}
SIGNATURES = {"path": "o", "answers": "u", "signature": "g"}
CODES = {name: code for code, name in FIELDS.items()}
PATIENCE = 20


def pad(data, size):
    return data + b"\0" * (-len(data) % size)


def text(value):
    return struct.pack("<I", len(value)) + value.encode() + b"\0"


def message(kind, serial, fields, body=b""):
    header = b""
    for name, value in fields.items():
        signature = SIGNATURES.get(name, "s")
        header = pad(header, 8) + bytes((CODES[name], 1)) + signature.encode() + b"\0"
        if signature == "u":
            header = pad(header, 4) + struct.pack("<I", value)
        elif signature == "g":
            header += bytes((len(value),)) + value.encode() + b"\0"
        else:
            header = pad(header, 4) + text(value)
    start = struct.pack("<cBBBII", b"l", kind, 0, 1, len(body), serial)
    return pad(start + struct.pack("<I", len(header)) + header, 8) + body


def fields_of(data):
    found, at = {}, 0
    while at < len(data):
        at += -at % 8
        code, signature = data[at], data[at + 2:at + 3]
        at += 4
        if signature == b"g":
            length = data[at]
            value, at = data[at + 1:at + 1 + length].decode(), at + length + 2
        else:
            at += -at % 4
            [value] = struct.unpack_from("<I", data, at)
            at += 4
            if signature != b"u":
                value, at = data[at:at + value].decode(), at + value + 1
        found[FIELDS.get(code, code)] = value
    return found


class Connection:
    def __init__(self, path):
        self.signals = []
        self.serial = 0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)  # waits, which it does not with a time-out
        self.socket.settimeout(PATIENCE)
        self.file = self.socket.makefile("rb")
        uid = str(os.geteuid()).encode().hex().encode()
        self.socket.sendall(b"\0AUTH EXTERNAL %s\r\n" % uid)
        line = self.file.readline()
        assert line.startswith(b"OK"), line
        self.socket.sendall(b"BEGIN\r\n")
        self.name = self.ask(BUS, BUS_PATH, BUS, "Hello")[2][4:-1].decode()

    def send(self, kind, body=b"", **fields):
        """The serial; fields without a value are left out."""
        self.serial += 1
        fields = {name: value for name, value in fields.items() if value}
        self.socket.sendall(message(kind, self.serial, fields, body))
        return self.serial

    def read(self):
        """Kind, fields and body of the next message; the kind is 0 at the end."""
        start = self.file.read(16)
        if len(start) < 16:
            return 0, {}, b""
        _, kind, _, _, body, serial, length = struct.unpack("<cBBBIII", start)
        fields = fields_of(self.file.read(length + -length % 8)[:length])
        return kind, dict(fields, serial=serial), self.file.read(body)

    def ask(self, destination, path, interface, member, *texts, kind=CALL):
        """Make a call with strings as arguments: kind, fields and body of its end."""
        body = b""
        for value in texts:
            body = pad(body, 4) + text(value)
        serial = self.send(kind, body, destination=destination, path=path,
                           interface=interface, member=member, signature="s" * len(texts))
        while True:
            kind, fields, body = self.read()
            if kind == SIGNAL:
                self.signals.append([fields["path"], fields["interface"], fields["member"]])
            if kind == 0 or fields.get("answers") == serial:
                return kind, fields, body

    def end(self, *words):
        """The end of a call: "answer", an error's name, or "closed"."""
        kind, fields, _ = self.ask(*words)
        return {ANSWER: "answer", ERROR: fields.get("error")}.get(kind, "closed")


def run():
    connection = Connection(os.environ["DBUS_SESSION_BUS_ADDRESS"][len("unix:path="):])
    ends = []
    for words in json.loads(sys.argv[1]):
        if words[0] == "signal":
            connection.send(SIGNAL, **words[1])
        elif words[0] == "names":
            body = connection.ask(BUS, BUS_PATH, BUS, "ListNames")[2]
            ends.append([part.decode() for part in body.split(b"\0") if b"." in part])
        else:
            ends.append(connection.end(*words))
    print(json.dumps({"ends": ends, "signals": connection.signals}))


if __name__ == "__main__":
    run()

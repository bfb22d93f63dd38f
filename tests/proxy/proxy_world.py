# SPDX-License-Identifier: Apache-2.0
"""stepback-proxy with the ends of its channels, and servers for it.

    here    the test and its servers: PUBLIC, OTHER, PRIVATE, METADATA, PUBLIC6
    host    192.0.2.1: the proxy, in a network namespace of its own
"""
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from byte_relay import (  # noqa: E402,F401
    connect_port, join, port_of, read_head)
from far_network import (  # noqa: E402
    FAR, LINK, NEAR, ROUTES, add_addresses, enter as enter_network, sh)
from tap_functions import Failed, check, equal, run  # noqa: E402,F401

PUBLIC, OTHER, PRIVATE = "198.51.100.7", "198.51.100.8", "10.77.0.7"
METADATA, PUBLIC6, OWN = "169.254.169.254", "2001:db8:1::7", "192.0.2.1"
SILENT = "203.0.113.9"  # takes packets and does not answer
NAME = "api.example.org"
PROGRAM = os.path.join(os.environ.get("STEPBACK_LIBEXECDIR", os.getcwd()),
                       "stepback-proxy")
PATIENCE = 20


def wait_for(condition, text):
    end = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < end, f"in vain: {text}")
        time.sleep(0.01)


# ---- the networks -----------------------------------------------------------

def enter():
    return enter_network("PROXY_WORLD")


class World:
    """The network of the host, which a child process keeps."""

    def __init__(self):
        sh(LINK)
        self.child = subprocess.Popen(
            ["unshare", "-n", "sh", "-c", "echo ready; read line"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.child.stdout.readline()
        pid = self.child.pid
        self.inside = ["nsenter", f"--net=/proc/{pid}/ns/net"]
        sh(f"ip link set near netns {pid} && {FAR}")
        add_addresses((PUBLIC, OTHER, PRIVATE, METADATA, PUBLIC6))
        sh(f"ip route add blackhole {SILENT}/32")
        sh(" ".join(self.inside) +
           f" sh -c 'ip link set lo up && {NEAR} && {ROUTES}'")

    def close(self):
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()


class Server:
    """Calls talk(connection) in a thread for each connection."""

    def __init__(self, talk, address=PUBLIC, port=0):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((address, port))
        self.listener.listen(1024)
        self.port = self.listener.getsockname()[1]
        self.talk = talk
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,),
                             daemon=True).start()

    def serve(self, connection):
        try:
            self.talk(connection)
        except OSError:
            pass
        connection.close()

    def close(self):
        # Ends accept(2), which close(2) alone does not.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def echo(connection):
    while data := connection.recv(65536):
        connection.sendall(data)


# ---- the proxy --------------------------------------------------------------

class Proxy:
    """Plays the supervisor, which resolves all names to self.addresses and
    answers requests for certificates with self.certify(name), and
    stepback-net."""

    def __init__(self, world, policy=None, **options):
        self.world = world
        self.addresses = [PUBLIC]
        self.problem = None
        self.upstream = None  # the position of an upstream proxy
        self.certify = options.get("certify")
        self.events, self.responses = [], {}
        self.last_id = self.last_request = 0
        self.changed = threading.Condition()
        self.control, control = socket.socketpair()
        self.intake, intake = socket.socketpair(socket.AF_UNIX,
                                                socket.SOCK_SEQPACKET)
        # A forbidden system call is seen as the end by SIGSYS.
        self.process = subprocess.Popen(
            [*world.inside, *options.get("prefix", ()),
             options.get("program", PROGRAM), *options.get("options", ()),
             f"--connections-fd={intake.fileno()}",
             f"--control-fd={control.fileno()}", "--log-level=debug",
             "--seccomp=" + options.get("seccomp", "trap")],
            pass_fds=(intake.fileno(), control.fileno(),
                      *options.get("fds", ())))
        control.close()
        intake.close()
        threading.Thread(target=self.listen, daemon=True).start()
        self.request("configure", {"network_policy": policy or "open"})
        self.status()  # it runs

    # ---- the supervisor ----

    def say(self, kind, payload):
        self.last_request += 1
        line = json.dumps({"type": kind, "request_id": str(self.last_request),
                           "payload": payload})
        self.control.sendall(line.encode() + b"\n")
        return str(self.last_request)

    def listen(self):
        with self.control.makefile("r") as lines:
            try:
                for line in lines:
                    self.hear(json.loads(line))
            except OSError:
                pass

    def hear(self, message):
        with self.changed:
            payload = message.get("payload")
            if message["type"] == "event.resolve" and \
                    self.addresses is not None:
                answer = {"id": payload["id"], "addresses": self.addresses,
                          "error": self.problem}
                if self.upstream is not None:
                    answer["upstream"] = self.upstream
                self.say("resolved", answer)
            elif message["type"] == "event.certificate" and self.certify:
                self.say("certificate", {"name": payload["name"],
                                         **self.certify(payload["name"])})
            elif message["type"] == "response":
                self.responses[message["request_id"]] = message
            self.events.append((message["type"], payload))
            self.changed.notify_all()

    def request(self, kind, payload):
        with self.changed:
            request = self.say(kind, payload)
            check(self.changed.wait_for(lambda: request in self.responses,
                                        PATIENCE), f"{kind}: no answer")
            message = self.responses.pop(request)
        equal(message["status"], "ok", f"{kind}: {message}")
        return message["payload"]

    def status(self):
        return self.request("status", {})

    def ended(self, connection):
        """The event of a connection's end."""
        def find():
            for kind, payload in self.events:
                if kind == "event.connection" and payload["id"] == connection:
                    return payload
            return None
        with self.changed:
            check(self.changed.wait_for(find, PATIENCE),
                  f"connection {connection} does not end")
            return find()

    def named(self, kind):
        """The events of a kind."""
        with self.changed:
            return [payload for name, payload in self.events if name == kind]

    # ---- stepback-net ----

    def connect(self, port, kind="raw", name=NAME):
        """The guest's side of a new connection, with its id."""
        self.last_id += 1
        guest, other = socket.socketpair()
        message = {"id": self.last_id, "name": name, "port": port,
                   "check": kind}
        socket.send_fds(self.intake, [json.dumps(message).encode()],
                        [other.fileno()])
        other.close()
        guest.settimeout(PATIENCE)
        return guest, self.last_id

    # ---- the process ----

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory(self):
        """The most memory at any time, in KiB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmHWM"):
                    return int(line.split()[1])
        return 0

    def is_readable(self):
        """Whether the process's memory is; only root's is, as a rule."""
        try:
            with open(f"/proc/{self.process.pid}/mem", "rb", 0):
                return True
        except OSError:
            return False

    def count_in_memory(self, text):
        """How often the process has the text in memory that it may write."""
        count = 0
        with open(f"/proc/{self.process.pid}/maps", encoding="ascii") as maps, \
                open(f"/proc/{self.process.pid}/mem", "rb", 0) as memory:
            for line in maps:
                part, rights = line.split()[:2]
                begin, end = (int(word, 16) for word in part.split("-"))
                if rights.startswith("rw"):
                    memory.seek(begin)
                    count += memory.read(end - begin).count(text.encode())
        return count

    def close(self):
        """Close the control channel: the proxy must end by itself."""
        self.control.shutdown(socket.SHUT_RDWR)
        code = self.process.wait(PATIENCE)
        self.control.close()
        self.intake.close()
        return code


def read_all(guest):
    """All bytes until the end, and whether it was a reset."""
    found = b""
    while True:
        try:
            data = guest.recv(65536)
        except ConnectionResetError:
            return found, True
        if not data:
            return found, False
        found += data


def read_some(guest, length):
    found = b""
    while len(found) < length:
        data = guest.recv(length - len(found))
        check(data, f"the connection ends after {found!r}")
        found += data
    return found


@contextlib.contextmanager
def proxy(world, policy=None, **options):
    """A proxy that must end in order and keep no connection."""
    running = Proxy(world, policy, **options)
    try:
        yield running
        wait_for(lambda: running.status()["connections"] == 0,
                 "all connections end")
        equal(running.close(), 0, "the exit status")
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


@contextlib.contextmanager
def server(talk, **where):
    running = Server(talk, **where)
    try:
        yield running
    finally:
        running.close()


# ---- the runner -------------------------------------------------------------

def main(names):
    return run(names, enter, World)

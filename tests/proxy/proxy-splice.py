#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proxy-splice - stepback-proxy copies what the checks pass, and nothing else.

The test plays the supervisor and stepback-net (proxy_world.py). TAP on standard
output. One test: proxy-splice.py ITS_FUNCTION.
"""
import hashlib
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from sanitizer import is_sanitized  # noqa: E402
from proxy_world import *  # noqa: E402,F403


# ---- copying ----------------------------------------------------------------

def test_bytes_pass_both_ways(world):
    with proxy(world) as running, server(echo) as to:
        guest, number = running.connect(to.port)
        guest.sendall(b"hello")
        equal(read_some(guest, 5), b"hello", "the echo")
        guest.close()
        event = running.ended(number)
        equal((event["name"], event["port"], event["address"],
               event["verdict"], event["from_guest"], event["to_guest"]),
              (NAME, to.port, PUBLIC, "closed", 5, 5), "the event")


def test_ipv6_is_reached(world):
    with proxy(world) as running, server(echo, address=PUBLIC6) as to:
        running.addresses = [PUBLIC6]
        guest, _ = running.connect(to.port)
        guest.sendall(b"hello")
        equal(read_some(guest, 5), b"hello", "the echo")
        guest.close()


def test_each_direction_ends_by_itself(world):
    def answer_at_end(connection):
        found = b""
        while data := connection.recv(65536):
            found += data
        connection.sendall(b"got " + found)

    def end_first(connection):
        connection.sendall(b"bye")
        connection.shutdown(socket.SHUT_WR)
        found.append(read_all(connection))

    found = []
    with proxy(world) as running, server(answer_at_end) as to, \
            server(end_first) as first:
        guest, number = running.connect(to.port)
        guest.sendall(b"question")
        guest.shutdown(socket.SHUT_WR)
        equal(read_all(guest), (b"got question", False), "the answer")
        equal(running.ended(number)["verdict"], "closed", "the verdict")
        guest, number = running.connect(first.port)
        equal(read_all(guest), (b"bye", False), "the server's bytes")
        guest.sendall(b"and more")
        guest.close()
        running.ended(number)
        wait_for(lambda: found, "the server sees the end")
        equal(found, [(b"and more", False)], "the guest's bytes")


def test_a_reset_ends_both_directions(world):
    def reset(connection):
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                              struct.pack("ii", 1, 0))

    def listen(connection):
        connection.sendall(b"x")
        found.append(read_all(connection))

    found = []
    with proxy(world) as running, server(reset) as to, \
            server(listen) as listener:
        guest, number = running.connect(to.port)
        guest.sendall(b"x")
        read_all(guest)
        running.ended(number)
        # The guest's system sends a reset for bytes that come after its end.
        guest, number = running.connect(listener.port)
        equal(guest.recv(0), b"", "nothing")
        wait_for(lambda: running.status()["bytes"]["to_guest"] == 1, "a byte")
        guest.close()  # with an unread byte
        running.ended(number)
        wait_for(lambda: found, "the server sees it")
        equal(found, [(b"", True)], "the server's end")


def test_64_MiB_arrive_unchanged_in_bounded_memory(world):
    block = os.urandom(1 << 20)
    sums = {}

    def send(connection, key):
        told = hashlib.sha256()
        for number in range(64):
            data = bytes([number]) + block[1:]
            told.update(data)
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        sums[key] = told.hexdigest()

    def receive(connection):
        found = hashlib.sha256()
        while data := connection.recv(1 << 18):
            found.update(data)
        return found.hexdigest()

    def talk(connection):
        thread = threading.Thread(target=send, args=(connection, "server"))
        thread.start()
        sums["to server"] = receive(connection)
        thread.join()

    with proxy(world) as running, server(talk) as to:
        guest, number = running.connect(to.port)
        before = running.memory()
        thread = threading.Thread(target=send, args=(guest, "guest"))
        thread.start()
        sums["to guest"] = receive(guest)
        thread.join()
        event = running.ended(number)
        equal(event["from_guest"], 64 << 20, "bytes to the server")
        equal(event["to_guest"], 64 << 20, "bytes to the guest")
        wait_for(lambda: len(sums) == 4, "the server gets everything")
        equal(sums["to server"], sums["guest"], "the guest's sum")
        equal(sums["to guest"], sums["server"], "the server's sum")
        check(is_sanitized(running.process.pid) or
              running.memory() - before < 1024, "memory grows")


def fill(sender):
    """Send until nothing has gone for a while. Return the number of bytes."""
    sender.settimeout(0.2)
    count = 0
    try:
        while count < 64 << 20:
            count += sender.send(bytes(65536))
    except TimeoutError:
        pass
    sender.settimeout(PATIENCE)
    return count


def test_a_reader_that_sleeps_stops_the_sender(world):
    ready, counts = threading.Event(), []

    def sleep(connection):
        ready.wait(PATIENCE)
        counts.append(len(read_all(connection)[0]))

    with proxy(world) as running, server(sleep) as to:
        before = running.memory()
        guest, _ = running.connect(to.port)
        sent = fill(guest)
        check(sent < 32 << 20, f"the guest could send {sent} bytes")
        check(is_sanitized(running.process.pid) or
              running.memory() - before < 1024, "memory grows")
        used = cpu(running)
        time.sleep(0.3)
        check(cpu(running) - used < 0.1, "the proxy is busy")
        ready.set()
        guest.shutdown(socket.SHUT_WR)
        wait_for(lambda: counts, "the server gets everything")
        equal(counts, [sent], "bytes that arrive")
        guest.close()


def cpu(running):
    """Seconds of the processor."""
    with open(f"/proc/{running.process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_ends_of_blocked_connections_do_not_keep_the_proxy_busy(world):
    """A guest or a server that is gone while its bytes wait."""
    ready = threading.Event()

    def sleep(connection):
        ready.wait(PATIENCE)

    with proxy(world) as running, server(sleep) as to:
        guest, number = running.connect(to.port)
        fill(guest)
        guest.close()
        used = cpu(running)
        time.sleep(0.3)
        check(cpu(running) - used < 0.1, "the proxy is busy")
        ready.set()
        running.ended(number)


# ---- addresses --------------------------------------------------------------

def test_internal_addresses_are_refused(world):
    with proxy(world) as running, server(echo, address="0.0.0.0") as to:
        for address in (PRIVATE, METADATA, OWN, "127.0.0.1", "::1", "0.0.0.0",
                        "::ffff:198.51.100.7", "64:ff9b::a4d:7", "2001:db8::1",
                        "fd00::1", "fe80::1", "10.0.2.2", "198.18.0.1"):
            running.addresses = [address]
            guest, number = running.connect(to.port)
            event = running.ended(number)
            equal((event["verdict"], event["address"]), ("refused", None),
                  address)
            check(str(address) in event["reason"], event["reason"])
            equal(read_all(guest), (b"", False), "the guest's end")
        running.addresses = ["127.0.0.1", PRIVATE, PUBLIC]
        guest, _ = running.connect(to.port)
        guest.sendall(b"x")
        equal(read_some(guest, 1), b"x", "the public one of several")
        guest.close()
        # Address entries of the policy open them.
        running.request("configure",
                        {"network_policy": {"allow": [f"raw:{NAME}:{to.port}",
                                                      "10.77.0.0/16"]}})
        running.addresses = [PRIVATE]
        guest, number = running.connect(to.port)
        guest.sendall(b"x")
        equal(read_some(guest, 1), b"x", "a listed one")
        guest.close()
        equal(running.ended(number)["address"], PRIVATE, "the address")


def test_a_policy_that_takes_an_address_back(world):
    """It ends connections to the address, and attempts, and no others."""
    with server(echo, address=PRIVATE) as to, server(echo) as public, \
            proxy(world, {"allow": [NAME]}) as running:
        names = [f"raw:{NAME}:{to.port}", f"raw:{NAME}:{public.port}"]
        both = {"allow": [*names, PRIVATE + "/32", "10.77.0.8/32"]}
        running.request("configure", {"network_policy": both})
        sh("ip route replace blackhole 10.77.0.8/32")
        running.addresses = [PRIVATE]
        guest, number = running.connect(to.port)
        guest.sendall(b"x")
        equal(read_some(guest, 1), b"x", "the echo")
        running.addresses = ["10.77.0.8"]
        waiting, attempt = running.connect(to.port)
        wait_for(lambda: any(kind == "event.resolve" and
                             payload["id"] == attempt
                             for kind, payload in list(running.events)),
                 "the attempt")
        running.addresses = [PUBLIC]
        other, _ = running.connect(public.port)
        other.sendall(b"x")
        equal(read_some(other, 1), b"x", "the echo")
        running.request("configure", {"network_policy": both})
        guest.sendall(b"y")
        equal(read_some(guest, 1), b"y", "the same policy")
        running.request("configure", {"network_policy": {"allow": names}})
        for one, end in ((guest, number), (waiting, attempt)):
            equal(read_all(one)[0], b"", "the end")
            event = running.ended(end)
            equal(event["verdict"], "refused", "the verdict")
            check("no longer allows" in event["reason"], event["reason"])
        other.sendall(b"z")
        equal(read_some(other, 1), b"z", "a public address")
        other.close()


def test_a_policy_that_takes_a_name_back(world):
    """The proxy does not rely on stepback-net, which the guest may control."""
    with server(echo) as to, proxy(world, {"allow": [NAME]}) as running:
        name = f"raw:{NAME}:{to.port}"
        running.request("configure", {"network_policy": {"allow": [name]}})
        guest, number = running.connect(to.port)
        guest.sendall(b"x")
        equal(read_some(guest, 1), b"x", "the echo")
        running.request("configure", {"network_policy": {"allow": ["x.example"]}})
        equal(read_all(guest)[0], b"", "the end")
        equal(running.ended(number)["verdict"], "refused", "the verdict")


def test_other_addresses_are_tried(world):
    with proxy(world) as running, server(echo) as to:
        # The first refuses; nothing answers at the second.
        running.addresses = [OTHER, SILENT, PUBLIC6, PUBLIC]
        guest, number = running.connect(to.port)
        guest.sendall(b"x")
        equal(read_some(guest, 1), b"x", "the echo")
        guest.close()
        equal(running.ended(number)["address"], PUBLIC, "the address")
        running.addresses = [OTHER]
        guest, number = running.connect(to.port)
        event = running.ended(number)
        equal((event["verdict"], event["address"]), ("closed", None), "refused")
        check("Connection refused" in event["reason"], event["reason"])


def test_a_name_without_addresses_ends_the_connection(world):
    with proxy(world) as running:
        running.addresses, running.problem = [], "no such name"
        guest, number = running.connect(80)
        event = running.ended(number)
        equal(event["verdict"], "closed", "the verdict")
        check("no such name" in event["reason"], event["reason"])
        equal(read_all(guest), (b"", False), "the guest's end")
        # One that leaves while its name is resolved.
        running.addresses = None
        guest, number = running.connect(80)
        guest.close()
        running.ended(number)
        running.request("resolved", {"id": number, "addresses": [PUBLIC],
                                     "error": None})


# ---- limits and hostile messages --------------------------------------------

def test_1000_connections_and_no_more(world):
    begin = time.monotonic()
    with proxy(world) as running, server(echo) as to:
        fds = running.fds()
        guests = [running.connect(to.port)[0] for _ in range(1000)]
        for guest in guests:
            guest.sendall(b"x")
        for guest in guests:
            equal(read_some(guest, 1), b"x", "the echo")
        guest, number = running.connect(to.port)
        equal(read_all(guest), (b"", False), "one too many")
        equal(running.status()["connections"], 1000, "open connections")
        equal(running.status()["refused"], 1, "refused connections")
        guests.pop().close()
        wait_for(lambda: running.status()["connections"] == 999, "one ends")
        guest, _ = running.connect(to.port)
        guest.sendall(b"x")
        equal(read_some(guest, 1), b"x", "a new one")
        guest.close()
        for guest in guests:
            guest.close()
        wait_for(lambda: running.fds() == fds, "all sockets are closed")
        told = [kind for kind, _ in running.events].count("event.connection")
        check(told <= 20 * (time.monotonic() - begin + 2), "too many events")
        wait_for(lambda: "event.connections_untold" in
                 [kind for kind, _ in running.events], "the others are counted")


def test_malformed_messages_are_dropped(world):
    good = {"id": 1 << 40, "name": NAME, "port": 80, "check": "raw"}
    with proxy(world) as running, server(echo) as to:
        fds = running.fds()
        pair = socket.socketpair()
        numbers = [pair[0].fileno()]
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with open(os.devnull, "rb") as null:
            for change, carried in (
                    ({"name": ""}, numbers), ({"name": "x" * 300}, numbers),
                    ({"name": 7}, numbers), ({"name": "x" * 2000}, numbers),
                    ({"port": 0}, numbers), ({"port": 65536}, numbers),
                    ({"check": "none"}, numbers), ({"id": -1}, numbers),
                    ({"id": "1"}, numbers), ({}, []), ({}, numbers * 2),
                    ({}, numbers * 9), ({}, [null.fileno()]),
                    ({}, [udp.fileno()])):
                socket.send_fds(running.intake,
                                [json.dumps({**good, **change}).encode()],
                                carried)
            for text in (b"{", b"\0", b"[]", b"null", b"{} x"):
                socket.send_fds(running.intake, [text], numbers)
            guest, number = running.connect(to.port)
            guest.sendall(b"x")
            equal(read_some(guest, 1), b"x", "a good one afterwards")
            guest.close()
            running.ended(number)
        running.last_id -= 1  # a number that was used
        _, number = running.connect(to.port)
        wait_for(lambda: running.status()["refused"] == 1, "a refusal")
        wait_for(lambda: running.fds() == fds, "all sockets are closed")
        udp.close()
        for end in pair:
            end.close()


def test_unknown_requests_get_errors(world):
    with proxy(world) as running:
        for kind, payload in (("nonsense", {}), ("resolved", {}),
                              ("resolved", {"id": 1, "addresses": ["x"]}),
                              ("configure", {"network_policy": "x"})):
            try:
                running.request(kind, payload)
                found = True
            except Failed:
                found = False
            check(not found, f"{kind} {payload}")


def test_it_ends_with_the_control_channel(world):
    running = Proxy(world)
    with server(echo) as to:
        guest, _ = running.connect(to.port)
        guest.sendall(b"x")
        equal(read_some(guest, 1), b"x", "the echo")
        equal(running.close(), 0, "the process")
        equal(read_all(guest), (b"", False), "the guest's end")


def test_what_is_open_at_the_end_is_reported(world):
    with proxy(world) as running, server(echo) as to:
        guests = [running.connect(to.port) for _ in range(30)]
        for guest, _ in guests:
            guest.sendall(b"hello")
            equal(read_some(guest, 5), b"hello", "the echo")
        running.intake.shutdown(socket.SHUT_RDWR)
        left = running.request("end", {})["connections"]
        equal(sorted((one["id"], one["verdict"], one["from_guest"]) for one in left),
              [(number, "open", 5) for _, number in guests], "what was open")
        for guest, _ in guests:
            equal(read_all(guest), (b"", False), "the guest's end")
        equal(running.request("end", {})["connections"], [], "a second end")
        equal(running.named("event.connection"), [], "further reports")


def test_a_wrong_command_line_is_refused(_):
    for words in ([], ["--connections-fd=0"], ["--nonsense"],
                  ["--connections-fd=0", "--control-fd=1", "--seccomp=x"]):
        found = subprocess.run([PROGRAM, *words], stderr=subprocess.PIPE,
                               check=False)
        equal(found.returncode, 2, words)
        check(found.stderr.startswith(b"stepback-proxy: "), found.stderr)
    found = subprocess.run([PROGRAM, "--version"], stdout=subprocess.PIPE,
                           check=True)
    check(found.stdout.startswith(b"stepback-proxy "), found.stdout)


if __name__ == "__main__":
    sys.exit(main(globals()))

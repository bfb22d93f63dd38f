#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proxy-ask - stepback-proxy holds connections to names under ask until the
supervisor decides.

As proxy-splice.py, which has the rest.
"""
import socket
import sys

sys.dont_write_bytecode = True
from proxy_world import *  # noqa: E402,F403

OTHER_NAME = "other.example.org"


def policy_of(*entries):
    return {"allow": list(entries)}


class Log:
    """An echo server that notes its connections."""

    def __init__(self):
        self.count = 0

    def __call__(self, connection):
        self.count += 1
        echo(connection)


def question(running, name=NAME, count=1):
    """The newest question about the name, of so many."""
    def found():
        return [one for one in running.named("event.ask") if one["name"] == name]
    wait_for(lambda: len(found()) >= count, f"question {count} about {name}")
    equal(len(found()), count, f"questions about {name}")
    return found()[-1]


def decide(running, ask, allow, **more):
    answer = running.request("decide", {"id": ask["id"], "name": ask["name"],
                                        "port": ask["port"], "allow": allow, **more})
    equal(answer, {"decided": True}, "the decision")


def passes(guest, text=b"\x01ping"):
    guest.sendall(text)
    equal(read_some(guest, len(text)), text, "the echo")


def refused(running, number, text):
    event = running.ended(number)
    equal(event["verdict"], "refused", "the verdict")
    check(text in event["reason"], event["reason"])
    return event


def test_a_held_connection_is_left_alone_until_it_is_allowed(world):
    log = Log()
    with server(log) as to, proxy(world, policy_of(f"ask:*:{to.port}")) as running:
        guest, number = running.connect(to.port, "ask")
        guest.sendall(b"\x01arly")
        ask = question(running)
        equal((ask["name"], ask["port"]), (NAME, to.port), "the question")
        running.status()
        equal((running.named("event.resolve"), log.count), ([], 0), "what is sent")
        listed = running.request("connections", {})["connections"]
        equal([(one["id"], one["verdict"], one["reason"]) for one in listed],
              [(number, "open", "held for a decision")], "the list")
        # Its bytes are still in the socket.
        check(guest.send(b"x" * (4 << 20), socket.MSG_DONTWAIT) < 4 << 20, "it is read")
        decide(running, ask, True)
        equal(read_some(guest, 5), b"\x01arly", "the echo")
        guest.close()
        equal(running.ended(number)["verdict"], "closed", "the end")


def test_all_connections_of_a_question_go_on_and_later_ones_ask_again(world):
    with server(echo) as to, proxy(world, policy_of(f"ask:*:{to.port}")) as running:
        guests = [running.connect(to.port, "ask")[0] for _ in range(5)]
        # stepback-net may have been taken over: its check allows nothing.
        guests.append(running.connect(to.port, "raw")[0])
        wait_for(lambda: running.status()["connections"] == 6, "6 are held")
        decide(running, question(running), True)
        for guest in guests:
            passes(guest)
            guest.close()
        guest, number = running.connect(to.port, "ask")
        ask = question(running, count=2)
        equal(running.request("decide", {**ask, "id": ask["id"] - 1, "allow": True}),
              {"decided": False}, "an answer to the first question")
        decide(running, ask, False)
        refused(running, number, "a user has denied it")
        read_all(guest)


def test_an_allowed_connection_has_the_checks_of_a_plain_entry(world):
    with server(echo, port=80), \
            proxy(world, policy_of("ask:*", "secret:" + OTHER_NAME)) as running:
        for name, data, reason in ((NAME, b"SSH-2.0-x\r\n", "HTTP"),
                                   (OTHER_NAME, b"\x00\x01\r\n\r\n", "HTTP")):
            guest, number = running.connect(80, "ask", name)
            guest.sendall(data)
            decide(running, question(running, name), True)
            read_all(guest)
            guest.close()
            event = running.ended(number)
            equal((event["verdict"], event["from_guest"]), ("refused", 0), reason)


def test_a_denial_holds_for_a_while(world):
    with server(echo) as to, proxy(world, policy_of(f"ask:*:{to.port}")) as running:
        _, number = running.connect(to.port, "ask")
        decide(running, question(running), False, reason="nobody answered")
        equal(refused(running, number, "nobody answered")["allow"],
              f"{NAME}:{to.port}", "the entry")
        _, number = running.connect(to.port, "ask")
        refused(running, number, "less than a minute ago")
        # Another name asks; without a time, so does the same name again.
        _, number = running.connect(to.port, "ask", OTHER_NAME)
        decide(running, question(running, OTHER_NAME), False, reason="busy", seconds=0)
        refused(running, number, "busy")
        guest, _ = running.connect(to.port, "ask", OTHER_NAME)
        decide(running, question(running, OTHER_NAME, 2), True)
        passes(guest)
        guest.close()
        equal(len(running.named("event.ask")), 3, "questions")


def test_a_guest_that_closes_withdraws_its_question(world):
    with proxy(world, policy_of("ask:*")) as running:
        first, one = running.connect(80, "ask")
        second, two = running.connect(80, "ask")
        first.sendall(b"unread")
        ask = question(running)
        wait_for(lambda: running.status()["connections"] == 2, "both are held")
        first.close()
        equal(running.ended(one)["verdict"], "closed", "the first one")
        running.status()
        equal(running.named("event.ask_withdrawn"), [], "withdrawn")
        second.shutdown(socket.SHUT_WR)
        equal(running.ended(two)["verdict"], "closed", "the second one")
        running.status()
        equal(running.named("event.ask_withdrawn"), [{"id": ask["id"]}], "withdrawn")
        equal(running.request("decide", {**ask, "allow": True}), {"decided": False},
              "too late")
        second.close()


def test_a_new_policy_decides_what_it_lists(world):
    with server(echo) as to:
        names = [f"n{i}.example.org" for i in range(3)]
        entry = f"ask:*:{to.port}"
        with proxy(world, policy_of(entry)) as running:
            guests = [running.connect(to.port, "ask", name) for name in names]
            asks = [question(running, name) for name in names]
            running.request("configure", {"network_policy": policy_of(
                entry, f"{names[0]}:{to.port}", "deny:" + names[1])})
            passes(guests[0][0])
            refused(running, guests[1][1], "does not allow")
            equal(running.status()["connections"], 2, "connections")
            equal(running.named("event.ask_withdrawn"),
                  [{"id": ask["id"]} for ask in asks[:2]], "withdrawn")
            decide(running, asks[2], True)
            passes(guests[2][0])
            # An allowed one stays under ask, one of the list does not.
            running.request("configure", {"network_policy": policy_of(
                entry, "ask:x.example.org")})
            refused(running, guests[0][1], "now asks")
            passes(guests[2][0])
            running.request("configure", {"network_policy": policy_of("x.example.org")})
            refused(running, guests[2][1], "no longer allows")


def test_questions_and_held_connections_are_limited(world):
    with proxy(world, policy_of("ask:*")) as running:
        held = [running.connect(80, "ask", f"n{i}.example.org") for i in range(8)]
        _, number = running.connect(80, "ask", "n8.example.org")
        refused(running, number, "8 questions")
        held += [running.connect(80, "ask", "n0.example.org") for _ in range(56)]
        _, number = running.connect(80, "ask", "n1.example.org")
        refused(running, number, "64 connections")
        equal(running.status()["connections"], 64, "connections")
        for guest, _ in held:
            guest.close()


def test_questions_in_a_minute_are_limited(world):
    with proxy(world, policy_of("ask:*")) as running:
        for i in range(20):
            guest, _ = running.connect(80, "ask", f"n{i}.example.org")
            question(running, f"n{i}.example.org")
            guest.close()
        wait_for(lambda: running.status()["connections"] == 0, "all are gone")
        running.connect(80, "ask", "n0.example.org")
        wait_for(lambda: running.status()["refused"] == 1, "one is refused")
        # The proxy reports 20 ends in a second.
        wait_for(lambda: running.named("event.connections_untold"), "the rest")
        _, number = running.connect(80, "ask", "n1.example.org")
        refused(running, number, "20 questions in a minute")


if __name__ == "__main__":
    sys.exit(main(globals()))

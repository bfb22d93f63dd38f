#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proxy-http2 - curl(1) and a server of Node.js that speak HTTP/2 through
stepback-proxy, whose policy judges their requests.

STEPBACK_HTTP2_MIB is the size of the large body (8). As proxy-splice.py
otherwise.
"""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "lib"))
from proxy_tls import *  # noqa: E402,F403

MIB = int(os.environ.get("STEPBACK_HTTP2_MIB", "8"))
VALUE, PLACEHOLDER = "a-secret-value-of-a-test", "stepback-abcdefghijkl"
SECRET = {"name": "TOKEN", "placeholder": PLACEHOLDER, "value": VALUE,
          "hosts": [NAME], "headers": ["authorization"]}
SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "http2-server.mjs")


class NodeServer:
    def __init__(self):
        self.process = subprocess.Popen(
            ["node", SERVER, PUBLIC, leaf_of_server(),
             authority("servers").key], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


@contextlib.contextmanager
def http2(world):
    """The program, and a server whose requests below /v1 are allowed."""
    with pass_proxy(world, program=PROGRAM) as running, \
            contextlib.closing(NodeServer()) as to:
        running.request("configure", {
            "network_policy": {"allow": [f"{NAME}:{to.port}/v1",
                                         f"secret:{NAME}:{to.port}"]},
            "secrets": [SECRET]})
        yield running, to


def words(near, port, *more):
    """curl(1) in the guest, for paths of the name."""
    return ["curl", "--silent", "--show-error", "--http2", "--cacert",
            authority("sandbox").certificate, "--connect-to",
            f"{NAME}:{port}:127.0.0.1:{near}",
            *[word if not word.startswith("/v") else
              f"https://{NAME}:{port}{word}" for word in more]]


def curl(running, port, *more):
    with guest_port(running, port) as near:
        done = subprocess.run(words(near, port, *more), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=300,
                              check=False)
    return done.stdout.decode()


def test_many_streams_pass_and_one_is_refused(world):
    """All requests run at the same time on one connection."""
    count = 60
    with http2(world) as (running, to):
        paths = [f"/v1/gate/{count}?{i}" for i in range(count)]
        paths.insert(count // 2, "/v2/gate")
        more = []
        for path in paths:
            more += [path, "--output", "/dev/null"]
        found = curl(running, to.port, "--parallel", "--parallel-max", "100",
                     "--write-out",
                     "%{http_version} %{http_code} %{num_connects}\n", *more)
        # Beside the progress, which --silent does not stop.
        lines = [line for line in found.splitlines() if line[:2] == "2 "]
        equal(len(lines), count + 1, f"answers: {found}")
        equal([line for line in lines if " 403 " in line], ["2 403 0"],
              "the refused one")
        equal(sum(line.startswith("2 200 ") for line in lines), count, found)
        equal(sum(int(line.split()[2]) for line in lines), 1, "connections")
        wait_for(lambda: len(running.named("event.request")) +
                 sum(event["count"] for event in
                     running.named("event.requests_untold")) == count + 1,
                 "reports")


def test_secrets_stay_outside(world):
    with http2(world) as (running, to):
        found = curl(running, to.port, "--include", "--header",
                     f"Authorization: Bearer {PLACEHOLDER}", "/v1/token")
        head, body = found.split("\r\n\r\n", 1)
        check(f"x-token: Bearer {PLACEHOLDER}" in head, found)
        equal(body, f"Bearer {VALUE}", "the server's request")
        for refused in (f"X-Other: {PLACEHOLDER}", f"Cookie: a={PLACEHOLDER}"):
            found = curl(running, to.port, "--write-out", " %{http_code}",
                         "--header", refused, "/v1/token")
            check(found.endswith(" 403"), found)


def test_values_are_cleared(world):
    """Also copies in buffers: those of its head, which is long, and of the
    control channel."""
    with http2(world) as (running, to):
        for fill in ("", "x" * 3000):
            found = curl(running, to.port, "--header", f"X-Fill: {fill}",
                         "--header", f"Authorization: Bearer {PLACEHOLDER}",
                         "--header", f"X-More: {fill}", "/v1/push")
            equal(found, "false", "the response")
        expect_forgotten(running, VALUE)


def test_trailers_pass(world):
    with http2(world) as (running, to):
        found = curl(running, to.port, "--include", "--data", "12345",
                     "/v1/echo")
        check("12345" in found and "x-sum: 5" in found, found)


def test_servers_may_not_push(world):
    with http2(world) as (running, to):
        equal(curl(running, to.port, "/v1/push"), "false", "push is allowed")


def test_each_event_passes_at_once(world):
    """The next event is sent when the guest has the last one."""
    with http2(world) as (running, to), \
            guest_port(running, to.port) as near:
        client = subprocess.Popen(
            words(near, to.port, "--no-buffer", "--include", "/v1/events"),
            stdout=subprocess.PIPE, text=True)
        with client.stdout as lines:
            while (line := lines.readline()) != "data: first\n":
                check(line, "no response")
            equal(lines.readline(), "\n", "the end of the first event")
            for i in range(20):
                to.say(str(i))
                equal(lines.readline() + lines.readline(), f"data: {i}\n\n",
                      "event")
            to.say("end")
            equal(lines.read(), "", "the end")
        equal(client.wait(PATIENCE), 0, "curl's status")


def test_large_bodies_pass_both_ways(world):
    piece = os.urandom(1 << 20)
    sum_ = hashlib.sha256(piece * MIB).hexdigest()
    with tempfile.NamedTemporaryFile() as body, http2(world) as (running, to), \
            guest_port(running, to.port) as near:
        body.write(piece * MIB)
        body.flush()
        client = subprocess.Popen(
            words(near, to.port, "--data-binary", f"@{body.name}", "/v1/echo"),
            stdout=subprocess.PIPE)
        found = hashlib.sha256()
        with client.stdout as data:
            while part := data.read(1 << 16):
                found.update(part)
        equal(client.wait(PATIENCE), 0, "curl's status")
        equal(found.hexdigest(), sum_, "the body")


if __name__ == "__main__":
    for program in ("curl", "node"):
        if not shutil.which(program):
            print(f"1..0 # SKIP {program} is missing")
            sys.exit(0)
    run(globals())

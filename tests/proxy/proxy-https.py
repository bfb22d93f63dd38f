#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proxy-https - real clients and servers of HTTPS through stepback-proxy, whose
policy judges their requests.

As proxy-splice.py otherwise.
"""
import http.server
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "lib"))
from proxy_tls import *  # noqa: E402,F403

VALUE, PLACEHOLDER = "a-secret-value-of-a-test", "stepback-abcdefghijkl"
SECRET = {"name": "TOKEN", "placeholder": PLACEHOLDER, "value": VALUE,
          "hosts": [NAME], "headers": ["authorization"]}


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen = []

    def answer(self):
        length = int(self.headers.get("Content-Length", 0))
        body = f"{self.command} {self.path} ".encode() + self.rfile.read(length)
        token = self.headers.get("Authorization", "")
        self.seen.append((self.command, self.path, token))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Token", token)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def serve(session):
    Answers(session, ("here", 0), None)


@contextlib.contextmanager
def https(world):
    """The program, and a server whose requests below /v1 may be read."""
    Answers.seen.clear()
    with pass_proxy(world, program=PROGRAM) as running, \
            server(TlsServer(serve)) as to:
        running.request("configure", {
            "network_policy": {"allow": [f"GET:{NAME}:{to.port}/v1",
                                         f"secret:{NAME}"]},
            "secrets": [SECRET]})
        yield running, to.port


def curl(running, port, *words):
    """The output of curl(1) in the guest, for paths of the name."""
    with guest_port(running, port) as near:
        return subprocess.run(
            ["curl", "--silent", "--show-error", "--max-time", str(PATIENCE),
             "--cacert", authority("sandbox").certificate, "--connect-to",
             f"{NAME}:{port}:127.0.0.1:{near}",
             *[word if not word.startswith("/") else
               f"https://{NAME}:{port}{word}" for word in words]],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            check=False).stdout.decode()


def test_requests_are_judged(world):
    with https(world) as (running, port):
        found = curl(running, port, "/v1/a", "/v1/b?x=1")
        equal(found, "GET /v1/a GET /v1/b?x=1 ", "allowed requests")
        # A refused request is answered on the same connection.
        found = curl(running, port, "--write-out",
                     " %{http_code}/%{num_connects} ", "/v1/a", "/v2")
        check(found.startswith("GET /v1/a  200/1 ") and " 403/0 " in found,
              found)
        found = curl(running, port, "--write-out", "%{http_code}", "--data",
                     "x", "/v1/a")
        check(found.endswith("403"), found)
        equal([path for _, path, _ in Answers.seen],
              ["/v1/a", "/v1/b?x=1", "/v1/a"], "requests at the server")
        wait_for(lambda: len(running.named("event.request")) == 5, "reports")
        equal({(entry["name"], entry["port"])
               for entry in running.named("event.request")},
              {(NAME, port)}, "names of the reports")
        equal([(entry["method"], entry["path"], entry["status"],
                entry["verdict"]) for entry in running.named("event.request")],
              [("GET", "/v1/a", 200, "allowed"),
               ("GET", "/v1/b", 200, "allowed"),
               ("GET", "/v1/a", 200, "allowed"),
               ("GET", "/v2", 0, "refused"),
               ("POST", "/v1/a", 0, "refused")], "reports")


def test_a_narrower_policy_ends_requests_that_run(world):
    """A new policy that still allows the request does not."""
    def wait_and_answer(session):
        session.recv(65536)
        session.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n1")
        session.recv(1)  # until the end

    def narrow(running, *entries):
        running.request("configure", {"network_policy": {
            "allow": [f"{entry}" for entry in entries]}})
    with pass_proxy(world, program=PROGRAM) as running, \
            server(TlsServer(wait_and_answer)) as to:
        entry = f"{NAME}:{to.port}"
        narrow(running, f"GET:{entry}/v1")
        guest, number = running.connect(to.port, "http")
        with shake(guest) as session:
            session.sendall(f"GET /v1/a HTTP/1.1\r\nHost: {NAME}:{to.port}\r\n\r\n".encode())
            while b"\r\n\r\n1" not in (head := session.recv(65536)):
                check(head, "no response")
            narrow(running, f"GET:{entry}/v1/a", f"deny:POST:{entry}")
            check(not [event for event in running.named("event.connection")
                       if event["id"] == number], "it goes on")
            narrow(running, f"GET:{entry}/v2")
            equal(running.ended(number)["reason"],
                  "the policy no longer allows a request that runs", "the end")


def test_stepback_net_is_not_trusted(world):
    """A name and port that the policy does not have are refused, whatever the
    check that is asked for."""
    with pass_proxy(world, program=PROGRAM) as running, \
            server(TlsServer(serve)) as to:
        running.request("configure", {"network_policy": {
            "allow": [f"GET:{NAME}/v1", f"deny:{NAME}:{to.port}"]}})
        for kind in ("raw", "port", "web", "http"):
            _, number = running.connect(to.port, kind)
            equal(running.ended(number)["reason"],
                  f"the network policy's entry deny:{NAME}:{to.port} forbids it", kind)


def test_secrets_stay_outside(world):
    with https(world) as (running, port):
        found = curl(running, port, "--include", "--header",
                     f"Authorization: Bearer {PLACEHOLDER}", "/v1/a")
        check(f"X-Token: Bearer {PLACEHOLDER}" in found, found)
        check(VALUE not in found, found)
        equal(Answers.seen, [("GET", "/v1/a", f"Bearer {VALUE}")],
              "the server's request")
        found = curl(running, port, "--write-out", "%{http_code}", "--header",
                     f"X-Other: {PLACEHOLDER}", "/v1/a")
        check(found.endswith("403"), found)
        running.request("configure", {"secrets": []})
        curl(running, port, "--header", f"Authorization: {PLACEHOLDER}",
             "/v1/a")
        equal(Answers.seen[-1][2], PLACEHOLDER, "without secrets")


def test_values_are_cleared(world):
    """Also copies in buffers: those of its head, which is long, and of the
    control channel."""
    with https(world) as (running, port):
        for fill in ("", "x" * 3000):
            found = curl(running, port, "--header", f"X-Fill: {fill}",
                         "--header", f"Authorization: Bearer {PLACEHOLDER}",
                         "--header", f"X-More: {fill}", "/v1/a")
            check(Answers.seen[-1][2] == f"Bearer {VALUE}", found)
        expect_forgotten(running, VALUE)


def test_http_2_is_not_offered_to_an_http_1_server(world):
    with https(world) as (running, port):
        found = curl(running, port, "--http2", "--write-out",
                     "%{http_version}", "/v1/a")
        equal(found, "GET /v1/a 1.1", "the version")


if __name__ == "__main__":
    if not shutil.which("curl"):
        print("1..0 # SKIP curl is missing")
        sys.exit(0)
    run(globals())

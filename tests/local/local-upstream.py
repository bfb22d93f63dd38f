#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A policy of names on a host behind a proxy, with curl in sandboxes of local
isolation and the servers of names_world.py."""
import contextlib
import glob
import os
import resource
import socket
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import names_world  # noqa: E402
from byte_relay import connect_port, join, read_head  # noqa: E402
from local_case import LOCAL, call, need  # noqa: E402
from sandbox_case import Client, sandbox_test  # noqa: E402
from pty_client import Terminal  # noqa: E402
from stdio_client import PROGRAM, contains, equal, main  # noqa: E402

# The host cannot resolve it.
FAR = "far.example.test"
NEAR = "api.example.test"
PASSWORD = "pass-of-the-proxy"
WORLD = None


class Upstream:
    """A CONNECT proxy at the host's loopback that knows all names."""

    def __init__(self):
        self.asked, self.users = [], set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.url = "http://me:%s@127.0.0.1:%d" % (PASSWORD, self.port)
        self.shown = "http://127.0.0.1:%d" % self.port
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=(self.listener.accept()[0],),
                             daemon=True).start()

    def serve(self, connection):
        head = read_head(connection)
        if not head:
            return
        lines = head.split("\r\n")
        self.asked.append(lines[0].split()[1])
        self.users.update(line for line in lines if line.startswith("Proxy-"))
        with connection, socket.create_connection(
                (names_world.ADDRESS, connect_port(head))) as to:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            join(connection, to)


class Box:
    def __init__(self, place, network, *options, **env):
        need()
        self.place, self.env = place, env
        self.out("up", *LOCAL, "--network=" + network, *options, "box")

    def call(self, *words):
        return call(self.place, *words, **self.env)

    def out(self, *words):
        status, out, err = self.call(*words)
        equal((words, status, err if status else ""), (words, 0, ""))
        return out

    def run(self, command):
        status, out, err = self.call("exec", "-q", "--step=none", "box", "--",
                                     "sh", "-c", command)
        return status, out + err

    def get(self, url, *words):
        return self.run("curl -sS -m 20 %s %s" % (" ".join(words), url))

    def ask(self, kind):
        client = Client(self.place, "box")
        payload = client.ask(kind)["payload"]
        client.close()
        return payload


def command_lines():
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            yield file.read().decode(errors="replace")


def core_limit(pid):
    """The most bytes of a core dump; 1: none, also to a program."""
    with open("/proc/%d/limits" % pid, encoding="ascii") as file:
        word = [line for line in file if "core file" in line][0].split()[4]
    return sys.maxsize if word == "unlimited" else int(word)


@sandbox_test
def names_go_through_the_proxy(place):
    """HTTP, TLS and a protocol whose server speaks first, for a name that the
    host cannot resolve; what NO_PROXY lists is reached directly"""
    upstream = Upstream()
    with open(WORLD.folder + "/cert.pem", encoding="ascii") as source, \
            open(place.share + "/cert.pem", "w", encoding="ascii") as file:
        file.write(source.read())
    box = Box(place, "%s,%s:22,%s" % (FAR, FAR, NEAR), HTTPS_PROXY=upstream.url,
              NO_PROXY="localhost,.api.example.test:443,10.0.0.0/8")
    for scheme in ("http", "https"):
        equal(box.get("%s://%s/x" % (scheme, FAR), "--cacert", "cert.pem"),
              (0, "GET /x %s\n" % FAR))
        equal(box.get("%s://%s/y" % (scheme, NEAR), "--cacert", "cert.pem"),
              (0, "GET /y %s\n" % NEAR))
    contains(box.run("echo | timeout 20 python3 -c 'import socket; print(socket."
                     "create_connection((\"%s\", 22)).recv(99))'" % FAR)[1],
             "SSH-2.0-world")
    equal(sorted(upstream.asked), sorted(
        [FAR + ":80", FAR + ":443", FAR + ":22", NEAR + ":80"]))
    equal(FAR in WORLD.asked(), False)
    contains(box.get("http://%s/" % FAR, "-H", "Host:evil.example.test")[1],
             "Stepback")
    equal(box.get("http://other.example.test/")[0] != 0, True)
    equal(box.ask("network.status")["upstream"], {"url": upstream.shown})
    with Terminal([PROGRAM, "net", "box"], env=place.environment(),
                  columns=200) as terminal:
        terminal.expect("connections to names go through " + upstream.shown)
        equal(terminal.wait(), 0)
    addresses = {record["address"] for record in
                 box.ask("network.connections")["connections"]}
    equal("127.0.0.1" in addresses and names_world.ADDRESS in addresses, True)


@sandbox_test
def the_password_stays_with_the_proxy(place):
    """the sandbox has neither the variables nor a way to the proxy; no output and
    no file of the host has the password"""
    upstream = Upstream()
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    box = Box(place, "%s,10.0.0.0/8" % FAR, HTTPS_PROXY=upstream.url,
              http_proxy=upstream.url, ALL_PROXY=upstream.url)
    contains(box.get("http://%s/x" % FAR)[1], "GET /x")
    equal(len(upstream.users), 1)
    status, variables = box.run("env")
    equal((status, [line for line in variables.splitlines()
                    if "proxy" in line.lower() or PASSWORD in line]), (0, []))
    for address in ("127.0.0.1", "10.0.2.2", names_world.HOST):
        equal(box.get("http://%s:%d/" % (address, upstream.port))[0] != 0, True)
    equal(upstream.asked, [FAR + ":80"])
    for words in (("inspect", "box"), ("logs", "box"), ("audit", "box", "--json"),
                  ("net", "box", "--json"), ("net", "box"), ("ps", "--json")):
        equal((words, PASSWORD in box.out(*words)), (words, False))
    equal("upstream_proxy" in box.out("inspect", "box"), False)
    for base, _, files in os.walk(place.root):
        for name in files:
            with contextlib.suppress(OSError), \
                    open(os.path.join(base, name), "rb") as file:
                equal((name, PASSWORD.encode() in file.read()), (name, False))
    equal([line for line in command_lines() if PASSWORD in line], [])
    equal([pid for pid in place.processes() if core_limit(pid) > 1], [])


@sandbox_test
def the_option_goes_before_the_variables(place):
    """a proxy of the option, in its place, or none; the record has the option"""
    upstream, other = Upstream(), Upstream()
    box = Box(place, FAR + "," + NEAR, "--upstream-proxy=" + upstream.shown,
              HTTPS_PROXY=other.url)
    contains(box.get("http://%s/x" % FAR)[1], "GET /x")
    equal((upstream.asked, other.asked), ([FAR + ":80"], []))
    equal(upstream.users, set())
    contains(box.out("inspect", "box"), '"upstream_proxy": "%s"' % upstream.shown)
    status, _, err = box.call("up", "--upstream-proxy=none")
    equal(status != 0, True)
    contains(err, "--upstream-proxy")
    box.out("stop", "box")
    box.out("rm", "box")
    box.out("up", *LOCAL, "--network=" + NEAR, "--upstream-proxy=none", "box")
    contains(box.get("http://%s/x" % NEAR)[1], "GET /x")
    equal((upstream.asked, other.asked), ([FAR + ":80"], []))
    equal(box.ask("network.status")["upstream"], None)


@sandbox_test
def bad_proxies_are_refused_before_the_start(place):
    """only with names in the policy; the message has the remedy, and no password"""
    need()
    up = ("up", *LOCAL, "--network=" + NEAR)
    for variables, part in (
            ({"HTTPS_PROXY": "socks5://me:%s@p:1" % PASSWORD}, "HTTPS_PROXY: a SOCKS"),
            ({"https_proxy": "https://me:%s@p:1" % PASSWORD}, "https_proxy: a proxy"),
            ({"all_proxy": "http://:3128"}, "all_proxy: the host is missing"),
            ({"HTTPS_PROXY": "http://p:x"}, "HTTPS_PROXY: the port")):
        status, out, err = call(place, *up, **variables)
        equal((status, out), (1, ""))
        contains(err, part)
        contains(err, "--upstream-proxy=none")
        equal(PASSWORD in err, False)
    for option, part in (("http://me:x@p:1", "must not contain a user or password"),
                         ("socks5://p:1", "SOCKS"), ("", "missing")):
        status, out, err = call(place, *up, "--upstream-proxy=" + option)
        equal((status, out), (2, ""))
        contains(err, part)
    equal(place.processes(), [])
    # Without names no connection goes through a proxy.
    equal(call(place, "run", *LOCAL, "--network=open", "--", "true",
               HTTPS_PROXY="socks5://p:1")[0], 0)


@sandbox_test
def what_the_proxy_refuses_is_reported(place):
    """a proxy that is not there: the guest's connection fails, and the record has
    the reason"""
    box = Box(place, FAR, HTTPS_PROXY="http://127.0.0.1:9")
    equal(box.get("http://%s/x" % FAR)[0] != 0, True)
    contains(box.out("net", "box"), "cannot connect to the upstream proxy")


if __name__ == "__main__":
    with names_world.entered() as WORLD:
        main(mounts=True)

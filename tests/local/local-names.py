#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A policy of names, with real clients in sandboxes of local isolation and the
servers of names_world.py."""
import os
import shlex
import shutil
import socket
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import names_world  # noqa: E402
from local_agent import begin  # noqa: E402
from names_clients import ask, curl, get  # noqa: E402
from sandbox_case import sandbox_test  # noqa: E402
from stdio_client import (contains, descendants, equal, eventually, main,  # noqa: E402
                          ok, words_of)

WEB = ["api.example.test", "*.b.example.test"]
WORLD = None

# Datagrams to addresses that a card may have beside it; the IPv6 neighbours that it
# got of them, of the kernel's RTM_GETNEIGH, and whether a setting can be changed.
NEIGHBOURS = """
import os, socket, struct
card = socket.if_nametoindex("eth0")
kept = []
for prefix in ("fe80::", "fec0::"):
    for n in range(0x1000, 0x1040):
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        s.setblocking(False)
        kept.append(s)
        try:
            s.sendto(b"x", (prefix + "%x" % n, 9, 0, card))
        except OSError:
            pass
link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
link.send(struct.pack("IHHII", 28, 30, 0x301, 1, 0) + struct.pack("BxxxiHBB", 10, 0, 0, 0, 0))
found, done = set(), False
while not done:
    data = link.recv(65536)
    while data and not done:
        length, kind = struct.unpack_from("IH", data)
        done = kind == 3
        if kind == 28 and struct.unpack_from("i", data, 20)[0] == card:
            found.add(socket.inet_ntop(socket.AF_INET6, data[32:48]))
        data = data[(length + 3) & ~3:]
print(*sorted(a for a in found if not a.startswith("ff")))
for name in ("disable_ipv6", "addr_gen_mode", "accept_ra"):
    try:
        os.open("/proc/sys/net/ipv6/conf/eth0/" + name, os.O_WRONLY)
        print("can set", name)
    except OSError:
        pass
"""


def open_names(place, names, **more):
    allow = {"allow": list(names)}
    allow.update(more)
    shutil.copy(WORLD.folder + "/cert.pem", place.share)
    return begin(place, network_policy=allow)


def say(agent, command):
    """The exit code and the output of a command."""
    out = agent.place.share + "/out"
    report = ok(agent.ask("agent.execute",
                          command="{ %s; } >%s 2>&1" % (command, out)))
    with open(out, encoding="utf-8") as file:
        return report["exit_code"], file.read()


def good(agent, command):
    code, text = say(agent, command)
    equal((command, code, text if code else ""), (command, 0, ""))
    return text


def bad(agent, command):
    code, text = say(agent, command)
    assert code != 0, (command, text)
    return text


def warned(agent):
    return [message["payload"]["message"] for message in agent.seen
            if message["type"] == "event.warning"]


def reports(agent, text):
    """A warning with this text comes."""
    if not any(text in one for one in warned(agent)):
        agent.until(lambda m: m["type"] == "event.warning" and
                    text in m["payload"]["message"])


@sandbox_test
def clients(place):
    """curl, wget, Python and OpenSSL reach a listed name, by HTTP and TLS"""
    agent = open_names(place, WEB)
    contains(good(agent, curl("https://api.example.test/x")),
             "GET /x api.example.test")
    contains(good(agent, curl("http://a.b.example.test/y")),
             "GET /y a.b.example.test")
    contains(good(agent, "wget -qO- http://api.example.test/z"),
             "GET /z api.example.test")
    contains(good(agent, "printf 'GET /o HTTP/1.0\\r\\nHost: api.example.test\\r\\n"
                  "\\r\\n' | openssl s_client -quiet -connect api.example.test:443 "
                  "-servername API.example.test 2>/dev/null; true"), "GET /o")
    contains(good(agent, get("api.example.test")), "GET / api.example.test")
    # Two requests on one connection, and a body.
    contains(good(agent, curl("http://api.example.test/1", "http://api.example.test/2")),
             "GET /2")
    contains(good(agent, "head -c 5000000 /dev/zero | " + curl(
        "http://api.example.test/p", "-T", "-", "-X", "POST", "-H",
        "Transfer-Encoding:", "-H", "Content-Length: 5000000", "-H", "Expect:")),
        "5000000")
    equal(agent.close(), 0)


@sandbox_test
def other_names(place):
    """another name does not exist, is not asked of a server, and is reported"""
    agent = open_names(place, WEB)
    names = ("other.example.test", "secret.elsewhere.test", "b.example.test",
             "data.xn--evil.example.test", "c2VjcmV0.api.example.test")
    for name in names:
        bad(agent, curl("https://%s/" % name))
    reports(agent, "other.example.test")
    equal([one for one in WORLD.asked() if one in names], [])
    # The host's search list is for its own programs.
    bad(agent, curl("https://data.none.b.example.test/"))
    asked = WORLD.asked()
    equal(("data.none.b.example.test" in asked,
           [one for one in asked if one.endswith("corp.test")]), (True, []))
    equal(agent.close(), 0)


@sandbox_test
def other_addresses(place):
    """an address is not reached by number, whatever name the client says"""
    agent = open_names(place, WEB)
    for address in (names_world.ADDRESS, names_world.ADDRESS6):
        url = "[%s]" % address if ":" in address else address
        bad(agent, curl("http://%s/" % url))
        bad(agent, curl("http://%s/" % url, "-H", "Host: api.example.test"))
        for scheme, port in (("http", 80), ("https", 443)):
            bad(agent, curl(scheme + "://api.example.test/", "--resolve",
                            "api.example.test:%d:%s" % (port, url)))
    for address in ("::ffff:" + names_world.ADDRESS, "64:ff9b::a9fe:a9fe",
                    "::ffff:169.254.169.254", "169.254.169.254"):
        bad(agent, ask(address, 80, "GET / HTTP/1.0\\r\\n\\r\\n"))
    contains(good(agent, get("api.example.test")), "GET /")
    equal(agent.close(), 0)


# Sends a query for leak.example.test. Arguments: the server, udp or tcp, the port.
ASK_DNS = """
import socket, struct, sys
kind = socket.SOCK_DGRAM if sys.argv[2] == "udp" else socket.SOCK_STREAM
query = struct.pack("!6H", 7, 256, 1, 0, 0, 0) + \\
    b"\\4leak\\7example\\4test\\0\\0\\1\\0\\1"
s = socket.socket(socket.AF_INET, kind)
s.settimeout(5)
s.connect((sys.argv[1], int(sys.argv[3])))
s.send(query if sys.argv[2] == "udp" else struct.pack("!H", len(query)) + query)
sys.exit(not s.recv(100))
"""


def ask_dns(server, kind, port):
    return shlex.join(["/usr/bin/python3", "-c", ASK_DNS, server, kind, str(port)])


@sandbox_test
def other_name_servers(place):
    """no other name server is reached, by UDP, TCP, TLS or HTTPS"""
    agent = open_names(place, WEB)
    good(agent, ask_dns("10.0.2.3", "udp", 53))
    good(agent, ask_dns("10.0.2.3", "tcp", 53))
    ways = (("udp", 53), ("tcp", 53), ("tcp", 853), ("tcp", 443))
    for way in ways:
        bad(agent, ask_dns(names_world.DNS, *way))
    equal("leak.example.test" in WORLD.asked(), False)
    ok(agent.ask("session.configure_network",
                 network_policy={"allow": [names_world.DNS]}))
    for way in ways:
        good(agent, ask_dns(names_world.DNS, *way))
    equal(agent.close(), 0)


@sandbox_test
def the_name_is_checked(place):
    """a connection that names another host, or none, is refused"""
    agent = open_names(place, WEB)
    data = "GET / HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n"
    contains(good(agent, ask("api.example.test", 443, data % "api.example.test",
                             "api.example.test")), "GET /")
    bad(agent, ask("api.example.test", 443, data % "x", "other.example.test"))
    bad(agent, ask("api.example.test", 443, data % "x", "none"))
    reports(agent, "api.example.test")
    figures = ok(agent.ask("network.status"))["names"]
    equal((figures["total"], figures["refused"]), (3, 2))
    contains(say(agent, get("api.example.test", "other.example.test"))[1], " 403 ")
    for wrong in (get("api.example.test", more="Host: other.example.test\\r\\n"),
                  ask("api.example.test", 80,
                      "GET http://other.example.test/ HTTP/1.1\\r\\nHost: "
                      "api.example.test\\r\\n\\r\\n"),
                  ask("api.example.test", 80,
                      "CONNECT other.example.test:443 HTTP/1.1\\r\\nHost: "
                      "api.example.test\\r\\n\\r\\n"),
                  ask("api.example.test", 80, (data % "api.example.test").replace(
                      "close", "keep-alive") + data % "other.example.test")):
        text = say(agent, wrong)[1]
        assert "GET / other" not in text, text
    equal(agent.close(), 0)


@sandbox_test
def ports(place):
    """a port that a rule names is open to any protocol, and no other port"""
    agent = open_names(place, ["api.example.test:22", "raw:api.example.test:5000"])
    contains(bad(agent, ask("api.example.test", 22) + " once"), "SSH-2.0-world")
    contains(bad(agent, ask("api.example.test", 5000, "hello") + " once"), "hello")
    bad(agent, curl("http://api.example.test/"))
    reports(agent, "api.example.test")
    equal(agent.close(), 0)


@sandbox_test
def where_names_lead(place):
    """a name leads to no address of the host, a private network or a cloud"""
    names = ["*.example.test"]
    agent = open_names(place, names)
    for name in ("own", "loop", "meta", "private", "mapped", "none"):
        bad(agent, curl("http://%s.example.test/" % name))
        reports(agent, name + ".example.test")
    contains(good(agent, get("mixed.example.test")), "GET /")
    contains(good(agent, get("six.example.test")), "GET /")
    equal(agent.close(), 0)
    agent = open_names(place, names + ["10.9.9.9"])
    contains(good(agent, get("private.example.test")), "GET /")
    bad(agent, curl("http://meta.example.test/"))
    equal(agent.close(), 0)


@sandbox_test
def names_that_lead_elsewhere(place):
    """a name leads to the address that was checked, and not to a denied name"""
    agent = open_names(place, ["*.example.test", "deny:other.example.test"])
    with socket.create_server(("127.0.0.1", 80)) as loopback:
        for _ in range(2):
            contains(good(agent, get("rebind.example.test")), "GET / rebind")
            bad(agent, curl("http://rebind.example.test/"))
        loopback.settimeout(0)
        try:
            raise AssertionError(loopback.accept())
        except BlockingIOError:
            pass
    bad(agent, curl("http://alias.example.test/"))
    reports(agent, "which the network policy's entry deny:other.example.test forbids")
    ok(agent.ask("session.configure_network",
                 network_policy={"allow": ["*.example.test"]}))
    contains(good(agent, curl("http://alias.example.test/")), "GET / alias")
    equal(agent.close(), 0)


@sandbox_test
def a_policy_that_changes(place):
    """names come and go while the sandbox runs; a connection to one that goes ends"""
    agent = open_names(place, ["api.example.test:5000"])
    command = ("exec 3<>/dev/tcp/api.example.test/5000; echo one >&3; read -u 3 a; "
               "echo got $a; read -u 3 a || echo over")
    started = ok(agent.ask("exec.start", command=shlex.join(["bash", "-c", command]),
                           step="none", detach=True))
    def output():
        return ok(agent.ask("exec.output", exec_id=started["exec_id"]))["output"]
    assert eventually(lambda: "got one" in str(output()), 20), output()
    ok(agent.ask("session.configure_network",
                 network_policy={"allow": ["other.example.test"]}))
    assert eventually(lambda: "over" in str(output()), 20), output()
    contains(good(agent, get("other.example.test")), "GET /")
    bad(agent, ask("api.example.test", 5000, "x"))
    ok(agent.ask("session.configure_network", network_policy="disabled"))
    bad(agent, curl("http://other.example.test/", "-m", "1"))
    equal(agent.close(), 0)


@sandbox_test
def a_network_that_opens(place):
    """a program may keep the address of a name when the network becomes open"""
    agent = open_names(place, WEB)
    address = good(agent, "getent ahostsv4 api.example.test").split()[0]
    contains(address, "198.18.")
    ok(agent.ask("session.configure_network", network_policy="open"))
    contains(good(agent, ask(address, 80, "GET / HTTP/1.1\\r\\nHost: api.example.test"
                             "\\r\\nConnection: close\\r\\n\\r\\n")), "GET /")
    equal(agent.close(), 0)


def has_one_neighbour(place, user):
    agent = begin(place, user, network_policy="open")
    request = "GET / HTTP/1.1\\r\\nHost: api.example.test\\r\\nConnection: close\\r\\n\\r\\n"
    contains(good(agent, ask(names_world.ADDRESS6, 80, request)), "GET /")
    equal(good(agent, shlex.join(["/usr/bin/python3", "-c", NEIGHBOURS])), "fe80::2\n")
    # A router's advertisement, which comes now and then, adds nothing.
    equal(good(agent, "grep eth0 /proc/net/if_inet6 | cut -d ' ' -f 1,3"),
          "fec0000000000000505400fffe123456 80\n")
    equal(agent.close(), 0)


@sandbox_test
def ipv6_has_one_neighbour(place):
    """a sandbox reaches the world by IPv6, and fills no table of neighbours, which is
    the whole host's"""
    has_one_neighbour(place, False)


@sandbox_test
def ipv6_of_a_user_has_one_neighbour(place):
    """so does that of an ordinary user"""
    has_one_neighbour(place, True)


@sandbox_test
def a_proxy_that_ends(place):
    """a proxy that is killed is started again, and the sandbox goes on"""
    agent = open_names(place, WEB)
    def proxies():
        return [pid for pid in descendants(agent.process.pid)
                if b"stepback-proxy" in words_of(pid)]
    before = proxies()
    equal(len(before), 1)
    os.kill(before[0], 9)
    reports(agent, "started again")
    assert eventually(lambda: proxies() and proxies() != before, 20), proxies()
    contains(good(agent, get("api.example.test")), "GET /")
    equal(agent.close(), 0)


if __name__ == "__main__":
    with names_world.entered() as WORLD:
        main()

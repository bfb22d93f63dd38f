#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A policy of requests, and secrets, with real clients in sandboxes of local
isolation and the servers of names_world.py."""
import hashlib
import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import names_world  # noqa: E402
from local_case import LOCAL, call, need  # noqa: E402
from sandbox_case import Client, sandbox_test  # noqa: E402
from stdio_client import contains, equal, main  # noqa: E402

WORLD = None
VALUE = "a-real-token-of-the-host"
URL = "https://api.example.test"
FETCH = "fetch(process.argv[1]).then(r => r.text().then(t => console.log(r.status, t)))"
CLIENTS = {
    "curl": 'curl -sS -m 20 "$0"',
    "wget": 'wget -qO- "$0"',
    "python3": """/usr/bin/python3 -c 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())' "$0" """,
    "node": "node -e '%s' \"$0\"" % FETCH,
}


class Box:
    def __init__(self, place, network, *options):
        need()
        self.place = place
        self.out("up", *LOCAL, "--network=" + network, *options, "box")

    def call(self, *words):
        return call(self.place, *words, MY_TOKEN=VALUE)

    def out(self, *words):
        status, out, err = self.call(*words)
        equal((words, status, err if status else ""), (words, 0, ""))
        return out

    def run(self, command, *words):
        """Exit code and output of a command in the sandbox."""
        status, out, err = self.call("exec", "-q", "--step=none", "box", "--",
                                     "sh", "-c", command, *words)
        return status, out + err


@sandbox_test
def clients(place):
    """curl, wget, Python and Node trust the sandbox's authority; what the policy has
    not is refused, and recorded with its entry"""
    with WORLD.trusted():
        check_clients(place)


def check_clients(place):
    box = Box(place, "GET:api.example.test/v1,deny:DELETE:api.example.test,"
              "deny:api.example.test:8080,a.b.example.test")
    for name, command in CLIENTS.items():
        if not shutil.which(name):
            continue
        status, out = box.run(command, URL + "/v1/" + name)
        contains(out, "GET /v1/%s api.example.test" % name)
        equal((name, status), (name, 0))
        status, out = box.run(command, URL + "/v2")
        equal((name, "GET /v2 api" in out), (name, False))
    status, out = box.run("curl -sS -m 20 -d x %s/v1/a" % URL)
    contains(out, "Stepback refused this request")
    # A name that is only spliced has the server's own certificate.
    contains(box.run("curl -sSv -m 20 https://a.b.example.test/x 2>&1")[1], "CN=world")
    client = Client(place, "box")
    shown = client.ask("network.connections")["payload"]
    client.close()
    requests = {(request["method"], request["path"], request["verdict"],
                 request.get("allow")) for request in shown["requests"]}
    assert ("GET", "/v2", "refused", "GET:api.example.test/v2") in requests, requests
    assert ("POST", "/v1/a", "refused", "POST:api.example.test/v1/a") in requests, requests
    assert ("GET", "/v1/curl", "allowed", None) in requests, requests
    contains(box.out("net", "box"), "POST /v1/a: ")
    contains(box.run("curl -sS -m 20 -X DELETE %s/v1/a" % URL)[1],
             "entry deny:DELETE:api.example.test forbids the request")
    box.run("curl -sS -m 20 http://api.example.test:8080/")
    shown = box.out("net", "box")
    contains(shown, "entry deny:DELETE:api.example.test forbids the request")
    contains(shown, "its entry deny:api.example.test:8080 forbids it")
    contains(box.out("audit", "--network", "--json", "box"),
             "entry deny:DELETE:api.example.test forbids")
    kept = [json.loads(line) for line in
            box.out("audit", "--network", "--json", "box").splitlines()]
    assert ("network_request", "api.example.test", 443, "/v2", "refused") in {
        (one["type"], one["name"], one["port"], one.get("path"), one["verdict"])
        for one in kept}, kept
    assert ("network_connection", "a.b.example.test", "closed") in {
        (one["type"], one["name"], one["verdict"]) for one in kept}, kept
    contains(box.out("audit", "--network", "--verify", "box"), " 0 problems")
    box.out("net", "box", "allow", "GET:api.example.test/v2")
    contains(box.run("curl -sS -m 20 %s/v2" % URL)[1], "GET /v2")


@sandbox_test
def secrets(place):
    """a server that --ca-certificates has gets the value, the sandbox a placeholder"""
    box = Box(place, "api.example.test,a.b.example.test", "--secret",
              "TOKEN=env:MY_TOKEN@api.example.test", "--ca-certificates",
              WORLD.folder + "/cert.pem")
    _, placeholder = box.run("printf %s $TOKEN")
    assert placeholder.startswith("stepback-") and VALUE not in placeholder, placeholder
    ask = 'curl -sS -m 20 -H "Authorization: Bearer $TOKEN" '
    equal(box.run(ask + URL + "/authorization"),
          (0, hashlib.sha256(b"Bearer " + VALUE.encode()).hexdigest()))
    status, out = box.run("curl -sS -m 20 -u me:$TOKEN %s/authorization" % URL)
    equal(status, 0)
    # Another host, another header, and plain HTTP are refused, or get it as it is.
    assert hashlib.sha256(b"Bearer " + VALUE.encode()).hexdigest() not in \
        box.run(ask + "https://a.b.example.test/authorization")[1]
    contains(box.run('curl -sS -m 20 -H "X-Other: $TOKEN" %s/authorization' % URL)[1],
             "Stepback refused")
    contains(box.run(ask + "http://api.example.test/authorization")[1], "Stepback refused")
    for words in (("inspect", "box"), ("logs", "box"), ("audit", "box", "--json"),
                  ("audit", "--network", "box", "--json"), ("net", "box", "--json"), ("secret", "box", "--json")):
        assert VALUE not in box.out(*words), words
    equal(subprocess.run(["grep", "-rlF", VALUE, place.root], check=False,
                         stdout=subprocess.PIPE).stdout, b"")


@sandbox_test
def a_secret_loses_its_host(place):
    """a change of the policy that refuses the host of a secret warns of it; secret shows it"""
    box = Box(place, "api.example.test,a.b.example.test", "--secret",
              "TOKEN=env:MY_TOKEN@api.example.test")
    equal(json.loads(box.out("secret", "box", "--json"))[0]["hosts_refused"], [])
    _, _, err = box.call("net", "box", "deny", "a.b.example.test")
    equal(err, "")
    for words, remedy in ((("deny", "api.example.test"), "net rm deny:api.example.test"),
                          (("rm", "api.example.test"), "net allow api.example.test")):
        status, _, err = box.call("net", "box", *words)
        contains(err, "secret TOKEN: the network policy does not allow api.example.test "
                 "any more, the last host that gets it; to allow it again: stepback " + remedy)
        contains(box.out("secret", "box"), "api.example.test (not allowed)")
        equal(json.loads(box.out("secret", "box", "--json"))[0]["hosts_refused"],
              ["api.example.test"])
        contains(box.out("audit", "box", "--json"), "secret_host_refused")
        equal(box.call("net", "box", "policy", "api.example.test")[0::2], (0, ""))
        contains(box.out("secret", "box"), "api.example.test  ")


MANY = """/usr/bin/python3 -c 'import socket
for _ in range(%d):
    with socket.create_connection(("a.b.example.test", 443), 20) as one:
        one.sendall(b"no TLS")
        one.shutdown(socket.SHUT_WR)
        while one.recv(100):
            pass'"""


@sandbox_test
def a_flood_is_counted(place):
    """connections beyond 20 a second are missing in the record, and it says how many;
    also those of the last second"""
    box = Box(place, "a.b.example.test")
    equal(box.run(MANY % 100), (0, ""))
    box.out("stop", "box")
    kept = [json.loads(line) for line in
            box.out("audit", "--network", "--json", "box").splitlines()]
    ends = [one for one in kept if one["type"] == "network_connection"]
    assert 20 <= len(ends) < 100, len(ends)
    equal(len(ends) + sum(one.get("missing_before", 0) for one in kept), 100)


HOLD = """/usr/bin/python3 -c 'import socket, ssl, sys, time
context = ssl._create_unverified_context()
one = context.wrap_socket(socket.create_connection(("%s", 443), 20),
                          server_hostname="%s")
one.sendall(b"POST /x HTTP/1.1\\r\\nHost: %s\\r\\nContent-Length: 9999999\\r\\n\\r\\n" + b"x" * 5000)
open("/tmp/held", "w").close()
time.sleep(1000)' >/tmp/problem 2>&1 &
until test -e /tmp/held || ! kill -0 $!; do sleep 0.05; done; cat /tmp/problem"""


@sandbox_test
def what_is_open_is_recorded(place):
    """at the end, in order or not, open connections are recorded with their bytes, and
    a request without a response"""
    names = ("api.example.test", "a.b.example.test", "198.51.100.7")
    old = 0
    for end in ("stop", "kill"):
        box = Box(place, "POST:api.example.test,a.b.example.test,198.51.100.7:443",
                  "--ca-certificates", WORLD.folder + "/cert.pem")
        for name in names:
            equal(box.run("rm -f /tmp/held; " + HOLD % (name, name, name)), (0, ""))
        box.out(end, "box")
        kept = [json.loads(line) for line in
                box.out("audit", "--network", "--json", "box").splitlines()]
        kept, old = kept[old:], len(kept)
        # The end of the processes may close a connection before the network ends.
        held = [(one["name"] or one["address"], one["verdict"] in ("open", "closed"),
                 one["from_guest"] > 5000) for one in kept if one["type"] == "network_connection"]
        equal(sorted(held), [(name, True, True) for name in sorted(names)])
        requests = [(one["path"], one["status"], one["verdict"]) for one in kept
                    if one["type"] == "network_request"]
        equal(requests, [("/x", None, "allowed")])
        box.out("rm", "box")


if __name__ == "__main__":
    with names_world.entered(needs_trust=True) as WORLD:
        main(mounts=True)

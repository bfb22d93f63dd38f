#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stepback net beside a policy of names: what it lists and what it changes, with
real clients in sandboxes of local isolation."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import names_world  # noqa: E402
from local_case import LOCAL, call  # noqa: E402
from names_clients import ask, curl, get  # noqa: E402
from sandbox_case import sandbox_test  # noqa: E402
from stdio_client import PROGRAM, contains, equal, eventually, main  # noqa: E402

WEB = ["api.example.test", "*.b.example.test"]


def run_cli(place, *words):
    """The output of a command that must succeed."""
    code, out, err = call(place, *words)
    equal((words, code, err if code else ""), (words, 0, ""))
    return out


def listed(place):
    return [json.loads(line) for line in run_cli(place, "net", "--json").splitlines()]


def finds(place, **members):
    """The connection with these members is listed."""
    def find():
        return [one for one in listed(place) if members.items() <= one.items()]
    assert eventually(find, 20), (members, listed(place))
    return find()[-1]


@sandbox_test
def verdicts(place):
    """net lists connections that are over, and why the others were not made"""
    names = WEB + ["own.example.test", "api.example.test:9"]
    run_cli(place, "up", *LOCAL, "--network=" + ",".join(names))
    for command in (get("api.example.test"), get("api.example.test", "x.example.test"),
                    curl("http://other.example.test/"), get("own.example.test"),
                    ask("api.example.test", 9), ask("api.example.test", 8443),
                    curl("http://%s/" % names_world.ADDRESS)):
        call(place, "exec", "-q", "--", "sh", "-c", command)
    done = finds(place, name="api.example.test", verdict="closed", port=80,
                 address=names_world.ADDRESS, protocol="tcp", reason=None, allow=None)
    assert done["from_guest"] > 50 and done["to_guest"] > 50, done
    contains(finds(place, verdict="refused", name="api.example.test", port=80,
                   allow=None)["reason"], "another host than its connection (x.example.test)")
    contains(finds(place, verdict="refused", name="other.example.test", address=None,
                   protocol="dns", allow="other.example.test")["reason"], "not list")
    finds(place, verdict="refused", name="own.example.test", allow=names_world.HOST)
    contains(finds(place, verdict="failed", name="api.example.test", port=9,
                   allow=None)["reason"], "Connection refused")
    finds(place, verdict="refused", name="api.example.test", port=8443,
          allow="api.example.test:8443")
    finds(place, verdict="refused", name=None, address=names_world.ADDRESS,
          allow=names_world.ADDRESS + ":80")
    stats, = json.loads(run_cli(place, "stats", "--json"))
    equal((stats["network_closed"], stats["network_failed"],
           stats["network_refused"]), (1, 1, len(listed(place)) - 2))
    text = run_cli(place, "net")
    contains(text, "[to allow it: api.example.test:8443]")
    equal(len(text.splitlines()), len(listed(place)))
    run_cli(place, "stop")


def refuses(place, code, part, *words):
    status, out, err = call(place, *words)
    equal((words, status, out), (words, code, ""))
    contains(err, part)


@sandbox_test
def policy_commands(place):
    """net policy, allow, deny and rm change the policy of a running sandbox"""
    run_cli(place, "up", *LOCAL, "--network=api.example.test")
    equal(run_cli(place, "net", "policy"), "api.example.test\n")
    fetch = ("exec", "-q", "--", "sh", "-c", curl("http://other.example.test/"))
    equal(call(place, *fetch)[0], 6)
    equal(run_cli(place, "net", "allow", "Other.example.test", "10.9.9.9"),
          "10.9.9.9\napi.example.test\nother.example.test\n")
    contains(run_cli(place, *fetch), "GET /")
    contains(run_cli(place, "net", "deny", "other.example.test"),
             "deny:other.example.test")
    equal(call(place, *fetch)[0], 6)
    run_cli(place, "net", "rm", "deny:other.example.test", "10.9.9.9")
    contains(run_cli(place, *fetch), "GET /")
    equal(json.loads(run_cli(place, "net", "policy", "dns,*.b.example.test", "--json")),
          {"allow": ["*.b.example.test"], "dns": True})
    before = run_cli(place, "net", "policy")
    equal(before, "*.b.example.test\ndns\n")
    refuses(place, 1, "no entry 'api.example.test'", "net", "rm", "api.example.test")
    refuses(place, 1, "two labels", "net", "allow", "c.example.test", "x")
    refuses(place, 1, "excepts names only", "net", "deny", "10.0.0.0/8")
    refuses(place, 2, "give an entry", "net", "allow")
    refuses(place, 2, "none of policy", "net", os.path.basename(place.share), "alow")
    equal(run_cli(place, "net", "policy"), before)
    equal(run_cli(place, "net", "policy", "open"), "open\n")
    refuses(place, 1, "allows everything", "net", "allow", "api.example.test")
    contains(run_cli(place, "net", "deny", "api.example.test"), "0.0.0.0/0\n::/0\n")
    equal(run_cli(place, "net", "policy", "none"), "none\n")
    run_cli(place, "net", "deny", "d.example.test")
    equal(run_cli(place, "net", "allow", "*.example.test", "10.8.8.8", "10.8.8.8"),
          "10.8.8.8\n10.8.8.8\ndeny:d.example.test\n*.example.test\n")
    equal("10.8.8.8" in run_cli(place, "net", "rm", "10.8.8.8"), False)
    # Of commands at the same time none is lost.
    at_once = [subprocess.Popen([PROGRAM, "net", "deny", f"n{i}.example.test"],
                                cwd=place.share, env=place.environment(),
                                stdout=subprocess.DEVNULL) for i in range(8)]
    equal([process.wait(60) for process in at_once], [0] * 8)
    now = run_cli(place, "net", "policy").splitlines()
    equal({f"deny:n{i}.example.test" for i in range(8)} - set(now), set())
    run_cli(place, "stop")


@sandbox_test
def addresses(place):
    """net lists connections to addresses: open, closed, and those that fail"""
    address = names_world.ADDRESS
    run_cli(place, "up", *LOCAL, "--network=" + address)
    run_cli(place, "exec", "-d", "--step=none", "--", "bash", "-c",
            "exec 3<>/dev/tcp/%s/5000; echo one >&3; read -u 3 a; sleep 1000" % address)
    finds(place, verdict="open", name=None, address=address, port=5000,
          from_guest=4, to_guest=4, allow=None)
    run_cli(place, "job", "kill", "1")
    ended = finds(place, verdict="closed", address=address, port=5000, from_guest=4)
    assert ended["to_guest"] in (4, 5), ended
    call(place, "exec", "--", "sh", "-c", ask(address, 9))
    contains(finds(place, verdict="failed", address=address, port=9, from_guest=0,
                   to_guest=0)["reason"], "not made")
    run_cli(place, "exec", "--", "sh", "-c", curl("http://%s/" % address))
    finds(place, verdict="closed", address=address, port=80, reason=None)
    equal(len(listed(place)), 3)
    # Names can follow.
    run_cli(place, "net", "allow", "other.example.test")
    contains(run_cli(place, "exec", "--", "sh", "-c",
                     curl("http://other.example.test/")), "GET / other")
    run_cli(place, "stop")


@sandbox_test
def exec_prints_refusals(place):
    """exec prints what the network policy refused, and -q does not"""
    run_cli(place, "up", *LOCAL, "--network=" + ",".join(WEB))
    # The network reports beside the command, whose end can come first.
    for name in ("%s.example.test" % word for word in "one three four five six".split()):
        code, out, err = call(place, "exec", "--", "sh", "-c",
                              curl("http://%s/" % name) + "; exit 7")
        equal((code, out), (7, ""))
        if "warning: " in err:
            break
    contains(err, "warning: the network policy does not list the name " + name)
    code, out, err = call(place, "exec", "-q", "--", "sh", "-c",
                          curl("http://two.example.test/"))
    equal((code, "warning" in err), (6, False))
    run_cli(place, "stop")


@sandbox_test
def a_warning_waits_for_a_reader(place):
    """exec prints the warnings that exec -q has not printed"""
    run_cli(place, "up", *LOCAL, "--network=" + ",".join(WEB))
    # The network reports beside the command, whose end can come first.
    fetch = ("sh", "-c", curl("http://other.example.test/") + "; " +
             get("api.example.test", "x.example.test") + "; " +
             "while [ -e wait ]; do sleep 0.05; done")
    wait = os.path.join(place.share, "wait")
    # The network reports a refused name once, the proxy each connection.
    for words, refusals in (["-q"], 2), (["-q"], 1), ([], 2), ([], 1):
        with open(wait, "w", encoding="utf-8"):
            pass
        before = len(listed(place))
        run = subprocess.Popen([PROGRAM, "exec", *words, "--", *fetch], cwd=place.share,
                               env=place.environment(), stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
        assert eventually(lambda: len(listed(place)) == before + refusals, 20), listed(place)
        os.unlink(wait)
        err = run.communicate()[1]
        equal(err.count("warning: "), 2 if not words and refusals == 2 else 0)
        if not words and refusals == 2:
            contains(err, "does not list the name other.example.test")
            contains(err, "another host than its connection (x.example.test)")
    run_cli(place, "stop")


@sandbox_test
def open_connections(place):
    """net lists an open connection, and net -f its end and that of the sandbox"""
    run_cli(place, "up", *LOCAL, "--network=api.example.test:5000")
    follower = subprocess.Popen([PROGRAM, "net", "-f", "--json"], cwd=place.share,
                                env=place.environment(), stdout=subprocess.PIPE)
    run_cli(place, "exec", "-d", "--step=none", "--", "bash", "-c",
            "exec 3<>/dev/tcp/api.example.test/5000; echo one >&3; read -u 3 a; "
            "sleep 1000")
    finds(place, verdict="open", from_guest=4, to_guest=4, port=5000)
    equal(json.loads(follower.stdout.readline())["verdict"], "open")
    run_cli(place, "job", "kill", "1")
    equal(json.loads(follower.stdout.readline())["verdict"], "closed")
    finds(place, verdict="closed", from_guest=4, to_guest=4, port=5000)
    equal(len(listed(place)), 1)
    run_cli(place, "stop")
    equal((follower.stdout.read(), follower.wait()), (b"", 0))


if __name__ == "__main__":
    with names_world.entered():
        main()

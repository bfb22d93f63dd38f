#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The authority of a run, and secrets: what a guest gets of them. Over a fake
QEMU whose guest is the real shim."""
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from sandbox_case import (QUIET, VM, call, good, guest_root,  # noqa: E402
                          refused, sandbox_test, up)
from stdio_client import contains, equal, main  # noqa: E402

HEADERS = "authorization,x-api-key,api-key,x-goog-api-key,private-token"


def shim(place, **more):
    """Variables that let the real shim run, with a home without git."""
    place.mounting()
    return dict(STEPBACK_FAKE_QEMU="shim", HOME=place.root, **more)


def read(path):
    with open(path) as file:
        return file.read()


def end(place, **env):
    good(place, "stop", **env)
    good(place, "rm", "share", **env)


@sandbox_test
def secrets(place):
    """a guest has placeholders, and no file or output has the values"""
    value = "s3cret-value-of-a-test"
    env = shim(place, TOKEN=value)
    words = ("--secret", "TOKEN=env:TOKEN@api.example.org", "--secret",
             "OTHER=command:echo %s@api.example.org" % value[::-1],
             "--network=api.example.org")
    status, _, err = call(place, "up", *VM, *words, **env)
    equal((status, err), (0, err))
    out = good(place, *QUIET, "--", "sh", "-c", 'echo "$TOKEN $OTHER"', **env)
    found = re.fullmatch("(stepback-[a-z]{24}) (stepback-[a-z]{24})\n", out)
    assert found and found[1] != found[2], out
    equal(good(place, *QUIET, "-e", "TOKEN=x", "--", "sh", "-c", 'echo "$TOKEN"',
               **env), "x\n")
    contains(good(place, "inspect", **env), "env:TOKEN")
    for shown in (good(place, "inspect", **env), good(place, "logs", **env)):
        equal((value in shown, found[1] in shown), (False, False))
    # The same secrets are no other machine.
    for secret, status in (("TOKEN=env:TOKEN@api.example.org", 0),
                           ("TOKEN=env:TOKEN@b.example.org", 125),
                           ("TOKEN=env:HOME@api.example.org", 125)):
        equal((secret, call(place, "run", *VM, "--secret", secret, "--", "true",
                            **env)[0]), (secret, status))
    equal(good(place, "secret", **env).splitlines()[-2:],
          ["TOKEN  api.example.org  " + HEADERS + "  env:TOKEN",
           "OTHER  api.example.org  " + HEADERS + "  command:echo " + value[::-1]])
    equal(good(place, "net", "policy", **env).strip(), "api.example.org")
    good(place, "stop", **env)
    del env["TOKEN"]
    refused(place, "up", "share", part="TOKEN is not set", status=1, **env)
    call(place, "stop", "share", **env)  # waits for the end of the failed start
    up(place, "share", TOKEN=value, **env)
    end(place, **env)
    equal(subprocess.run(["grep", "-rlF", value, place.root],
                         stdout=subprocess.PIPE).stdout, b"")


@sandbox_test
def mistakes(place):
    """what is wrong with a secret is named"""
    env = shim(place)
    with open(place.root + "/empty", "w", encoding="ascii"):
        pass
    for secret, part in (("T=env:T@https://api.example.org/", "'https://api.example.org/' "
                          "is not a host's name"),
                         ("T=file:~/none@api.example.org", place.root + "/none: No such"),
                         ("T=file:~/empty@api.example.org", "its value is empty"),
                         ("T=command:exit 4@api.example.org", "failed (status 4)")):
        status, _, err = call(place, "run", *VM, "--network=api.example.org",
                              "--secret", secret, "--", "true", **env)
        equal((secret, status), (secret, 125))
        contains(err, part)


@sandbox_test
def guests_trust_their_authority(place):
    """a guest has the authority's certificate as long as its policy intercepts"""
    env = shim(place)
    up(place, "--ca-certificates=none", "--network=api.example.org", **env)
    host = guest_root(place, **env) + \
        "/usr/local/share/ca-certificates/stepback-host.crt"
    equal(os.path.exists(host), False)
    status, _, err = call(place, "net", "allow", "intercept:api.example.org", **env)
    equal((status, guest_root(place, **env) in host), (0, True))
    equal(read(host).count("BEGIN CERTIFICATE"), 1)
    good(place, "net", "allow", "GET:b.example.org", **env)
    first = read(host)
    good(place, "net", "rm", "intercept:api.example.org", **env)
    equal((guest_root(place, **env) in host, read(host)), (True, first))
    good(place, "net", "rm", "GET:b.example.org", **env)
    equal((guest_root(place, **env) in host, os.path.exists(host)), (True, False))
    end(place, **env)
    up(place, "--ca-certificates=none", "--network=intercept:api.example.org", **env)
    host = guest_root(place, **env) + \
        "/usr/local/share/ca-certificates/stepback-host.crt"
    equal((read(host).count("BEGIN CERTIFICATE"), read(host) == first), (1, False))
    end(place, **env)


@sandbox_test
def a_guest_must_trust_its_authority(place):
    """a machine whose requests are intercepted does not start without that trust"""
    env = shim(place, STEPBACK_TEST_SHIM="--root=/proc/sys")
    words = ("--ca-certificates=none", "--git-identity=none")
    refused(place, "up", *VM, *words, "--network=intercept:api.example.org",
            part="could not install the host's certificates or git identity: "
            "/usr/local/share/ca-certificates/stepback-host.crt: ", status=1, **env)
    call(place, "rm", "-f", "share", **env)
    up(place, *words, "--network=api.example.org", **env)
    equal(call(place, "net", "allow", "intercept:api.example.org", **env)[0], 0)
    good(place, *QUIET, "--", "true", **env)
    while "stepback-host.crt: " not in good(place, "logs", **env):
        time.sleep(0.1)  # the test ends at the runner's limit


if __name__ == "__main__":
    sys.exit(main(globals()))

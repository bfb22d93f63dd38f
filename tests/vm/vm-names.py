#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A policy of names in a virtual machine: its own resolver and real clients, with the
servers of names_world.py, and the table of net_clients.py in the same machine. The
other cases are in local-names.py and local-clients.py.

It is skipped without QEMU or the image debian (STEPBACK_TEST_IMAGE names another).
All clients are in one of `image build --flavour=standard --packages=wget`.
"""
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import guest_start  # noqa: E402
import names_world  # noqa: E402
import net_clients  # noqa: E402
from stdio_client import (Agent, Skip, contains, equal, main, ok,  # noqa: E402
                          test)

IMAGE = os.environ.get("STEPBACK_TEST_IMAGE", "debian")
CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
WORLD = TABLE = None

HTTPS = """
import sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=60).read())
except urllib.error.HTTPError as error:
    sys.exit(error.read().decode())
"""


def say(agent, command):
    """The exit code and the output of a command."""
    answer, text = agent.execute(command + " 2>&1")
    return ok(answer)["exit_code"], text


def get(agent, url):
    code, text = say(agent, "python3 https.py " + url)
    equal((url, code, text if code else ""), (url, 0, ""))
    return text


def begin(place):
    """A session in a machine that trusts the world's certificate."""
    if not shutil.which("qemu-system-x86_64") or \
            not os.path.exists(os.path.join(CACHE, "stepback/guest", IMAGE)):
        raise Skip("there is no QEMU or no image " + IMAGE)
    agent = Agent(place, STEPBACK_QEMU=None, XDG_CACHE_HOME=CACHE)
    with open(WORLD.folder + "/cert.pem", encoding="ascii") as file:
        certificate = file.read()
    with open(place.share + "/https.py", "w", encoding="ascii") as file:
        file.write(HTTPS)
    ok(agent.start(vm=guest_start.plan(agent.env, IMAGE), ca_certificates=certificate,
                   network_policy={"allow": ["api.example.test"]}))
    return agent


@test
def names_in_a_machine(_):
    """a machine reaches listed names, no other, until that changes to interception"""
    agent = TABLE.session()
    contains(get(agent, "https://api.example.test/x"), "GET /x api.example.test")
    contains(get(agent, "http://api.example.test/y"), "GET /y api.example.test")
    for url in ("https://other.example.test/", "http://api.example.test:5000/",
                "http://%s/" % names_world.ADDRESS):
        code, text = say(agent, "python3 https.py " + url)
        assert code != 0 and "GET" not in text, (url, text)
    refused = [(m["payload"]["destination"], m["payload"]["protocol"])
               for m in agent.seen if m["type"] == "event.warning" and
               m["payload"]["code"] == "network_refused"]
    equal(refused[0], ("other.example.test", "dns"))
    ok(agent.ask("session.configure_network",
                 network_policy={"allow": ["other.example.test"]}))
    contains(get(agent, "https://other.example.test/"), "GET / other.example.test")
    ok(agent.ask("session.configure_network",
                 network_policy={"allow": ["GET:api.example.test/v1"]}))
    contains(get(agent, "https://api.example.test/v1/x"), "GET /v1/x")
    code, text = say(agent, "python3 https.py https://api.example.test/v2")
    equal(code, 1)
    contains(text, "Stepback refused this request")
    equal([one for one in WORLD.asked() if one not in
           ("api.example.test", "other.example.test")], [])


names_in_a_machine.alone = True


if __name__ == "__main__":
    with names_world.entered("client_servers") as WORLD:
        TABLE = net_clients.Table(WORLD, begin, machine=True)
        net_clients.add_tests(TABLE)
        try:
            main()
        finally:
            TABLE.close()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A sandbox of local isolation trusts the authority of its run, if and as long
as its network policy intercepts requests, and the certificates that are given."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_agent import begin  # noqa: E402
from local_case import LOCAL, call, need  # noqa: E402
from sandbox_case import CERTIFICATE, sandbox_test  # noqa: E402
from stdio_client import contains, equal, main, ok  # noqa: E402

BUNDLE, ADDED = "/run/stepback/ca-certificates.crt", "/run/stepback/added.crt"
INTERCEPT = {"allow": ["intercept:api.example.test"]}
PLAIN = {"allow": ["api.example.test"]}
SHOW = 'echo "${SSL_CERT_FILE-} ${GIT_SSL_CAINFO-} ${DENO_CERT-}"'
VARIABLES = f"{BUNDLE} {BUNDLE} {ADDED}\n"


def configure(agent, policy):
    ok(agent.ask("session.configure_network", network_policy=policy))


def say(agent, command):
    report = ok(agent.ask("agent.execute", command=f"{{ {command}; }} >out 2>&1"))
    with open(agent.place.share + "/out", encoding="utf-8") as file:
        return report["exit_code"], file.read()


def host_bundle():
    for path in ("/etc/ssl/certs/ca-certificates.crt",
                 "/etc/pki/tls/certs/ca-bundle.crt"):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return file.read().count("BEGIN CERT")
    return 0


@sandbox_test
def files(place):
    """the sandbox has the authority's certificate, and no key"""
    need()
    agent = begin(place, network_policy=PLAIN)
    equal(say(agent, SHOW), (0, "  \n"))
    code, text = say(agent, f"cat {ADDED}")
    equal((code, text.count("BEGIN"), text.count("BEGIN CERTIFICATE")), (0, 1, 1))
    code, bundle = say(agent, f"cat {BUNDLE}")
    equal(bundle.count("BEGIN CERT"), host_bundle() + 1)
    contains(bundle, text)
    equal(say(agent, f"echo x >{ADDED}")[0] != 0, True)
    equal(say(agent, "grep -rl 'PRIVATE KEY' /run/stepback/")[0] != 0, True)
    equal(agent.close(), 0)


@sandbox_test
def variables(place):
    """executions get the variables, from the change of the policy on"""
    need()
    agent = begin(place, network_policy=PLAIN, env={"GIT_SSL_CAINFO": "/own"})
    equal(say(agent, SHOW), (0, " /own \n"))
    configure(agent, INTERCEPT)
    equal(say(agent, SHOW), (0, f"{BUNDLE} /own {ADDED}\n"))
    configure(agent, PLAIN)
    equal(say(agent, SHOW), (0, " /own \n"))
    equal(agent.close(), 0)


@sandbox_test
def from_the_start(place):
    """executions get the variables from the start"""
    need()
    agent = begin(place, network_policy=PLAIN)
    configure(agent, INTERCEPT)
    equal(agent.close(), 0)
    agent = begin(place, network_policy=INTERCEPT)
    equal(say(agent, SHOW), (0, VARIABLES))
    equal(agent.close(), 0)


@sandbox_test
def given(place):
    """given certificates are in the files, with and without a network"""
    need()
    for policy, count in (("disabled", 1), (PLAIN, 2)):
        agent = begin(place, network_policy=policy, ca_certificates=CERTIFICATE)
        equal(say(agent, SHOW), (0, VARIABLES))
        code, text = say(agent, f"cat {ADDED}")
        equal((code, text.count("BEGIN CERT"), text.startswith(CERTIFICATE)),
              (0, count, True))
        contains(say(agent, f"cat {BUNDLE}")[1], text)
        equal(agent.close(), 0)
    agent = begin(place)
    equal(say(agent, "cat " + ADDED)[0], 1)
    equal(agent.close(), 0)


@sandbox_test
def from_the_host(place):
    """certificates that were added to the host are trusted, unless by none"""
    need()
    env = {"STEPBACK_CERTIFICATE_PATH": place.root + "/certificates"}
    os.mkdir(place.root + "/certificates")
    with open(place.root + "/certificates/own.crt", "w", encoding="ascii") as file:
        file.write(CERTIFICATE)
    for words, text in (((), CERTIFICATE), (("--ca-certificates=none",), "")):
        status, out, _ = call(place, "run", *LOCAL, "--no-network", *words, "-C",
                                place.share, "--", "sh", "-c",
                                f"cat {ADDED} 2>/dev/null; {SHOW}", **env)
        equal((status, out), (0, text + (VARIABLES if text else "  \n")))


if __name__ == "__main__":
    sys.exit(main(globals()))

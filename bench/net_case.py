# SPDX-License-Identifier: Apache-2.0
"""HTTPS from a sandbox of local isolation to a server in another network namespace.

    plain        stepback-net alone: the policy lists the server's address
    spliced      it lists the name: the bytes pass stepback-proxy unchanged
    intercepted  requests are read: stepback-proxy ends TLS on both sides
    nginx        plain, to an nginx that ends TLS on both sides, where it is installed
                 (STEPBACK_BENCH_NGINX names another one)

"download" is one of 1 GiB; its CPU time is that of stepback-net, stepback-proxy and
nginx. "connect" is the median of connections, from the name's resolution to the first
byte of a short answer, with the CPU time of one of them. Client and server run on the
same processors: on a machine with few of them compare the CPU times."""

import json
import os
import subprocess
import sys

from measure import Result, fresh_folder, in_turn, remove

CONTESTANTS = ("plain", "spliced", "intercepted", "nginx")


class Inside:
    """net_world.py, in namespaces of its own: a line for each turn."""

    def __init__(self, settings, base, size, connections):
        here = os.path.dirname(os.path.abspath(__file__))
        self.process = subprocess.Popen(
            ["unshare", "-nm", sys.executable, here + "/net_world.py",
             settings.build, base, str(size), str(connections)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self):
        """The next line, or why there is none."""
        text = self.process.stdout.readline()
        return json.loads(text) if text else {"skipped": "it ended early"}

    def turn(self, name):
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        numbers = self.line()
        if "skipped" in numbers:
            raise RuntimeError(numbers["skipped"])
        return numbers

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def case_net(settings):
    result = Result("net", "HTTPS through the network of a sandbox")
    base = fresh_folder(settings.work + "/net")
    inside = Inside(settings, base, settings.scaled(1 << 30, 1 << 20),
                    settings.scaled(200, 3))
    try:
        lacks = inside.line()
        result.skipped.update(lacks)
        if "skipped" not in lacks:
            in_turn(result, {name: lambda name=name: inside.turn(name)
                             for name in CONTESTANTS if name not in lacks},
                    settings.rounds)
    finally:
        inside.end()
        remove(base)
    for name, least, most in (("spliced", 0.9, 0.001), ("intercepted", 0.6, 0.003),
                              ("nginx", None, None)):
        result.ratio("plain", "download", name, least=least)
        result.ratio(name, "download_cpu", "plain")
        if most:
            result.difference(name, "connect", "plain", most)
    return result

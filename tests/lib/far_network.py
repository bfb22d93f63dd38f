# SPDX-License-Identifier: Apache-2.0
"""Two ends of a link, in network namespaces, for tests of networks.

    near    192.0.2.1, 2001:db8::1       its routes lead to the other
    far     192.0.2.2, 2001:db8::2
"""
import os
import subprocess
import sys
import time

# Shell commands for each end.
LINK = "ip link set lo up && ip link add near type veth peer name far"
NEAR = ("ip link set near up && ip addr add 192.0.2.1/24 dev near && "
        "ip addr add 2001:db8::1/64 dev near nodad")
ROUTES = "ip route add default via 192.0.2.2 && ip route add default via 2001:db8::2"
FAR = ("ip link set far up && ip addr add 192.0.2.2/24 dev far && "
       "ip addr add 2001:db8::2/64 dev far nodad")


def sh(line):
    subprocess.run(line, shell=True, check=True)


def enter(variable):
    """Run this program again in a network of its own. Return a reason if there
    can be none. variable: of the environment."""
    if os.environ.get(variable) == "inside":
        return None
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    if subprocess.run(["unshare", "-n", *user, "ip", "link", "set", "lo", "up"],
                      stderr=subprocess.DEVNULL).returncode != 0:
        return "network namespaces are unavailable"
    os.environ[variable] = "inside"
    os.execvp("unshare", ["unshare", "-n", *user, sys.executable, *sys.argv])


class FarNetwork:
    """Runs a Python program at the far end, which calls serve_far()."""

    def __init__(self, *program):
        sh(LINK)
        self.process = subprocess.Popen(
            ["unshare", "-n", sys.executable, "-B", *program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        while os.readlink(f"/proc/{self.process.pid}/ns/net") == \
                os.readlink("/proc/self/ns/net"):
            time.sleep(0.01)
        sh(f"ip link set far netns {self.process.pid} && {NEAR}")
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != b"ready\n":
            sys.exit("the world did not start")
        sh(ROUTES)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def add_addresses(addresses):
    for address in addresses:
        sh(f"ip addr add {address}/32 dev lo" if ":" not in address else
           f"ip addr add {address}/128 dev lo nodad")


def serve_far(addresses, begin):
    """Once the link is there, set up the far end with these addresses, and call
    begin(). Return when the input ends."""
    sys.stdin.readline()
    sh("ip link set lo up && " + FAR)
    add_addresses(addresses)
    begin()
    print("ready", flush=True)
    sys.stdin.read()

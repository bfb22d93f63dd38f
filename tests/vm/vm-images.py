#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each guest image can do: its accounts, tools and package database work as
on a Debian system whose maintainer scripts have run. One start for each image.
"""
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import guest_start  # noqa: E402
from stdio_client import Agent, Skip, equal, main, test  # noqa: E402

CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))


def start(place, image):
    if not (shutil.which("qemu-system-x86_64") and os.path.exists(
            os.path.join(CACHE, "stepback/guest", image, "image.json"))):
        raise Skip(f"there is no QEMU or no image '{image}'")
    agent = Agent(place, STEPBACK_QEMU=None, XDG_CACHE_HOME=CACHE)
    vm = guest_start.plan(agent.env, image)
    equal(agent.start(vm=vm)["status"], "ok")
    guest_start.check(agent.process.pid, vm)
    return agent


def expect(agent, command, output, code=0):
    """Run a command in the guest; its exit code and output are as given."""
    answer, text = agent.execute(command)
    equal((command, answer["payload"].get("exit_code"), text),
          (command, code, output))


NOBODY = "uid=65534(nobody) gid=65534(nogroup) groups=65534(nogroup)\n"


@test
def minimal(place):
    """minimal: there is a user nobody, and wget -T does not crash"""
    agent = start(place, "minimal")
    expect(agent, "su nobody -s /bin/sh -c id", NOBODY)
    expect(agent, "wget -q -T 5 -O- http://127.0.0.1:1/",
           "wget: can't connect to remote host (127.0.0.1): "
           "Connection refused\n", 1)
    expect(agent, "echo x > /tmp/f; cd /tmp; busybox httpd -p 127.0.0.1:80; "
           "wget -qT5 -O - http://127.0.0.1/f", "x\n")
    equal(agent.close(), 0)


@test
def debian(place):
    """debian: accounts, PAM, alternatives and dpkg are configured"""
    agent = start(place, "debian")
    expect(agent, "su -c 'id -un'", "root\n")
    expect(agent, "runuser -u nobody id", NOBODY)
    expect(agent, "useradd -m -s /bin/bash me && echo me:Secret-1 | chpasswd && "
           "su - me -c 'id -un; pwd'", "me\n/home/me\n")
    expect(agent, "chsh -s /bin/dash me && getent passwd me | cut -d: -f7",
           "/bin/dash\n")
    expect(agent, "pwck -qr; grpck -r; dpkg --audit; "
           "find / -xdev -nouser -o -nogroup", "")
    # Nothing is left for those that maintain these files.
    expect(agent, "cp -a /etc/pam.d /etc/shells /etc/ld.so.cache /tmp; "
           "DEBIAN_FRONTEND=noninteractive pam-auth-update --package; "
           "update-shells; ldconfig; diff -rb /tmp/pam.d /etc/pam.d; "
           "diff /tmp/shells /etc/shells; "
           "cmp /tmp/ld.so.cache /etc/ld.so.cache", "")
    expect(agent, "readlink -f /usr/bin/awk /usr/bin/vi /var/run",
           "/usr/bin/gawk\n/usr/bin/vim.tiny\n/run\n")
    expect(agent, "for tool in less curl jq rg vi cc git make; do "
           "command -v $tool >/dev/null || echo $tool; done", "")
    expect(agent, "echo '{\"a\":1}' | jq .a", "1\n")
    # The modules of a venv's pip, and byte code that is up to date.
    expect(agent, "python3 -c 'import ensurepip; print(ensurepip.version() > str())'",
           "True\n")
    expect(agent, "cd /usr/lib/python3; python3 -v -c 'import json' 2>&1 | "
           "grep -c 'wrote\\|code object from.*[.]py$'", "0\n", 1)
    equal(agent.close(), 0)


main()

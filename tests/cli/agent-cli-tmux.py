#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shell in a window of tmux: programs that use the whole terminal, and the
terminal's state after each way out. Over a fake QEMU whose guest is the real
shim, with the programs of this host. STEPBACK_PASTED_LINES says how many lines
are pasted."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (PROGRAM, Skip, equal, eventually,  # noqa: E402
                          main, test)
from terminal_programs import Programs  # noqa: E402
from tmux_window import Window  # noqa: E402

PROMPT = "ready>"
PROFILE = """PS1='%s '
HISTFILE=
""" % PROMPT


class Box:
    """A running sandbox over the place's share."""

    def __init__(self, place):
        self.place = place
        self.home = os.path.join(place.root, "home")
        os.makedirs(self.home)
        with open(self.home + "/.bash_profile", "w") as file:
            file.write(PROFILE)
        self.env = place.environment(STEPBACK_FAKE_QEMU="shim", HOME=self.home)
        self.text("up", "--accel=tcg")
        self.pid = json.loads(self.text("inspect", "share"))["pid"]

    def text(self, *words):
        return subprocess.run([PROGRAM, *words], env=self.env, check=True,
                              cwd=self.place.share, capture_output=True,
                              timeout=120).stdout.decode()


@contextlib.contextmanager
def sandbox(place):
    if not shutil.which("tmux"):
        raise Skip("there is no tmux")
    place.mounting()
    box = Box(place)
    try:
        with Window(place.root, box.env) as window:
            window.enter("cd %s" % place.share)
            yield box, window
    finally:
        subprocess.run([PROGRAM, "kill", "share"], env=box.env,
                       capture_output=True)


@contextlib.contextmanager
def shell(box, window):
    """A shell of the sandbox; after it the terminal is as before."""
    before = window.settings()
    window.clear()
    window.enter("%s shell -e HOME=%s; echo code $?." % (PROGRAM, box.home))
    window.expect(PROMPT + "$")
    yield Programs(window, PROMPT, box.place.share)
    equal(window.settings(), before)


@test
def programs(place):
    """editors, pagers, interpreters and job control work in tmux, also when the
    window's size changes; after exit the terminal is as before"""
    with sandbox(place) as (box, window), shell(box, window) as inside:
        inside.all()
        inside.start("exit 5")
        window.expect(r"^code 5\.$")


def killed(place, kill, *seen):
    """Kill something while vim has the terminal; what the screen shows then."""
    with sandbox(place) as (box, window), shell(box, window) as inside:
        inside.start("vi -u NONE -n file")
        window.expect("^~$")
        equal(window.format("alternate_on"), "1")
        kill(box, window)
        assert eventually(lambda: window.format("alternate_on") == "0", 60)
        for pattern in seen:
            window.expect(pattern)
        window.keys("Enter")
        window.expect("host>$")


@test
def killed_client(place):
    """kill -9 of the client leaves the terminal as before"""
    def kill(_, window):
        shell_pid = window.format("pane_pid")
        with open("/proc/%s/task/%s/children" % (shell_pid, shell_pid)) as file:
            client, = file.read().split()
        os.kill(int(client), signal.SIGKILL)
    # What the shell prints first may go with the alternate screen.
    killed(place, kill)


@test
def killed_supervisor(place):
    """kill -9 of the supervisor leaves the terminal as before"""
    killed(place, lambda box, _: os.kill(box.pid, signal.SIGKILL),
           r"^code \d+\.$")


main()

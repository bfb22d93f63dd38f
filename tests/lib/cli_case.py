# SPDX-License-Identifier: Apache-2.0
"""The command line over a fake QEMU, with the daemon that it queries."""
import contextlib
import json
import os
import signal
import socket
import subprocess

from pty_client import Terminal
from stdio_client import BUILDDIR, PROGRAM, Skip, equal, eventually


def call(place, *words, **env):
    done = subprocess.run([PROGRAM, *words], env=place.environment(**env),
                          capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr.decode()


def run(place, *words):
    folder = () if "-C" in words else ("-C", place.share)
    return call(place, "run", *folder, "--accel", "tcg", *words)


def without_script(name):
    """A program and its environment, without libtool's script, which opens
    files of its own."""
    program = BUILDDIR + "/.libs/" + name
    if not os.path.exists(program):
        return BUILDDIR + "/" + name, {}
    return program, {"LD_LIBRARY_PATH": "%s/.libs:%s/interceptor/.libs" %
                                        (BUILDDIR, BUILDDIR)}


@contextlib.contextmanager
def overlay(place, lower=()):
    """An overlay's folder, with these files, each with its name in it, in its
    lower layer."""
    over = place.root + "/over"
    parts = [place.root + "/" + name for name in ("lower", "upper", "work")]
    for path in (over, *parts):
        os.mkdir(path)
    for name in lower:
        os.makedirs(os.path.dirname(parts[0] + "/" + name))
        with open(parts[0] + "/" + name, "w") as file:
            file.write(os.path.basename(name))
    if subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                       "lowerdir=%s,upperdir=%s,workdir=%s" % tuple(parts),
                       over], stderr=subprocess.DEVNULL).returncode:
        raise Skip("there is no overlayfs here")
    try:
        yield over
    finally:
        subprocess.run(["umount", over], check=True)


class Daemon:
    """The real daemon, serving the folder to this host. A with statement ends it
    after its block."""

    def __init__(self, place, *options, end_signal=signal.SIGTERM):
        self.place = place
        self.end_signal = end_signal
        self.seen = place.root + "/seen"
        self.socket = place.root + "/control.sock"
        os.makedirs(self.seen, exist_ok=True)
        self.process = subprocess.Popen(
            [BUILDDIR + "/stepback-virtiofsd", "--shared-dir", place.share,
             "--mount", self.seen, "--interceptor-socket", self.socket,
             "--undo-dir", place.root + "/.stepback/.git/share", *options],
            stderr=subprocess.DEVNULL)
        if not eventually(lambda: os.path.ismount(self.seen) or
                          self.process.poll() is not None, 10) or \
                self.process.poll() is not None:
            raise Skip("the daemon cannot mount here")
        self.control = socket.socket(socket.AF_UNIX)
        self.control.connect(self.socket)
        self.answers = self.control.makefile()

    def ask(self, operation, **payload):
        request = {"type": operation, "request_id": "1", "payload": payload}
        self.control.sendall(json.dumps(request).encode() + b"\n")
        while True:
            answer = json.loads(self.answers.readline())
            if answer["type"] == "response":
                equal(answer["status"], "ok")
                return answer["payload"]

    def step(self, id, command):
        self.ask("step.open", step_id=id, type="command", command=command)
        subprocess.run(["sh", "-c", command], cwd=self.seen, check=True)
        self.ask("step.close", step_id=id, exit_code=0)

    def write_outside(self, name):
        """Write a file as part of no command."""
        with open(self.seen + "/" + name, "w") as file:
            file.write("outside commands")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, number=None):
        self.process.send_signal(number or self.end_signal)
        self.process.wait(20)
        # os.path.ismount() does not see a mount whose daemon was killed.
        subprocess.run(["umount", "-l", self.seen], stderr=subprocess.DEVNULL)


def on_terminal(place, *words, columns=80, **env):
    """What a command prints on a terminal, without a pager."""
    env = dict({"TERM": "xterm", "STEPBACK_PAGER": ""}, **env)
    with Terminal([PROGRAM, *words], place.environment(**env),
                  columns=columns) as terminal:
        equal((words, terminal.wait()), (words, 0))
        return terminal.text()


def answer_on_terminal(place, answer, *words):
    """The same of one that may ask, and gets this answer; without colours."""
    with Terminal([PROGRAM, *words], place.environment(
            TERM="dumb", STEPBACK_PAGER="")) as terminal:
        terminal.send(answer)
        terminal.wait()
        return terminal.text()


def steps(place, *commands):
    with Daemon(place) as daemon:
        for i, command in enumerate(commands):
            daemon.step(i + 1, command)

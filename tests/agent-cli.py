#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line: run over a fake QEMU, history and undo over real logs."""
import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from stdio_client import BUILDDIR, PROGRAM, Place, eventually  # noqa: E402

TESTS = []


def test(function):
    TESTS.append(function)
    return function


class Skip(Exception):
    pass


def equal(a, b):
    assert a == b, "%r is not %r" % (a, b)


def contains(text, part):
    assert part in text, "%r is not in %r" % (part, text)


def call(place, *words, **env):
    done = subprocess.run([PROGRAM, *words], env=place.environment(**env),
                          capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr.decode()


def run(place, *words):
    return call(place, "run", "-C", place.share, "--accel", "tcg", *words)


class Daemon:
    """The real daemon, serving the folder to this host."""

    def __init__(self, place):
        self.place = place
        self.seen = place.root + "/seen"
        self.socket = place.root + "/control.sock"
        os.makedirs(self.seen, exist_ok=True)
        self.process = subprocess.Popen(
            [BUILDDIR + "/stepback-virtiofsd", "--shared-dir", place.share,
             "--mount", self.seen, "--interceptor-socket", self.socket,
             "--undo-dir", place.root + "/.stepback/share"],
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

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(20)
        # A mount whose daemon was killed is no mount to os.path.ismount().
        subprocess.run(["umount", "-l", self.seen], stderr=subprocess.DEVNULL)


@test
def usage(place):
    """wrong command lines exit with 2, --help and --version with 0"""
    for words in ((), ("fly",), ("run",), ("run", "--nope", "--", "x"),
                  ("history", "x"), ("history", "-n", "0"), ("undo", "x"),
                  ("undo", "0"), ("undo", "1", "2"), ("image",),
                  ("agent", "--log-level", "loud"), ("doctor", "x")):
        status, out, err = call(place, *words)
        equal((words, status, out, err != ""), (words, 2, b"", True))
    for words in (("--help",), ("--version",), ("run", "--help"),
                  ("undo", "--help"), ("image", "--help")):
        status, out, err = call(place, *words)
        equal((words, status, err, out != b""), (words, 0, "", True))


@test
def exit_codes(place):
    """run passes the exit code on and says what changed"""
    for code in (0, 1, 77, 137):
        status, out, err = run(place, "--", "exit %d" % code)
        equal((status, out), (code, b""))
        equal(err, "stepback: nothing changed\n")
    equal(run(place, "-C", place.root + "/none", "--", "x")[0], 1)
    equal(run(place, "--timeout", "1", "--", "sleep")[0], 124)


@test
def output(place):
    """run streams bytes to the stream they came from"""
    equal(run(place, "--", "echo one")[1], b"one\n")
    done = subprocess.run([PROGRAM, "run", "-C", place.share, "--", "bytes"],
                          env=place.environment(), timeout=60,
                          capture_output=True)
    equal((done.returncode, done.stdout), (0, b""))
    contains(done.stderr, b"\xff\x00")
    status = subprocess.run([PROGRAM, "run", "-C", place.share, "--accel",
                             "tcg", "--", "flood 200"],
                            env=place.environment(), timeout=60,
                            capture_output=True)
    equal(len(status.stdout), 200 * 32768)


@test
def quoting(place):
    """one argument is shell text, several are words"""
    status, out, err = run(place, "--", "show $HOME; 'x'")
    equal(json.loads(out)["command"], "show $HOME; 'x'")
    status, out, err = run(place, "--", "show", "a b", "$x")
    equal(json.loads(out)["command"], "show 'a b' '$x'")


@test
def interrupts(place):
    """SIGINT cancels the command, and the step is closed"""
    process = subprocess.Popen(
        [PROGRAM, "run", "-v", "-C", place.share, "--accel", "tcg", "--",
         "sleep"], env=place.environment(), stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL, text=True)
    for line in process.stderr:
        if "is up after" in line:
            break
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    contains(process.stderr.read(), "nothing changed")
    equal(process.wait(20), 130)
    equal(os.listdir(place.runtime), [])


@test
def a_reader_that_leaves(place):
    """a closed stdout ends the command as SIGPIPE would"""
    process = subprocess.Popen(
        [PROGRAM, "run", "-C", place.share, "--accel", "tcg", "--",
         "flood 400"], env=place.environment(), stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL)
    process.stdout.read(100)
    process.stdout.close()
    equal(process.wait(60), 128 + signal.SIGPIPE)


@test
def no_history(place):
    """a folder without a log: an empty history, and none is made"""
    equal(call(place, "history", "-C", place.share)[:2],
          (0, b"There is nothing to undo.\n"))
    status, out, err = call(place, "history", "--json", "-C", place.share)
    equal(json.loads(out), {"steps": [], "last_step_id": 0})
    status, out, err = call(place, "undo", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "no undo log")
    equal(os.path.exists(place.root + "/.stepback"), False)


@test
def undo_with_and_without_daemon(place):
    """history and undo are the same, whoever owns the log"""
    with open(place.share + "/old", "w") as file:
        file.write("old")
    daemon = Daemon(place)
    try:
        daemon.step(1, "echo new > old; mkdir d; echo x > d/x")
        daemon.step(2, "rm old")
        daemon.step(3, "mv d e")
        owned = call(place, "history", "--json", "-C", place.share)
        equal(owned[0], 0)
        status, out, err = call(place, "undo", "-C", place.share)
        equal((status, err), (0, ""))
        contains(out.decode(), "undone: 3")
        equal(sorted(os.listdir(place.share)), ["d"])
    finally:
        daemon.end()
    status, out, err = call(place, "history", "--json", "-C", place.share)
    equal([s["step_id"] for s in json.loads(out)["steps"]], [2, 1])
    equal([s["step_id"] for s in json.loads(owned[1])["steps"]], [3, 2, 1])
    equal(json.loads(out)["steps"], json.loads(owned[1])["steps"][1:])
    out = call(place, "history", "-n", "1", "-C", place.share)[1].decode()
    contains(out, "rm old")
    contains(out, "1 path changed (1 deleted)")
    equal(len(out.splitlines()), 1)
    equal(call(place, "undo", "3", "-C", place.share)[0], 1)
    equal(os.listdir(place.share), ["d"])
    equal(call(place, "undo", "2", "-C", place.share)[0], 0)
    equal(os.listdir(place.share), ["old"])
    equal(open(place.share + "/old").read(), "old")


@test
def changes_from_outside(place):
    """undo stops at what somebody else has changed, and says so"""
    with open(place.share + "/old", "w") as file:
        file.write("old")
    daemon = Daemon(place)
    try:
        daemon.step(1, "echo new > old")
        with open(place.share + "/old", "w") as file:
            file.write("mine")
        out = call(place, "history", "-C", place.share)[1].decode()
        contains(out.splitlines()[0], "changed from outside: old")
        status, out, err = call(place, "undo", "-C", place.share)
        equal((status, out), (1, b""))
        contains(err, "changed from outside: old")
        contains(err, "--force")
    finally:
        daemon.end()
    # Nobody watches now, and it is not forgotten.
    status, out, err = call(place, "undo", "-C", place.share)
    equal(status, 1)
    contains(err, "changed from outside: old")
    equal(open(place.share + "/old").read(), "mine")
    status, out, err = call(place, "undo", "--force", "-C", place.share)
    equal(status, 0)
    contains(out.decode(), "undone: 1")
    contains(err, "warning: ")
    equal(open(place.share + "/old").read(), "old")


@test
def recovery_is_told(place):
    """a step that a crash interrupted is taken back, and that is said"""
    daemon = Daemon(place)
    try:
        daemon.ask("step.open", step_id=1, type="command", command="break it")
        open(daemon.seen + "/half", "w").close()
    finally:
        daemon.end(signal.SIGKILL)
    equal(os.listdir(place.share), ["half"])
    status, out, err = call(place, "history", "-C", place.share)
    equal((status, out), (0, b"There is nothing to undo.\n"))
    contains(err, "taken back: break it")
    equal(os.listdir(place.share), [])


@test
def doctor(place):
    """doctor says what is missing and what mends it"""
    status, out, err = call(place, "doctor")
    equal((status, err), (0, ""))
    os.unlink(place.image + "/vmlinuz")
    status, out, err = call(place, "doctor", STEPBACK_QEMU=None,
                            PATH=place.root, STEPBACK_LIBEXECDIR=place.root)
    equal(status, 1)
    for part in ("apt-get install", "stepback image build", "make install"):
        contains(out.decode(), part)


@test
def image_builder(place):
    """image build runs the builder with its arguments"""
    os.makedirs(place.root + "/data/guest")
    builder = place.root + "/data/guest/build"
    with open(builder, "w") as file:
        file.write('#!/bin/sh\necho "$#:$*"\nexit 9\n')
    os.chmod(builder, 0o755)
    status, out, err = call(place, "image", "build", "--flavour", "debian",
                            STEPBACK_DATADIR=place.root + "/data")
    equal((status, out), (9, b"2:--flavour debian\n"))


def main():
    print("1..%d" % len(TESTS), flush=True)
    failed = 0
    for number, function in enumerate(TESTS, 1):
        place = Place()
        verdict, note = "ok", ""
        try:
            function(place)
        except Skip as reason:
            note = " # SKIP %s" % reason
        except Exception:
            verdict = "not ok"
            failed += 1
            for line in traceback.format_exc().splitlines():
                print("# " + line)
        place.remove()
        print("%s %d - %s%s" % (verdict, number, function.__doc__, note),
              flush=True)
    sys.exit(failed > 0)


main()

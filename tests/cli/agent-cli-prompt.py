#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shell: each line typed at the prompt is a step. bash and vim of this host
are on a terminal, over a fake QEMU whose guest is the real shim.
STEPBACK_PASTED_LINES says how many lines are pasted (default: 300)."""
import base64
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from pty_client import CTRL_C, CTRL_D, ESCAPE, Terminal  # noqa: E402
from sandbox_case import Client  # noqa: E402
from stdio_client import (PROGRAM, Skip, contains, equal,  # noqa: E402
                          eventually, main, test)

PROMPT = "ready> "
PASTED = int(os.environ.get("STEPBACK_PASTED_LINES", "300"))


class Box:
    """A running sandbox over the place's share."""

    def __init__(self, place, *options):
        self.place = place
        place.mounting()
        home = os.path.join(place.root, "home")
        os.makedirs(home, exist_ok=True)
        # The login shell reads the start-up files of this home alone.
        with open(home + "/.bash_profile", "w") as file:
            file.write("PS1='%s'\nPROMPT_COMMAND='last=$?'\n"
                       "HISTCONTROL=ignoreboth\nHISTFILE=\n"
                       "PATH=/usr/bin:/bin\n" % PROMPT)
        self.home = home
        self.env = place.environment(STEPBACK_FAKE_QEMU="shim", HOME=home,
                                     TERM="xterm")
        self.text("up", "--accel=tcg", *options)

    def run(self, *words):
        return subprocess.run([PROGRAM, *words], env=self.env,
                              cwd=self.place.share, capture_output=True,
                              timeout=120)

    def text(self, *words):
        done = self.run(*words)
        equal((words, done.returncode, done.stderr), (words, 0, b""))
        return done.stdout.decode()

    def terminal(self, *words):
        return Terminal([PROGRAM, *words], env=self.env, cwd=self.place.share)

    def history(self):
        """(command, paths), the newest first."""
        steps = json.loads(self.text("history", "--json"))["steps"]
        return [(s.get("command"), sorted(c["path"] for c in s["changes"]))
                for s in steps if not s.get("unchanged") and s["changes"]]

    def read(self, name):
        with open(os.path.join(self.place.share, name)) as file:
            return file.read()


@contextlib.contextmanager
def sandbox(place, *options):
    box = Box(place, *options)
    try:
        yield box
    finally:
        box.run("kill", "share")


@contextlib.contextmanager
def shell(box, *words):
    with box.terminal("shell", "-e", "HOME=" + box.home, *words) as terminal:
        terminal.expect(PROMPT)
        yield terminal
        equal(terminal.settings(), terminal.before)


def enter(terminal, line):
    terminal.send(line + "\n")
    return terminal.expect(PROMPT)


def leave(terminal):
    enter(terminal, "true")
    terminal.send(CTRL_D)
    equal(terminal.wait(), 0)


@test
def lines_are_steps(place):
    """three lines typed are three steps with their text; undo takes the middle
    state back exactly; the exit code of a line is kept"""
    with sandbox(place) as box, shell(box) as terminal:
        enter(terminal, "echo one > f; mkdir d")
        enter(terminal, "echo two >> f  # a 'comment'")
        enter(terminal, " for i in 1 2; do echo $i > d/$i; done; rm f; false")
        contains(enter(terminal, "echo code $?, $last"), "code 1, 1")
        equal(box.history(), [
            (" for i in 1 2; do echo $i > d/$i; done; rm f; false",
             ["d/1", "d/2", "f"]),
            ("echo two >> f  # a 'comment'", ["f"]),
            ("echo one > f; mkdir d", ["d", "f"])])
        box.text("undo", "-y")
        equal((box.read("f"), os.listdir(place.share + "/d")),
              ("one\ntwo\n", []))
        contains(enter(terminal, "step undo"), "undid step")
        equal((box.read("f"), sorted(os.listdir(place.share))),
              ("one\n", ["d", "f"]))
        box.text("redo")  # of what step undo did inside
        equal(box.read("f"), "one\ntwo\n")
        box.text("undo", "-y")
        contains(enter(terminal, "echo three > g; step undo; echo 4 > h"),
                 "undid step")
        equal(sorted(os.listdir(place.share)), ["d", "f", "h"])
        equal(box.history()[0][1], ["h"])
        terminal.send("exit 0\n")
        equal(terminal.wait(), 0)
        # This would be of the line "exit" alone.
        equal(b"nothing changed" in terminal.output, False)


def paste(place, bracketed):
    """Paste lines at the prompt; each of them counts itself, in its order."""
    text = "".join("n %d\r" % number for number in range(PASTED))
    with sandbox(place) as box, shell(box) as terminal:
        enter(terminal, "bind 'set enable-bracketed-paste %s'" %
              ("on" if bracketed else "off"))
        enter(terminal, "N=0; n() { [ $1 = $((N++)) ] || echo lost $1; }")
        began = time.monotonic()
        if bracketed:
            text = ESCAPE + "[200~" + text + ESCAPE + "[201~\r"
        terminal.send(text + "echo had $((N)) lines\r")
        out = terminal.expect(r"had \d+ lines", timeout=60 + PASTED / 20)
        print("# %d lines in %.1f s" % (PASTED, time.monotonic() - began))
        equal((re.findall("lost \\d+", out),
               out.endswith("had %d lines" % PASTED)), ([], True))
        terminal.expect(PROMPT)
        leave(terminal)


@test
def pasted_lines(place):
    """lines pasted at the prompt arrive complete, in order, and once"""
    paste(place, False)


@test
def bracketed_paste(place):
    """lines of a bracketed paste arrive complete, in order, and once"""
    paste(place, True)


@test
def lines_of_zsh(place):
    """zsh: each line is a step with its text, and the user's files are read"""
    if not shutil.which("zsh"):
        raise Skip("there is no zsh")
    with sandbox(place) as box:
        with open(box.home + "/.zshrc", "w") as file:
            file.write("PS1='%s'\n" % PROMPT)
        with box.terminal("exec", "-it", "--step=none", "-e",
                          "HOME=" + box.home, "--", "sh", "-c",
                          'ZDOTDIR="${STEPBACK_STEP_SOCKET%/*}/zsh" '
                          'exec zsh -l') as terminal:
            terminal.expect(PROMPT)
            for line in ("echo one > f", " echo 2 > g; false", "echo $? > h"):
                terminal.send(line + "\r")
                terminal.expect("\r\n.*" + PROMPT)
            equal(box.history(), [("echo $? > h", ["h"]),
                                  (" echo 2 > g; false", ["g"]),
                                  ("echo one > f", ["f"])])
            equal(box.read("h"), "1\n")


@test
def an_editor_is_one_step(place):
    """a vim session that saves twice is one step"""
    with sandbox(place) as box, shell(box) as terminal:
        terminal.send("vim -u NONE -n text\n")
        assert eventually(lambda: terminal.read_for(0.2) and
                          b"text" in terminal.output, 10)
        terminal.send("ione" + ESCAPE)
        terminal.read_for(0.5)
        terminal.send(":w\n")
        assert eventually(lambda: os.path.exists(place.share + "/text"), 10)
        terminal.send("otwo" + ESCAPE)
        terminal.read_for(0.5)
        terminal.send(":wq\n")
        terminal.expect(PROMPT)
        equal(box.read("text"), "one\ntwo\n")
        equal(box.history(), [("vim -u NONE -n text", ["text"])])
        box.text("undo", "-y")
        equal(os.listdir(place.share), [])
        leave(terminal)


@test
def interrupts(place):
    """Ctrl-C ends a line's step, and a wait for another command's step; then
    the shell goes on"""
    with sandbox(place) as box, shell(box) as terminal:
        terminal.send("echo 1 > a; sleep 1000\n")
        assert eventually(lambda: os.path.exists(place.share + "/a"), 10)
        terminal.read_for(0.2)
        terminal.send(CTRL_C)
        terminal.expect(PROMPT)
        equal(box.history(), [("echo 1 > a; sleep 1000", ["a"])])
        with subprocess.Popen([PROGRAM, "exec", "-iq", "--", "sh", "-c",
                               "echo 1 > held; read x"], env=box.env,
                              cwd=place.share,
                              stdin=subprocess.PIPE) as holder:
            assert eventually(lambda: os.path.exists(place.share + "/held"), 10)
            terminal.send("touch waits\n")
            terminal.read_for(1)
            equal(os.path.exists(place.share + "/waits"), False)
            terminal.send(CTRL_C)
            terminal.expect(PROMPT)
            equal(os.path.exists(place.share + "/waits"), False)
            holder.communicate(b"\n")
        enter(terminal, "touch after")
        equal(box.history()[0], ("touch after", ["after"]))
        leave(terminal)


@test
def undo_beside_shells(place):
    """beside several shells, undo names the one that runs a line, and not one
    that is at its prompt"""
    with sandbox(place) as box, shell(box) as idle, shell(box) as busy, \
            shell(box) as later:
        busy.send("echo 1 > a; sleep 1000\n")
        assert eventually(lambda: os.path.exists(place.share + "/a"), 20)
        done = box.run("undo", "-y")
        equal(done.returncode, 1)
        contains(done.stderr.decode(), "sandbox share: job 2 (")
        contains(done.stderr.decode(), "runs a command in this folder; wait until "
                 "its prompt is back, or end it with 'stepback job kill share 2'")
        busy.send(CTRL_C)
        busy.expect(PROMPT)
        box.text("undo", "-y")
        for terminal in (idle, busy, later):
            leave(terminal)


@test
def one_step_is_announced(place):
    """shell says that the session is one step in the image minimal, unless
    --step was given"""
    note = "the whole session is one step: the image 'minimal' has no bash"
    with sandbox(place) as box:
        for words, wanted in (((), True), (("--step=none",), False)):
            with box.terminal("shell", "-e", "HOME=" + box.home,
                              *words) as terminal:
                before = terminal.expect(PROMPT)
                equal((words, note in before), (words, wanted))
                terminal.send("exit\n")
                equal(terminal.wait(), 0)


@test
def a_shell_that_dies(place):
    """a shell that dies within a line closes its step; background jobs keep no
    step open"""
    with sandbox(place) as box:
        with box.terminal("shell", "-e", "HOME=" + box.home) as terminal:
            terminal.expect(PROMPT)
            enter(terminal, "sleep 1000 &")
            equal(box.run("undo", "-y").returncode, 1)  # and not "busy"
            terminal.send("echo 1 > a; kill -9 $$\n")
            equal(terminal.wait(), 137)
        equal(box.history(), [("echo 1 > a; kill -9 $$", ["a"])])
        box.text("undo", "-y")
        equal(os.listdir(place.share), [])


@test
def a_denied_line(place):
    """a safeguard's denial ends the line as Ctrl-C does, and rolls its step
    back; the shell stays, and an agent's call that is denied ends no agent"""
    with sandbox(place) as box, shell(box) as terminal:
        client = Client(place, "share")
        client.ask("events.subscribe", types=["event.safeguard_triggered",
                                              "event.step_completed"])
        client.ask("safeguard.configure", delete_threshold=3)
        enter(terminal, "touch a b c d; export VAR=kept")
        client.event("event.step_completed")
        terminal.send("echo x > new; rm a b c d; sleep 1000; touch more\n")
        held = client.event("event.safeguard_triggered")
        client.ask("safeguard.confirm", action="deny",
                   safeguard_id=held["safeguard_id"])
        contains(terminal.expect(PROMPT),
                 "step: end: a safeguard denied the step: it was rolled back")
        report = client.event("event.step_completed")
        equal((report["aborted"], report["reason"]), (True, "denied"))
        equal(sorted(os.listdir(place.share)), ["a", "b", "c", "d"])
        equal(client.ask("safeguard.configure", delete_threshold=2)["status"],
              "ok")
        with open(place.root + "/agent", "w") as file:
            file.write("echo own > log\n"
                       "step run -- rm a b c d; step run -- touch next\n")
        terminal.send("sh %s/agent; echo $VAR > var\n" % place.root)
        held = client.event("event.safeguard_triggered")
        client.ask("safeguard.confirm", action="deny",
                   safeguard_id=held["safeguard_id"])
        terminal.expect(PROMPT)
        equal(sorted(os.listdir(place.share)),
              ["a", "b", "c", "d", "log", "next", "var"])
        equal(box.read("var"), "kept\n")
        contains(enter(terminal, "step list"), "touch next")
        client.close()
        leave(terminal)


@test
def bytes_in_a_line(place):
    """a line that is not UTF-8 is the step's text, without the history's
    number"""
    with sandbox(place) as box, \
            shell(box, "-e", "LC_ALL=C.UTF-8") as terminal:
        enter(terminal, "touch begun")
        terminal.send(b"echo \xff\xfe > bytes\n")
        terminal.expect(PROMPT)
        equal(base64.b64decode(box.history()[0][0]), b"echo \xff\xfe > bytes")
        leave(terminal)


@test
def a_cancelled_line(place):
    """agent.cancel ends the foreground job of the open line, even one that
    ignores SIGINT; the shell and its background jobs stay, and the line can be
    undone"""
    with sandbox(place) as box, shell(box) as terminal:
        client = Client(place, "share")
        enter(terminal, "sleep 1000 & VAR=kept; touch begun")
        equal(client.ask("agent.cancel")["payload"], {"cancelled": False})
        for line in ("echo 1 > a; sleep 1000; touch more",
                     "echo 2 > b; sh -c 'trap \"\" INT; while :; do sleep 9;"
                     " done'"):
            terminal.send(line + "\n")
            name = line[9]
            assert eventually(lambda: os.path.exists(place.share + "/" + name),
                              10)
            terminal.read_for(0.2)
            equal(client.ask("agent.cancel")["payload"], {"cancelled": True})
            contains(terminal.expect(PROMPT),
                     "step: end: the command was cancelled")
            equal(box.history()[0], (line, [name]))
        shown = enter(terminal, "echo $VAR; jobs")
        contains(shown, "kept\r\n")
        contains(shown, "Running")
        box.text("undo", "-y")
        equal(sorted(os.listdir(place.share)), ["a", "begun"])
        equal(client.ask("exec.list")["payload"]["executions"][0]["state"],
              "running")
        client.close()
        leave(terminal)


@test
def an_agent_in_a_line(place):
    """hooks of an agent that is started at the prompt make each of its calls a
    step"""
    with sandbox(place) as box, shell(box) as terminal:
        with open(place.root + "/agent", "w") as file:
            file.write("echo own > log\n"
                       "step begin 'Bash: make a'; echo 1 > a; step end\n"
                       "echo more >> log\n"
                       "step run -- touch b\n"
                       "step undo\n")
        contains(enter(terminal, "sh %s/agent" % place.root),
                 "undid step")
        line = "sh %s/agent" % place.root
        equal(box.history(), [(line, ["log"]), ("Bash: make a", ["a"]),
                              (line, ["log"])])
        equal(sorted(os.listdir(place.share)), ["a", "log"])
        leave(terminal)


@test
def none_says_why(place):
    """with --guest-undo=none lines are steps, and step undo says why it is
    refused"""
    with sandbox(place, "--guest-undo=none") as box, shell(box) as terminal:
        enter(terminal, "touch a")
        contains(enter(terminal, "step undo"), "--guest-undo=none")
        equal(box.history(), [("touch a", ["a"])])
        done = box.run("up", "--guest-undo=maybe")
        equal(done.returncode, 2)
        contains(done.stderr.decode(), "own, all or none")
        leave(terminal)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A request for a folder is a question in each terminal that is attached to the
sandbox, and a line on stderr without one."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_case import LOCAL, call, need  # noqa: E402
from pty_client import Terminal  # noqa: E402
from sandbox_case import Client, sandbox_test  # noqa: E402
from stdio_client import (PROGRAM, Skip, contains, equal,  # noqa: E402
                          eventually, folder, main)
from tmux_window import Window  # noqa: E402

STEP = "/run/stepback/step"
QUESTION = r'Type "allow (\d+)" to allow it, "no" or "later", and Enter: '


def code_of(terminal):
    """Wait for a question; the number to be typed to allow it."""
    return re.search(QUESTION, terminal.expect(QUESTION))[1].encode()


class Box:
    """A running sandbox, and a folder to ask for."""

    def __init__(self, place):
        need()
        self.place = place
        self.whole = folder(place, "data")
        with open(self.whole + "/file", "w") as file:
            file.write("content\n")
        self.name = self.out("up", *LOCAL, "--no-network").strip()

    def out(self, *words):
        status, out, err = call(self.place, *words)
        equal((words, status, err), (words, 0, ""))
        return out

    def waiting(self):
        return json.loads(self.out("approve", "--json"))

    def grant(self, then="true"):
        return "%s grant %s 'a reason'; %s" % (STEP, self.whole, then)

    def terminal(self, *words, step=("--step=none",)):
        return Terminal([PROGRAM, "exec", "-it", *step, self.name, "--", *words],
                        env=self.place.environment(STEPBACK_QEMU=None),
                        cwd=self.place.share)

    def asked(self, command):
        terminal = self.terminal("sh", "-c", command)
        terminal.expect(re.escape('guest asks to read the folder:\r\n    %s\r\n'
                                  '  Reason given: "a reason"\r\n' % self.whole))
        self.code = code_of(terminal)
        return terminal


@sandbox_test
def only_the_number_allows(place):
    """only allow with the number of the screen allows: no other word, paste or escape
    sequence; what follows an answer at once is no answer to the next question"""
    box = Box(place)
    with box.asked(box.grant("cat %s/file; read line; echo got $line" %
                             box.whole)) as terminal:
        code = box.code
        for text in (b"y\r", b"allow\r", b"yes %s\r" % code, b"ls\rallow %s\r" % code,
                     b"\x1b]lallow %s\x1b\\\r" % code, b"allow 000\r", b"allow%s\r" % code,
                     b"\xc3\xa9allow %s\r" % code, b"\r", b"allow %s no\r" % code):
            terminal.send(text)
            code = code_of(terminal)
        equal(len(box.waiting()), 1)
        terminal.send(b"no\x7f\x7fallox\x7fw %s\r" % code)
        terminal.expect("content")
        terminal.send(b"line\r")
        terminal.expect("got line")
        equal(terminal.wait(), 0)
    equal(box.waiting(), [])


@sandbox_test
def output_waits(place):
    """the program's output waits while a question is asked, and nothing is lost"""
    box = Box(place)
    command = "(%s) 2>err & until test -e go; do sleep 0.02; done; seq 100000; echo 'end of it'; wait" % (
        box.grant("echo $? >status"))
    with box.asked(command) as terminal:
        open(place.share + "/go", "w").close()
        terminal.read_for(0.5)
        assert b"1\r\n" not in terminal.output, terminal.output[:80]
        terminal.send(b"no\r")
        shown = terminal.expect("end of it")
        equal(terminal.wait(), 0)
        lines = (shown + terminal.text()).replace("\r", "").split("\n")
        equal([line for line in lines if line.isdigit()],
              list(map(str, range(1, 100001))))
        with open(place.share + "/status") as file:
            equal(file.read(), "1\n")


@sandbox_test
def later_and_elsewhere(place):
    """later leaves the request; one decided elsewhere ends its question"""
    box = Box(place)
    asks = "".join("(%s) & " % box.grant() for _ in range(3))
    with box.asked(asks + "wait; echo all") as terminal:
        terminal.send(b"later\r")
        terminal.expect(QUESTION)
        ids = [entry["id"] for entry in box.waiting()]
        equal(len(ids), 3)
        with box.terminal("sh", "-c", "until test -e go; do sleep 0.02; "
                          "done") as other:  # is asked, too
            other.expect(QUESTION)
            open(place.share + "/go", "w").close()
            equal(other.wait(), 0)
            equal(other.settings(), other.before)
        for id in ids:
            box.out("approve", id, "--deny")
        terminal.expect("It was decided elsewhere")
        terminal.expect("all")
        equal(terminal.wait(), 0)
        equal(terminal.settings(), terminal.before)


@sandbox_test
def an_interrupt_mutes(place):
    """^C ends all questions, comes to the program, and no more are asked"""
    box = Box(place)
    asks = "".join("(%s) & " % box.grant() for _ in range(2))
    again = "%s grant %s" % (STEP, box.whole)
    with box.asked("trap 'echo interrupted; %s & ' INT; %s wait; read line; echo end" %
                   (again, asks)) as terminal:
        terminal.send(b"\x03")
        terminal.expect("decided with: stepback approve " + box.name)
        terminal.expect("interrupted")
        assert eventually(lambda: len(box.waiting()) == 3, 20)
        terminal.send(b"\r")
        terminal.expect("end")
        assert b"Allow" not in terminal.output and b"Type" not in terminal.output
        equal(terminal.wait(), 0)


@sandbox_test
def much_output_ends_it(place):
    """a question without an answer does not stop a program for ever"""
    box = Box(place)
    with box.asked("(%s) 2>err & until test -e go; do sleep 0.02; done; seq 400000; "
                   "echo 'end of it'" % box.grant()) as terminal:
        open(place.share + "/go", "w").close()
        shown = terminal.expect("end of it").replace("\r", "")
        contains(shown, "decided with: stepback approve")
        equal([line for line in shown.split("\n") if line.isdigit()],
              list(map(str, range(1, 400001))))
        equal(terminal.wait(), 0)


@sandbox_test
def a_safeguard_asks(place):
    """a safeguard that stops a command asks in its terminal; no undoes the step"""
    box = Box(place)
    client = Client(place, box.name)
    equal(client.ask("safeguard.configure", delete_threshold=3)["status"], "ok")
    for allow in (False, True):
        for number in range(8):
            with open(place.share + "/%d" % number, "w") as file:
                file.write("kept\n")
        with box.terminal("sh", "-c", "rm -f ? && echo done", step=()) as terminal:
            code = code_of(terminal)
            terminal.send(b"allow %s\r" % code if allow else b"no\r")
            equal(terminal.wait() == 0, allow)
        equal(len([name for name in os.listdir(place.share) if name.isdigit()]),
              0 if allow else 8)
    client.close()


@sandbox_test
def without_a_terminal(place):
    """without a terminal a line on stderr names the command that decides"""
    box = Box(place)
    command = "echo on; %s grant %s \"$(printf 'x\\033')\"" % (STEP, box.whole)
    process = subprocess.Popen(
        [PROGRAM, "exec", "--step=none", box.name, "--", "sh", "-c", command],
        env=place.environment(STEPBACK_QEMU=None), cwd=place.share,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert eventually(box.waiting, 20)
    [id] = [entry["id"] for entry in box.waiting()]
    box.out("approve", id, "--deny")
    out, err = (part.decode() for part in process.communicate(timeout=20))
    equal((process.returncode, out), (1, "on\n"))
    contains(err, 'stepback: %s: guest asks to read %s; reason given: "x' %
             (id, box.whole))
    contains(err, "; decide it with: stepback approve %s %s\n" % (box.name, id))
    assert "\033" not in err
    # The program may have set modes of the terminal that has stderr.
    with Terminal([PROGRAM, "exec", "--step=none", box.name, "--", "sh", "-c", command],
                  env=place.environment(STEPBACK_QEMU=None), cwd=place.share) as terminal:
        contains(terminal.expect("decide it with"), "\033[?7h")
        box.out("approve", box.waiting()[0]["id"], "--deny")
        equal(terminal.wait(), 1)


ATTACKS = {
    "no autowrap": "\\033[?7l",
    "a scroll region": "\\033[2J\\033[5;1Hstepback: approval-1: guest asks to read the folder:"
                       "\\033[6;1H    /home/u/project\\033[23;24r\\033[23;1H",
    "origin and insert mode": "\\033[20;24r\\033[?6h\\033[4h\\033[8m",
}


def rows_of(path, columns):
    """The rows that show a path: all of it."""
    text, rows = "    " + path, []
    while text:
        size = columns - 1 - 4 * bool(rows)
        rows.append("  > " * bool(rows) + text[:size])
        text = text[size:]
    return rows


def shown(window, rows):
    lines = window.screen()
    return any(lines[i:i + len(rows)] == rows for i in range(len(lines)))


@sandbox_test
def nothing_hides_it(place):
    """modes of the terminal, painted text, and a long name or reason hide no part
    of what is asked for; what does not fit in the window cannot be allowed"""
    if not shutil.which("tmux"):
        raise Skip("there is no tmux")
    box = Box(place)
    box.whole = folder(place, "data/" + "/".join("n" * 150 for _ in range(4)))
    reason = 'build\") to read /home/u/project/cache (\"' + 60 * "x"
    with Window(place.root, place.environment(STEPBACK_QEMU=None)) as window:
        for attack in ATTACKS.values():
            window.enter("clear; %s exec -it --step=none %s -- sh -c "
                         "\"printf '%s'; %s grant %s '%s'\"; echo denied" % (
                             PROGRAM, box.name, attack, STEP, box.whole,
                             reason.replace('"', '\\\\\\"')))
            window.expect("Enter: *$")
            rows = rows_of(box.whole, 80)
            assert shown(window, rows), "\n".join(window.screen())
            contains("\n".join(window.screen()), '"build\\\\\\") to read')
            equal([line for line in window.screen() if "asks to" in line],
                  ["stepback: %s: guest asks to read the folder:" % box.waiting()[0]["id"]])
            window.enter("no")
            window.expect("^denied$")
    with box.terminal("sh", "-c", "%s grant %s && echo granted" % (STEP, box.whole)) as terminal:
        code_of(terminal)
        terminal.resize(9, 80)
        terminal.send(b"\r")
        terminal.expect("too long for this window; stepback approve %s shows it" % box.name)
        terminal.expect("Enter: ")
        terminal.send(b"allow 0\r")
        terminal.expect("(?s)too long.*Enter: ")
        terminal.resize(24, 80)
        terminal.send(b"\r")
        terminal.send(b"allow %s\r" % code_of(terminal))
        terminal.expect("granted")
        equal(terminal.wait(), 0)


@sandbox_test
def the_list_shows_all(place):
    """approve lists the whole of a long name, whatever the terminal's width"""
    box = Box(place)
    box.whole = folder(place, "data/" + "/".join("n" * 150 for _ in range(2)) + "/end")
    box.out("exec", "-d", "--step=none", box.name, "--", "sh", "-c",
            "%s grant %s" % (STEP, box.whole))
    assert eventually(box.waiting, 20)
    for columns in (200, 80, 47, 40):
        with Terminal([PROGRAM, "approve", "--color=never"],
                      env=place.environment(STEPBACK_QEMU=None),
                      cwd=place.share, columns=columns) as terminal:
            equal(terminal.wait(), 0)
            lines = terminal.text().replace("\r", "").split("\n")
            assert all(len(line) <= columns for line in lines), lines
            contains("".join(line.strip() for line in lines), box.whole)


main(mounts=True)

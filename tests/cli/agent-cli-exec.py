#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exec, shell, attach, jobs and job: commands and terminals in a running
sandbox. Over a fake QEMU whose guest is the real shim."""
import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from pty_client import Terminal  # noqa: E402
from stdio_client import (PROGRAM, SRCDIR, contains, equal,  # noqa: E402
                          eventually, main, test)

PROMPT = "ready> "


class Box:
    """A running sandbox over the place's share."""

    def __init__(self, place):
        self.place = place
        place.mounting()
        # bash and vim are the host's: no start-up files of its user.
        self.env = place.environment(STEPBACK_FAKE_QEMU="shim", HOME=place.root,
                                     TERM="xterm")
        self.text("up", "--accel=tcg")
        self.pid = json.loads(self.text("inspect", "share"))["pid"]

    def run(self, *words, cwd=None, **more):
        return subprocess.run([PROGRAM, *words], env=self.env,
                              cwd=cwd or self.place.share, capture_output=True,
                              timeout=120, **more)

    def text(self, *words, **more):
        done = self.run(*words, **more)
        equal((words, done.returncode, done.stderr), (words, 0, b""))
        return done.stdout.decode()

    def start(self, *words, **more):
        return subprocess.Popen([PROGRAM, *words], env=self.env,
                                cwd=self.place.share, **more)

    def terminal(self, *words):
        return Terminal([PROGRAM, *words], env=self.env, cwd=self.place.share)

    def jobs(self):
        return json.loads(self.text("jobs", "--json"))

    def memory(self):
        with open("/proc/%d/status" % self.pid) as file:
            return int(file.read().split("VmRSS:")[1].split()[0]) << 10


@contextlib.contextmanager
def sandbox(place):
    box = Box(place)
    try:
        yield box
    finally:
        box.run("kill", "share")


@contextlib.contextmanager
def shell(box):
    """A shell on a terminal, whose settings are the same before and after."""
    with box.terminal("exec", "-it", "--step=none", "-e", "PS1=" + PROMPT, "--",
                      "bash", "--norc", "--noprofile", "-i") as terminal:
        terminal.expect(PROMPT)
        yield terminal
        equal(terminal.settings(), terminal.before)


@test
def streams_and_codes(place):
    """exec passes on streams, words, variables, the folder and the exit code"""
    with sandbox(place) as box:
        os.mkdir(place.share + "/sub")
        done = box.run("exec", "-e", "A=b c", "--", "sh", "-c",
                       'echo "$A$0"; basename "$PWD"; echo err >&2; '
                       'echo 1 > f; exit 3', "x y", cwd=place.share + "/sub")
        equal((done.returncode, done.stdout), (3, b"b cx y\nsub\n"))
        contains(done.stderr.decode(), "err\nstepback: 1 path changed")
        equal(os.path.exists(place.share + "/sub/f"), True)
        box.text("undo", "-y")
        equal(os.listdir(place.share + "/sub"), [])
        data = os.urandom(3000000)
        done = box.run("exec", "-iq", "share", "sha256sum", input=data)
        equal(done.stdout.split()[0].decode(), hashlib.sha256(data).hexdigest())
        equal(box.run("exec", "-q", "--", b"printf", b"\xff").stdout, b"\xff")
        equal(box.run("exec", "--timeout=1", "--", "sleep", "9").returncode, 124)
        equal(box.run("exec", "-q", "--", "sh", "-c", "kill -9 $$").returncode,
              137)
        with open(place.root + "/env", "w") as file:
            file.write("# comment\nB=from file\nA=lost\n\n")
        equal(box.text("exec", "-q", "--env-file", place.root + "/env", "-e",
                       "A=kept", "-w", "/", "--", "sh", "-c",
                       "echo $A, $B, $PWD"), "kept, from file, /\n")


@test
def bad_command_lines(place):
    """a wrong command line says what is right, and starts nothing"""
    with open(place.root + "/exports", "w") as file:
        file.write("A=1\nexport C=3\n")
    with sandbox(place) as box:
        for words, code, part in (
                (["exec"], 2, "a command is missing"),
                (["exec", "share"], 2, "a command is missing"),
                (["exec", "none", "--", "x"], 125, "none: not found"),
                (["exec", "-it", "--", "true"], 2, "leave out -t"),
                (["exec", "-e", "=x", "--", "true"], 125, "has no name"),
                (["exec", "-e", "1X=2", "--", "true"], 125,
                 "-e 1X=2: the variable's name must"),
                (["exec", "--env-file", place.root + "/exports", "--", "true"],
                 125, "exports: line 2: the variable's name must"),
                (["exec", "--step=two", "--", "true"], 125, "'step'"),
                (["exec", "--detach-keys=foo", "--", "true"], 2,
                 "no key sequence"),
                (["shell"], 2, "run commands with 'stepback exec'"),
                (["attach", "x"], 2, "stepback jobs"),
                (["attach", "7"], 125, "execution 7: not found"),
                (["job", "look", "1"], 2, "logs|wait|kill"),
                (["job", "kill", "-s", "FOO", "1"], 2, "no signal")):
            done = box.run(*words)
            equal((words, done.returncode), (words, code))
            contains(done.stderr.decode(), part)
        equal(box.jobs(), [])
        done = box.run("exec", "--", "true", cwd=place.root)
        equal(done.returncode, 125)


@test
def commands_that_are_not_found(place):
    """exec without a shell says so for a command line, and names the image
    debian for a command that minimal does not have"""
    with sandbox(place) as box:
        line = "exec has no shell; a command line needs one: "
        image = "'minimal' has only busybox; 'stepback up --image=debian'"
        for words, code, part in (
                (["exec", "--", "echo one > a.txt"], 127,
                 line + "stepback exec -- sh -c 'echo one > a.txt'\n"),
                (["exec", "--", "no-such-command", "a b"], 127, image),
                (["run", "--", "exit 127"], 127, image),
                (["exec", "--", "sh", "-c", "exit 126"], 126, "")):
            done = box.run(*words)
            err = done.stderr.decode()
            equal((words, done.returncode), (words, code))
            contains(err, part)
            equal((words, line in err, image in err),
                  (words, line in part, image in part))


@test
def a_command_waits_for_its_turn(place):
    """on a terminal, exec names the execution that it waits for"""
    with sandbox(place) as box:
        first = box.start("exec", "-q", "--", "sh", "-c",
                          "until [ -e go ]; do sleep 0.1; done")
        assert eventually(lambda: "step_id" in (box.jobs() or [{}])[0], 10)
        with box.terminal("exec", "--", "echo", "my turn") as terminal:
            terminal.expect("waiting for execution %d" % box.jobs()[0]["exec_id"])
            box.text("exec", "--step=none", "--", "touch", "go")
            terminal.expect("my turn")
            equal(terminal.wait(), 0)
        equal(first.wait(timeout=30), 0)


@test
def undo_beside_a_job(place):
    """undo, redo and preview name the job that runs, and how to end it"""
    with sandbox(place) as box:
        box.text("exec", "-d", "--step=none", "--", "sleep", "1000")
        box.text("exec", "-d", "--", "sleep", "1000", *(50 * ["1"]))
        assert eventually(lambda: any("step_id" in job for job in box.jobs()), 20)
        for words in (["undo"], ["redo"], ["preview"], ["undo", "--discard", "-y"],
                      ["undo", "--", "x"]):
            done = box.run(*words)
            equal((words, done.returncode, done.stdout, done.stderr.decode()), (
                words, 1, b"", "stepback: sandbox share: job 2 (sleep 1000" +
                13 * " 1" + " ...) runs in this folder; wait for it with 'stepback "
                "job wait share 2', or end it with 'stepback job kill share 2'\n"))
        box.text("job", "kill", "share", "2")
        equal(box.run("job", "wait", "share", "2").returncode, 143)
        contains(box.run("undo").stderr.decode(), "nothing to undo")


@test
def keys_while_it_waits(place):
    """on a terminal, the keys that detach work while a command waits for its
    turn, and while it does not read what was pasted; Ctrl-C gives up the wait"""
    with sandbox(place) as box:
        first = box.start("exec", "-q", "--", "sh", "-c",
                          "until [ -e go ]; do sleep 0.1; done")
        assert eventually(lambda: "step_id" in (box.jobs() or [{}])[0], 20)
        for keys, code in (("\x03", 130), ("\x1c", 130), ("\x10\x11", 0)):
            with box.terminal("exec", "-it", "--", "echo", "my turn") as terminal:
                terminal.expect("waiting for execution")
                for key in "\x1aabcdef" + keys:  # each alone
                    terminal.send(key)
                equal((keys, terminal.wait(20)), (keys, code))
                equal(terminal.settings(), terminal.before)
        equal([job["state"] for job in box.jobs()],
              ["running", "ended", "ended", "waiting"])
        box.text("exec", "--step=none", "--", "touch", "go")
        equal(first.wait(timeout=30), 0)
        with box.terminal("exec", "-it", "--step=none", "--", "sh", "-c",
                          "stty raw; echo go; exec sleep 1000") as terminal:
            terminal.expect("go")
            terminal.send("x" * 400000 + "\x10\x11")
            equal(terminal.wait(20), 0)
        id = str(box.jobs()[-1]["exec_id"])
        box.text("job", "kill", id)
        equal(box.run("job", "wait", id).returncode, 143)


@test
def interrupt_behind_unread_input(place):
    """on a terminal, Ctrl-C ends a command that does not read, also behind more
    lines than its terminal holds"""
    with sandbox(place) as box:
        with box.terminal("exec", "-it", "--step=none", "--", "sh", "-c",
                          "stty -echo; echo go; exec sleep 1000") as terminal:
            terminal.expect("go")
            terminal.send("line\n" * 8000)
            terminal.read_for(0.2)
            terminal.send("\x03")
            equal(terminal.wait(20), 130)
        with box.terminal("exec", "-it", "--step=none", "--", "sh", "-c",
                          "stty -isig -echo; echo go; until [ -e go ]; do "
                          "sleep 0.1; done; cksum") as terminal:
            terminal.expect("go")
            data = "line\n" * 8000 + "\x03" + "line\n" * 10
            terminal.send(data)
            box.text("exec", "--step=none", "--", "touch", "go")
            terminal.send("\x04")
            with subprocess.Popen(["cksum"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE) as local:
                terminal.expect(local.communicate(data.encode())[0].decode()
                                .strip())
            equal(terminal.wait(20), 0)


@test
def background(place):
    """a detached execution goes on; its output can be read, followed, waited
    for, attached to and ended"""
    with sandbox(place) as box:
        id = box.text("exec", "-di", "--step=none", "--label", "echo", "--", "sh",
                      "-c", "echo begin; while read x; do echo got $x; done; "
                      "exit 4").strip()
        assert eventually(lambda: box.text("job", "logs", id) == "begin\n", 10)
        job, = box.jobs()
        equal((job["state"], job["label"]), ("running", "echo"))
        assert re.match(r" *%s +running +\d+ s +echo " % id, box.text("jobs"))
        follower = box.start("job", "logs", "-f", id, stdout=subprocess.PIPE)
        done = box.run("attach", id, input=b"one\n")
        equal((done.returncode, done.stdout), (4, b"begin\ngot one\n"))
        equal(box.run("job", "wait", "share", id).returncode, 4)
        equal(box.text("job", "logs", id), "begin\ngot one\n")
        follower.kill()
        follower.communicate()
        id = box.text("exec", "-d", "--step=none", "--", "sleep", "99").strip()
        box.text("job", "kill", id)
        equal(box.run("job", "wait", id).returncode, 143)
        id = box.text("exec", "-d", "--step=none", "--", "sh", "-c",
                      "trap '' TERM; echo go; while :; do sleep 1; done").strip()
        assert eventually(lambda: box.text("job", "logs", id) == "go\n", 20)
        box.text("job", "kill", id)
        equal([job["state"] for job in box.jobs()], ["ended"] * 3)


@test
def background_that_ends_at_once(place):
    """exec -d says why a command could not be started, with its exit code, and
    that another one has ended at once with an error"""
    with sandbox(place) as box:
        for command, code, ended, parts in (
                (("no-such-program", "x"), 127, 127, ["no-such-program: No such",
                                                "stepback up --image=debian"]),
                (("/etc/passwd",), 126, 126, ["/etc/passwd: Permission denied"]),
                (("sh", "-c", "echo x; exit 3"), 0, 3, ["'stepback job logs'"]),
                (("true",), 0, 0, [])):
            done = box.run("exec", "-d", "--", *command)
            id = int(done.stdout)
            equal((command, done.returncode, done.stderr != b""),
                  (command, code, ended != 0))
            for part in parts + ["execution %d: it has ended at once, with exit "
                                 "code %d" % (id, ended)] * bool(parts):
                contains(done.stderr.decode(), part)
            equal(box.run("job", "wait", str(id)).returncode, ended)
        contains(box.text("jobs"), "ended (127)")


@test
def completion(place):
    """the completion for bash knows the ids of executions for job and attach,
    and the sandboxes and files for cp"""
    script = os.path.join(os.path.abspath(SRCDIR),
                          "contrib/completion/stepback.bash")
    with sandbox(place) as box:
        open(place.share + "/shoes", "w").close()
        box.text("exec", "-d", "--", "true")
        equal(box.run("job", "wait", "1").returncode, 0)
        box.text("exec", "-d", "--step=none", "--", "sleep", "99")
        for words, found in (
                ("job ", "logs wait kill"), ("job w", "wait"),
                ("job logs ", "1 2 share"), ("job logs share ", "1 2"),
                ("job logs share 1 ", ""), ("job kill -s INT ", "1 2 share"),
                ("attach ", "2 share"), ("attach share ", "2"),
                ("attach --replace s", "share"), ("exec s", "share"),
                ("exec share -- s", "shoes"), ("cp s", "share: shoes"),
                ("cp share :", ""), ("cp share : s", ""),
                ("cp share : /x s", "share: shoes")):
            done = subprocess.run(
                ["bash", "-c", '. "$0"; p=$1; shift; COMP_WORDS=("$p" "$@"); '
                 'COMP_CWORD=$#; _stepback "$p" "${!#}" '
                 '"${COMP_WORDS[$# - 1]}"; echo "${COMPREPLY[*]}"', script,
                 PROGRAM, *words.split(" ")], env=box.env, cwd=place.share,
                capture_output=True, timeout=20, text=True)
            equal((words, done.stdout), (words, found + "\n"))


@test
def detach_keys(place):
    """ctrl-p ctrl-q detaches; attach goes on with the same shell"""
    with sandbox(place) as box:
        with shell(box) as terminal:
            terminal.send("X=kept; echo set\r")
            terminal.expect("set\r\n")
            terminal.send("\x10")
            terminal.send("\x11")
            equal(terminal.wait(), 0)
            contains(terminal.output.decode(), "attach share 1")
        with box.terminal("attach", "1") as terminal:
            terminal.send("echo $X-$X\r")
            terminal.expect("kept-kept")
            terminal.send("exit\r")
            equal(terminal.wait(), 0)
            equal(terminal.settings(), terminal.before)


@test
def killed_client(place):
    """a client that is killed leaves the terminal as it was, and hangs up its
    shell, at a prompt or in a command"""
    with sandbox(place) as box:
        for i, line in enumerate(("sleep 1000 & echo pid $!.",
                                  "echo pid $$.; sleep 1000; echo > later")):
            with shell(box) as terminal:
                terminal.send(line + "\r")
                terminal.expect("pid [0-9]")
                equal(box.jobs()[i]["state"], "running")
                terminal.process.kill()
                assert eventually(lambda: box.jobs()[i]["state"] == "ended", 20)
                terminal.expect("\x1b\\[\\?1049l")
        equal(os.listdir(place.share), [])


@test
def killed_attach(place):
    """what was started in the background goes on when a client that attached
    to it is killed"""
    with sandbox(place) as box:
        box.run("exec", "-d", "--step=none", "--", "sleep", "1000")
        client = box.start("attach", "1", stdout=subprocess.PIPE)
        assert eventually(lambda: box.jobs()[0]["attached"], 20)
        client.kill()
        client.wait()
        assert eventually(lambda: not box.jobs()[0]["attached"], 20)
        equal(box.jobs()[0]["state"], "running")


@test
def closed_terminal(place):
    """when the terminal of a client that attached to it closes, what was
    started in the background goes on: a shell that reads, a command that
    prints; also if the client gets no SIGHUP, and if it only prints"""
    prints = "while echo tick; do sleep 0.05; done"
    with sandbox(place) as box:
        def attach(id, sign, line):
            with Terminal(["bash", "-c", line % (PROGRAM, id)], env=box.env,
                          cwd=place.share) as terminal:
                terminal.send("\n")
                terminal.expect(sign, 20)
                equal(box.jobs()[id - 1]["attached"], True)
                os.close(terminal.master)
                terminal.master = os.open("/dev/null", os.O_RDONLY)
                terminal.process.wait(timeout=20)
            assert eventually(lambda: not box.jobs()[id - 1]["attached"], 20)
            with box.terminal("attach", str(id)) as terminal:
                terminal.send("\n")
                terminal.expect(sign, 20)
                terminal.send("\x10\x11")
                equal(terminal.wait(), 0)

        for sign, words in ((PROMPT, ("bash", "--norc", "--noprofile", "-i")),
                            ("tick", ("sh", "-c", prints))):
            id = int(box.text("exec", "-dt", "--step=none", "-e",
                              "PS1=" + PROMPT, "--", *words))
            attach(id, sign, "exec %s attach %d")
            attach(id, sign, "exec setsid -w %s attach %d")
        attach(id, sign, "exec setsid -w %s attach --no-stdin %d")


@test
def killed_supervisor(place):
    """if the supervisor is killed, the client says so, and the terminal is as
    it was"""
    with sandbox(place) as box, shell(box) as terminal:
        os.kill(box.pid, signal.SIGKILL)
        equal(terminal.wait(), 125)
        contains(terminal.output.decode(), "the sandbox has ended")


@test
def slow_reader(place):
    """output waits for its reader, and costs the supervisor no memory; another
    client does not wait; a reader that ends stops the command"""
    with sandbox(place) as box:
        slow = box.start("exec", "-q", "--step=none", "--", "sh", "-c",
                         "head -c 30000000 /dev/urandom | tee copy",
                         stdout=subprocess.PIPE)
        time.sleep(1)
        begin = time.monotonic()
        box.text("exec", "--step=none", "--", "true")
        assert time.monotonic() - begin < 5
        assert slow.poll() is None
        data, _ = slow.communicate(timeout=60)
        with open(place.share + "/copy", "rb") as file:
            equal(hashlib.sha256(file.read()).hexdigest(),
                  hashlib.sha256(data).hexdigest())
        assert box.memory() < 64 << 20, box.memory()
        done = subprocess.run(
            "%s exec --step=none -- yes | head -n 1; echo ${PIPESTATUS[0]}" %
            PROGRAM, shell=True, executable="/bin/bash", env=box.env,
            cwd=place.share, capture_output=True, timeout=60)
        equal(done.stdout, b"y\n141\n")
        assert eventually(lambda: all(j["state"] == "ended"
                                      for j in box.jobs()), 10)


@test
def interrupts(place):
    """^C without a terminal reaches the command; a second one ends it"""
    with sandbox(place) as box:
        for ignore, code in (("", 42), ("trap '' INT;", 130)):
            client = box.start("exec", "-q", "--step=none", "--", "sh", "-c",
                               "trap 'exit 42' INT; %s echo go; "
                               "while :; do sleep 0.1; done" % ignore,
                               stdout=subprocess.PIPE)
            equal(client.stdout.readline(), b"go\n")
            client.send_signal(signal.SIGINT)
            if ignore:
                time.sleep(0.5)
                equal(client.poll(), None)
                client.send_signal(signal.SIGINT)
            equal((ignore, client.wait(60)), (ignore, code))
            client.stdout.close()


@test
def terminations(place):
    """SIGTERM reaches the command; a second one ends the client, and hangs up
    the command"""
    with sandbox(place) as box:
        client = box.start("exec", "-q", "--step=none", "--", "sh", "-c",
                           "trap 'echo term' TERM; echo go; "
                           "while :; do sleep 0.1; done",
                           stdout=subprocess.PIPE)
        for line in (b"go\n", b"term\n"):
            equal(client.stdout.readline(), line)
            client.send_signal(signal.SIGTERM)
        equal(client.wait(20), 143)
        client.stdout.close()
        assert eventually(lambda: box.jobs()[0]["state"] == "ended", 20)


@test
def logs_of_a_writer(place):
    """job logs stops at the end that the output had when it began, and counts
    once what is gone before the latest MiB"""
    with sandbox(place) as box:
        id = box.text("exec", "-d", "--step=none", "--", "yes").strip()
        assert eventually(lambda: box.jobs()[0]["output_bytes"] > 8 << 20, 60)
        done = box.run("job", "logs", id)
        equal(done.returncode, 0)
        assert 0 < len(done.stdout) <= 1 << 20, len(done.stdout)
        lines = done.stderr.decode().splitlines()
        assert 1 <= len(lines) <= 4, lines
        contains(lines[0], "bytes of older output are gone")


main(mounts=True)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line: run over a fake QEMU, history and undo over real logs."""
import json
import os
import shutil
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

    def __init__(self, place, *options):
        self.place = place
        self.seen = place.root + "/seen"
        self.socket = place.root + "/control.sock"
        os.makedirs(self.seen, exist_ok=True)
        self.process = subprocess.Popen(
            [BUILDDIR + "/stepback-virtiofsd", "--shared-dir", place.share,
             "--mount", self.seen, "--interceptor-socket", self.socket,
             "--undo-dir", place.root + "/.stepback/share", *options],
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
                  ("history", "x"), ("history", "--limit", "0"), ("history", "-n", "1"), ("undo", "x"),
                  ("undo", "0"), ("undo", "1", "2"), ("image",),
                  ("agent", "--log-level", "loud"), ("agent", "x"),
                  ("doctor", "x"), ("doctor", "--rounds", "2"),
                  ("doctor", "--boot", "--rounds", "101"), ("help", "fly"), ("help", "undo", "x"),
                  ("run", "--memory", "1", "--", "x"),
                  ("run", "--accel", "foo", "--", "x"),
                  ("run", "--image", "a/b", "--", "x"),
                  ("run", "--network", "10.1.0.0/8", "--", "x"),
                  ("run", "--network", "example.org", "--", "x"),
                  ("run", "--network", "1.2.3.4,,dns", "--", "x"),
                  ("run", "--network", "none,1.2.3.4", "--", "x"),
                  ("run", "--network", "open", "--no-network", "--", "x"),
                  ("mcp", "--network", "127.0.0.1"),
                  ("undo", "--yes"), ("undo", "--discard", "-n"),
                  ("image", "build", "--bogus"),
                  ("image", "build", "--flavour")):
        status, out, err = call(place, *words)
        equal((words, status, out, err != ""), (words, 2, b"", True))
    contains(call(place, "run", "--memory", "1", "--", "x")[2], "--memory")
    contains(call(place, "run", "--network", "10.1.0.0/8", "--", "x")[2],
             "the network is 10.0.0.0/8")
    contains(call(place, "image", "build", "--bogus")[2],
             "stepback image build: unknown option --bogus")
    for words in (("--help",), ("--version",), ("-V",), ("help",),
                  ("help", "redo"), ("run", "--help"), ("undo", "--help"),
                  ("image", "--help"), ("image", "build", "--help")):
        status, out, err = call(place, *words)
        equal((words, status, err, out != b""), (words, 0, "", True))


@test
def exit_codes(place):
    """run passes the exit code on and says what changed"""
    for code in (0, 1, 77, 137):
        status, out, err = run(place, "--", "exit %d" % code)
        equal((status, out), (code, b""))
        equal(err, "stepback: nothing changed\n")
    equal(run(place, "-C", place.root + "/none", "--", "x")[0], 125)
    status, out, err = run(place, "--image", "foo", "--", "x")
    equal(status, 125)
    contains(err, "--output=DIR")
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
    equal(json.loads(out), {"steps": [], "barriers": [], "last_step_id": 0,
                            "redoable": 0})
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
    out = call(place, "history", "--limit", "1", "-C", place.share)[1].decode()
    contains(out, "rm old")
    contains(out, "1 path changed (1 deleted)")
    equal(len(out.splitlines()), 2)
    contains(out.splitlines()[0],
             "1 undone step can be brought back: stepback redo -C")
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
    equal(err.count("warning: "), 1)
    contains(err, "goes over changes from outside: old")
    equal(open(place.share + "/old").read(), "old")


def on_terminal(place, *words, **env):
    """What a command prints on a terminal."""
    master, slave = os.openpty()
    subprocess.run([PROGRAM, *words], stdout=slave, stderr=slave, check=True,
                   env=place.environment(**env), timeout=60)
    os.close(slave)
    out = b""
    try:
        while chunk := os.read(master, 65536):
            out += chunk
    except OSError:  # the other side is closed
        pass
    os.close(master)
    return out.decode().replace("\r\n", "\n")


@test
def table(place):
    """history on a terminal is a table with a head"""
    daemon = Daemon(place)
    try:
        daemon.step(1, "echo 1 > one")
        daemon.step(2, "echo 2 > two; rm one")
    finally:
        daemon.end()
    lines = on_terminal(place, "history", "-C", place.share).splitlines()
    equal(lines[0].split(), ["STEP", "TIME", "CHANGES", "COMMAND"])
    equal(lines[1].index("echo 2"), lines[0].index("COMMAND"))
    equal(lines[2].index("echo 1"), lines[0].index("COMMAND"))
    out = call(place, "history", "-C", place.share)[1].decode()
    equal(out.splitlines(), lines[1:])


@test
def preview(place):
    """preview is undo that does nothing"""
    daemon = Daemon(place)
    try:
        daemon.step(1, "echo 1 > one")
    finally:
        daemon.end()
    told = call(place, "preview", "-C", place.share)
    equal(told, call(place, "undo", "--dry-run", "-C", place.share))
    contains(told[1].decode(), "would be undone: 1")
    contains(told[1].decode(), "deleted  one")
    equal(os.listdir(place.share), ["one"])
    answer = json.loads(call(place, "preview", "--json", "-C", place.share)[1])
    equal(answer["steps"][0]["step_id"], 1)
    equal(call(place, "preview", "2", "-C", place.share)[0], 1)
    equal(call(place, "preview", "x", "-C", place.share)[0], 2)


@test
def half_way(place):
    """undo of several steps that stops says what was undone and goes on"""
    daemon = Daemon(place)
    try:
        daemon.step(1, "echo 1 > one")
        daemon.step(2, "echo 2 > two")
    finally:
        daemon.end()
    with open(place.share + "/one", "w") as file:
        file.write("from outside")
    status, out, err = call(place, "undo", "-n", "2", "-C", place.share)
    equal((status, err), (0, ""))
    contains(out.decode(), "only when")
    status, out, err = call(place, "undo", "2", "-C", place.share)
    equal(status, 1)
    contains(out.decode(), "undone: 2")
    contains(err, "1 of 2 steps undone")
    contains(err, "To go on: stepback undo -C %s 1 --force\n" % place.share)
    status, out, err = call(place, "undo", "--json", "-C", place.share)
    equal((status, err), (1, ""))
    error = json.loads(out)["error"]
    equal((error["code"], error["data"]["paths"]), ("undo_barrier", ["one"]))
    status, out, err = call(place, "undo", "1", "--force", "-C", place.share)
    equal((status, os.listdir(place.share)), (0, []))


@test
def unreadable_step(place):
    """a step that cannot be read is passed by, loudly"""
    daemon = Daemon(place)
    try:
        daemon.step(1, "echo 1 > one")
    finally:
        daemon.end()
    step = place.root + "/.stepback/share/steps/1"
    shutil.rmtree(step)
    os.mkdir(step)
    out = call(place, "history", "-C", place.share)[1].decode()
    equal(out, "    1  (its record cannot be read)\n")
    status, out, err = call(place, "undo", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "add --force")
    out = call(place, "undo", "-n", "--force", "-C", place.share)[1]
    equal(out, b"would be passed by: 1; what it changed stays\n")
    status, out, err = call(place, "undo", "--force", "-C", place.share)
    equal((status, out), (0, b"passed by: 1; what it changed stays\n"))
    contains(err, "warning: step 1")
    equal(os.listdir(place.share), ["one"])


@test
def step_over_the_limit(place):
    """a step that changed too much says so, and what ends it"""
    with open(place.share + "/big", "wb") as file:
        file.write(os.urandom(3 << 20))
    daemon = Daemon(place, "--undo-max-step-size", "1M")
    try:
        daemon.step(1, "dd if=/dev/zero of=big bs=1M count=3 conv=notrunc "
                    "2>/dev/null")
    finally:
        daemon.end()
    out = call(place, "history", "-C", place.share)[1].decode()
    contains(out, "  changed more than could be kept  dd if=/dev/zero")
    equal(out.endswith("  [cannot be undone]\n"), True)
    status, out, err = call(place, "undo", "--force", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "--discard")
    status, out, err = call(place, "undo", "--discard", "--json", "-C",
                            place.share)
    equal((status, json.loads(out)["discarded_steps"], err), (0, 1, ""))
    equal(call(place, "history", "-C", place.share)[1],
          b"There is nothing to undo.\n")


@test
def discard_unfinished(place):
    """with no daemon, --discard gives up a step that cannot be taken back"""
    log = place.root + "/.stepback/share"
    daemon = Daemon(place)
    try:
        daemon.step(1, "echo 1 > one")
        daemon.ask("step.open", step_id=2, type="command", command="x")
        subprocess.run(["sh", "-c", "echo 2 > one"], cwd=daemon.seen, check=True)
    finally:
        daemon.end(signal.SIGKILL)
    # A file where the rollback wants a folder.
    with open(log + "/wal/in_progress/staging", "w"):
        pass
    status, out, err = call(place, "undo", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "stepback undo --discard")
    status, out, err = call(place, "undo", "--discard", "-C", place.share)
    equal((status, out), (0, b"The undo log is empty now.\n"))
    contains(err, log + "/damaged")
    equal(os.listdir(log + "/damaged"), ["0"])
    with open(place.share + "/one") as one:
        equal(one.read(), "2\n")


@test
def log_above(place):
    """in a folder below one that has a log, that is said"""
    below = place.share + "/below"
    os.mkdir(below)
    daemon = Daemon(place)
    try:
        daemon.step(1, "echo 1 > one")
    finally:
        daemon.end()
    for command in ("history", "undo", "redo"):
        status, out, err = call(place, command, "-C", below)
        equal((command, status, out), (command, 1, b""))
        contains(err, "A folder above it has a log: " + place.share)
    status, out, err = run(place, "-C", below, "--", "echo x")
    equal((status, out), (0, b"x\n"))
    contains(err, "warning: " + place.share)
    status, out, err = run(place, "--", "echo x")
    equal((status, out, "warning" in err), (0, b"x\n", False))


@test
def busy_folder(place):
    """a folder in use: run names the process"""
    daemon = Daemon(place)
    try:
        status, out, err = run(place, "--", "x")
        equal((status, out), (125, b""))
        contains(err, "is in use by process %d" % daemon.process.pid)
        equal("{" in err, False)
    finally:
        daemon.end()


def daemon_says(place, *options):
    """How a daemon with these options ends, and its last line."""
    done = subprocess.run([BUILDDIR + "/stepback-virtiofsd", *options],
                          capture_output=True, timeout=20, text=True)
    return done.returncode, (done.stderr.splitlines() or [""])[-1]


@test
def daemon_options(place):
    """the daemon says in plain text what is wrong with its options"""
    share = "--shared-dir=" + place.share
    for words, part in (((share,), "exactly one of"),
                        ((share, "--fd=1", "--mount=/x"), "exactly one of"),
                        ((share, "--fd=77"), "--fd=77 is not a listening"),
                        ((share, "--mount=/x", "extra"),
                         "'extra' is one argument too many")):
        status, line = daemon_says(place, *words)
        equal((words, status), (words, 2))
        contains(line, part)
        contains(line, "stepback-virtiofsd: ")
    os.mkdir(place.share + "/in")
    for inside in ("", "/in"):
        status, line = daemon_says(place, share,
                                   "--mount=" + place.share + inside)
        equal(status, 1)
        contains(line, "lies in the shared folder")


@test
def mount_of_the_dead(place):
    """a mount whose daemon was killed is told with what ends it"""
    daemon = Daemon(place)
    try:
        daemon.process.kill()
        daemon.process.wait(20)
        status, line = daemon_says(place, "--shared-dir", place.share,
                                   "--mount", daemon.seen)
        equal(status, 1)
        contains(line, "fusermount3 -u " + daemon.seen)
    finally:
        daemon.end()


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


def tree(root):
    """What git sees of a folder: names, content and the x bit."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if os.path.islink(path):
                content = os.readlink(path)
            else:
                with open(path, "rb") as file:
                    content = file.read()
            found[os.path.relpath(path, root)] = (content, mode & 0o170100)
    return found


@test
def diff(place):
    """diff is a patch that git applies backwards, through newer steps too"""
    share = place.share
    subprocess.run(["sh", "-ec", """
        seq 1000 > long; printf 'no newline' > "a b"; mkdir -p d/e
        seq 50 > d/e/moved; echo x > 'tab\tand"quote'; echo gone > gone
        ln -s long link; echo same > mode; echo 1 > one; ln one two
        """], cwd=share, check=True)
    trees, copies = [tree(share)], []
    commands = (
        "sed -i 's/^500$/five hundred/' long; echo ' and' >> 'a b'; echo > new",
        "mv d/e/moved d/f; echo 51 >> d/f; rm gone; chmod +x mode",
        "ln -sf d link; printf 'line\\n' > 'tab\tand\"quote'; : > empty",
        "mv d/f 'new name'; rm long; mkdir long; echo 3 >> long/x",
        "echo 2 >> two; rm one; printf '\\377\\n' > \"$(printf 'n\\377')\"")
    daemon = Daemon(place)
    try:
        for number, command in enumerate(commands, 1):
            daemon.step(number, command)
            trees.append(tree(share))
            copies.append("%s/copy%d" % (place.root, number))
            shutil.copytree(share, copies[-1], symlinks=True)
        owned = call(place, "diff", "2", "-C", share)
    finally:
        daemon.end()
    equal(call(place, "diff", "2", "-C", share), owned)
    for number, copy in enumerate(copies, 1):
        status, patch, err = call(place, "diff", str(number), "-C", share)
        equal((status, err), (0, ""))
        if number < len(copies): # of two names of a file one is told
            subprocess.run(["git", "apply", "-R", "--whitespace=nowarn"],
                           cwd=copy, input=patch, check=True)
            equal(tree(copy), trees[number - 1])
    patch = call(place, "diff", "-C", share)[1]
    equal(call(place, "diff", "5", "-C", share)[1], patch)
    contains(patch, b"+++ b/two\n@@ -1 +1,2 @@\n 1\n+2\n")
    contains(patch, b'+++ "b/n\\377"\n')
    part = call(place, "diff", "1", "new", "-C", share)[1]
    contains(part, b"new file mode 100644")
    equal(part.count(b"diff --git"), 1)
    answer = json.loads(call(place, "diff", "--json", "3", "-C", share)[1])
    equal((answer["step_id"], len(answer["files"])), (3, 3))


@test
def diff_refused(place):
    """diff says why there is none"""
    equal(call(place, "diff", "-C", place.share)[0], 1)
    daemon = Daemon(place)
    try:
        daemon.step(1, "head -c 3000000 /dev/zero > big; echo a > text")
    finally:
        daemon.end()
    status, out, err = call(place, "diff", "9", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "there is no step 9")
    out = call(place, "diff", "-C", place.share)[1]
    contains(out, b"Files /dev/null and b/big are too long to compare")
    contains(out, b"+a\n")
    equal(call(place, "diff", "--color", "x", "-C", place.share)[0], 2)
    out = call(place, "diff", "--color=always", "-C", place.share)[1]
    contains(out, b"\033[32m+a\033[m\n")


@test
def diff_on_a_terminal(place):
    """what a file holds does nothing to the terminal"""
    daemon = Daemon(place)
    try:
        daemon.step(1, "printf 'a\\033]0;title\\007b\\n' > text")
    finally:
        daemon.end()
    out = on_terminal(place, "diff", "-C", place.share, NO_COLOR="1")
    contains(out, "+a^[]0;title^Gb\n")
    equal(out.count("\033"), 0)


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
def boot(place):
    """doctor --boot tells where the time of a start goes, and leaves nothing"""
    temp = place.root + "/temp"
    os.mkdir(temp)
    words = ("doctor", "--boot", "--rounds", "2", "--accel", "tcg")
    status, out, err = call(place, *words, TMPDIR=temp)
    equal((status, err), (0, ""))
    lines = [line.split(None, 2) for line in out.decode().splitlines()]
    equal(" ".join(lines[0]), "Start of a machine with tcg, medians of 2:")
    said = {line[2]: float(line[0]) for line in lines[1:10]}
    equal((said["kernel"], said["init: drivers and mounts"], said["shim"]),
          (3, 1, 1))
    equal("the same kernel, powering off at once" in said, True)
    equal(lines[10][1:], ["to", "the hello, for each ms of powering off at once"])
    out = call(place, *words, TMPDIR=temp, FAKE_QEMU="times")[1].decode()
    equal(("kernel\n" in out, "hello" in out), (False, True))
    status, out, err = call(place, *words, TMPDIR=temp, FAKE_QEMU="exit")
    equal((status, out), (1, b""))
    contains(err, "cannot allocate everything")
    equal((os.listdir(temp), os.listdir(place.runtime)), ([], []))


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

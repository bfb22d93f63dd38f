#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A sandbox with a real guest, as a user lives in it: commands, a shell whose
lines are steps, undo from inside, a server at a published port, copies. One
boot for each file server.
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import guest_start  # noqa: E402
from kept_names import names_are_kept  # noqa: E402
from pty_client import Terminal  # noqa: E402
from stdio_client import (PROGRAM, SNAPSHOT, Skip, contains,  # noqa: E402
                          equal, eventually, freeze, main, test)
from terminal_programs import Programs  # noqa: E402
from tmux_window import Window  # noqa: E402

CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
PROMPT = ":/mnt/working# "
# Change a file through a mapping of which no fd is left, and exit when told to:
# the guest's kernel writes the pages at the exit, and does not wait for them.
MAPPED = """
import ctypes, os
mmap = ctypes.CDLL(None).mmap
mmap.restype = ctypes.c_void_p
mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                 ctypes.c_int, ctypes.c_long]
fd = os.open("mapped", os.O_RDWR)
size = os.fstat(fd).st_size
at = mmap(None, size, 3, 1, fd, 0)
os.close(fd)
ctypes.memset(at, ord("y"), size)
print("ready", flush=True)
os.read(0, 1)
os._exit(0)
"""


class Box:
    def __init__(self, place, backend):
        if not (shutil.which("qemu-system-x86_64") and os.path.exists(
                CACHE + "/stepback/guest/debian/image.json")):
            raise Skip("there is no QEMU or no image 'debian'")
        self.place = place
        self.env = place.environment(STEPBACK_QEMU=None, XDG_CACHE_HOME=CACHE,
                                     TERM="xterm")
        vm = guest_start.plan(self.env, "debian", backend, alone=backend == "9p")
        self.text("up", "--image=debian", "--backend", backend, "-p", "0:8000",
                  *([] if vm["template"] else ["--no-template"]))
        guest_start.check(json.loads(self.text("ps", "--json"))[0]["pid"], vm)

    def run(self, *words, **more):
        return subprocess.run([PROGRAM, *words], env=self.env,
                              cwd=self.place.share, capture_output=True,
                              timeout=180, **more)

    def text(self, *words, **more):
        done = self.run(*words, **more)
        equal((words, done.returncode, done.stderr), (words, 0, done.stderr))
        return done.stdout.decode()

    def snapshot(self):
        subprocess.run(["sync", "-f", self.place.share], check=True)
        return [subprocess.run([SNAPSHOT, self.place.share], check=True,
                               stdout=subprocess.PIPE).stdout]


@contextlib.contextmanager
def sandbox(place, backend):
    box = Box(place, backend)
    try:
        yield box
        box.text("stop")
    finally:
        box.run("kill", "share")
    equal(place.processes(), [])


def commands(box):
    done = box.run("exec", "-i", "--", "sh", "-c", "wc -c; cat >f; exit 3",
                   input=b"x" * 300000)
    equal((done.returncode, done.stdout), (3, b"300000\n"))
    contains(done.stderr.decode(), "1 path changed")
    equal(box.text("exec", "-q", "-u", "nobody", "--", "id", "-un"), "nobody\n")


def memory_is_used_up(box):
    """A process that wants nearly all memory at once is killed."""
    done = box.run("exec", "--step=none", "--", "sh", "-c", "exec dd if=/dev/zero "
                   "of=/dev/null count=1 bs=$(awk '/MemTotal/ { print $2 - 10000 }' "
                   "/proc/meminfo)k")
    equal(done.returncode, 137)
    contains(done.stderr.decode(), "the kernel killed 1 of its processes")


def lines_are_steps(box):
    """Three lines are three steps; undo, also from inside, is exact."""
    box.text("exec", "-q", "--", "sh", "-c", "rm f; seq 99 >kept; ln kept hard")
    before = box.snapshot()
    with Terminal([PROGRAM, "shell"], env=box.env, cwd=box.place.share,
                  columns=120) as terminal:
        terminal.expect(PROMPT)
        terminal.send("echo changed >hard; mkdir -p d/e\r")
        terminal.expect(PROMPT)
        middle = box.snapshot()
        terminal.send("rm -rf kept hard d\r")
        terminal.expect(PROMPT)
        terminal.send("step undo\r")
        terminal.expect("undid step [0-9]+: rm -rf kept hard d")
        terminal.expect(PROMPT)
        equal(box.snapshot(), middle)
        terminal.send("exit 4\r")
        equal(terminal.wait(), 4)
        equal(terminal.settings(), terminal.before)
    steps = json.loads(box.text("history", "--json"))["steps"]
    equal(steps[0]["command"], "echo changed >hard; mkdir -p d/e")
    box.text("undo", "-y")
    equal(box.snapshot(), before)


def programs_in_tmux(box, **more):
    """Programs that use the whole terminal; each line is a step."""
    before = box.snapshot()
    with Window(box.place.root, box.env) as window:
        modes = window.settings()
        window.enter("cd %s; %s shell; echo code $?." % (box.place.share,
                                                         PROGRAM))
        inside = Programs(window, PROMPT.strip(), box.place.share, **more)
        inside.all()
        inside.start("exit 5")
        window.expect(r"^code 5\.$")
        equal(window.settings(), modes)
    steps = json.loads(box.text("history", "--json"))["steps"]
    changed = [(step["command"], [c["path"] for c in step["changes"]])
               for step in steps if step["changes"]][:2]
    equal(changed, [("(echo begun; exec cat >pasted)", ["pasted"]),
                    ("vi -u NONE -n edited", ["edited"])])
    box.text("undo", "-y")
    box.text("undo", "-y")
    equal(box.snapshot(), before)


def folders_come_and_go(box):
    """A second folder is part of a step; in use it stays, unless forced."""
    two = os.path.join(box.place.root, "two")
    os.mkdir(two)
    before = box.snapshot()
    equal(box.text("folder", "add", two), "/mnt/folders/two\n")
    box.text("exec", "-q", "--", "sh", "-c",
             "echo 1 >both; echo 2 >/mnt/folders/two/both")
    equal((os.listdir(two), open(two + "/both").read()), (["both"], "2\n"))
    box.text("undo", "-y")
    box.text("undo", "-y", "-C", two)
    equal((box.snapshot(), os.listdir(two)), (before, []))
    sleeper = box.text("exec", "-d", "--step=none", "-w", "/mnt/folders/two",
                       "--", "sleep", "1000").strip()
    box.text("exec", "-q", "--", "sh", "-c",
             "until pgrep -x sleep >/dev/null; do :; done")
    contains(box.run("folder", "rm", "two").stderr.decode(), "--force")
    box.text("folder", "rm", "--force", "two")
    box.text("exec", "-q", "--", "sh", "-c", "test ! -e /mnt/folders/two/both")
    equal(box.text("folder", "add", two), "/mnt/folders/two\n")
    box.text("job", "kill", sleeper)
    box.text("folder", "rm", "two")
    equal(os.listdir(two), [])


def a_command_asks_for_a_folder(box):
    """A command asks, a part is granted to read while it waits, and it goes on."""
    part = os.path.join(box.place.root, "asked/part")
    os.makedirs(part)
    with open(part + "/file", "w") as file:
        file.write("content\n")
    job = box.text("exec", "-d", "--", "sh", "-c", "step grant %s --rw why >told && "
                   "cat /mnt/folders/part/file >got; ! echo >/mnt/folders/part/new" %
                   os.path.dirname(part)).strip()
    assert eventually(lambda: box.text("approve"), 60)
    asked, = json.loads(box.text("approve", "--json"))
    equal((asked["path"], asked["access"], asked["origin"], asked["reason"]),
          (os.path.dirname(part), "read_write", "guest", "why"))
    contains(box.text("approve", asked["id"], "--path", part, "--ro"),
             "granted: %s at /mnt/folders/part (read_only, once)" % part)
    box.text("job", "wait", job)
    for name, text in (("told", "/mnt/folders/part\tread-only\n"), ("got", "content\n")):
        with open(os.path.join(box.place.share, name)) as file:
            equal(file.read(), text)
    equal(os.listdir(part), ["file"])
    box.text("undo", "-y")
    box.text("folder", "rm", "part")


def daemons(box):
    """The pids of the file servers of this sandbox."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                words = file.read().decode(errors="replace")
        except OSError:
            continue
        if "stepback-virtiofsd\0" in words and box.place.share in words:
            found.append(int(pid))
    assert found
    return found


def newest(box, count):
    """The ids and paths of the newest steps."""
    steps = json.loads(box.text("history", "--json"))["steps"][:count]
    return [(s["step_id"] > 0, [c["path"] for c in s["changes"]])
            for s in steps]


def last_writes(box):
    """What a command writes just before its end is in its step."""
    for i in range(3):
        box.text("exec", "-q", "--", "sh", "-c", "echo %d >last" % i)
    equal(newest(box, 3), [(True, ["last"])] * 3)


def writes_after_the_end(box):
    """What the guest's kernel writes after a command's end is in its step."""
    for name, text in (("mapped", "x" * (2 << 20)), ("mapped.py", MAPPED)):
        with open(os.path.join(box.place.share, name), "w") as file:
            file.write(text)
    before = box.snapshot()
    with subprocess.Popen([PROGRAM, "exec", "-q", "-i", "--", "python3", "-B",
                           "mapped.py"], env=box.env, cwd=box.place.share,
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as command:
        equal(command.stdout.readline(), b"ready\n")
        pids = daemons(box)
        freeze(*pids)
        command.stdin.write(b"x")
        command.stdin.close()
        time.sleep(1)  # for the command's end
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        equal(command.wait(60), 0)
    with open(os.path.join(box.place.share, "mapped")) as file:
        equal(set(file.read()), {"y"})
    equal(newest(box, 1), [(True, ["mapped"])])
    box.text("undo", "-y")
    equal(box.snapshot(), before)


def server(box):
    """A server in the background answers at the published port."""
    id = box.text("exec", "-d", "--step=none", "-w", "/mnt/working", "--",
                  "python3", "-m", "http.server", "8000").strip()
    port, = json.loads(box.text("port", "share", "--json"))["published"]
    url = "http://127.0.0.1:%d/kept" % port["host_port"]

    def fetched():
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                return answer.read()
        except OSError:
            return None

    assert eventually(lambda: fetched() == "".join(
        "%d\n" % i for i in range(1, 100)).encode(), 60)
    box.text("job", "kill", id)
    equal(box.run("job", "wait", id).returncode, 143)


def writers(box, names_processes):
    """Reports say who made a change beside an open step; 9P does not tell."""
    id = int(box.text("exec", "-d", "--step=none", "-w", "/mnt/working", "--",
                      "sh", "-c", "while ! [ -e go ]; do sleep 0.1; done; "
                      "mkdir by-server; echo > done"))
    box.text("exec", "-q", "--", "sh", "-c",
             "echo > go; while ! [ -e done ]; do sleep 0.1; done")
    steps = json.loads(box.text("history", "--json"))["steps"]
    by = {c["path"]: c["by"] for c in steps[0]["changes"]}
    wanted = {"by-server": id, "done": id, "go": id + 1}
    equal(by, wanted if names_processes else dict.fromkeys(wanted, "?"))


def copies(box):
    source = box.place.root + "/tree"
    os.makedirs(source + "/sub")
    with open(source + "/sub/a\nb", "w") as file:
        file.write("odd")
    os.symlink("nowhere", source + "/link")
    box.text("cp", source, "share:/root/")
    equal(box.text("exec", "-q", "--", "readlink", "/root/tree/link"),
          "nowhere\n")
    # After a kill of the process that serves copies, the next one works.
    equal(box.text("exec", "-q", "--", "bash", "-c",
                   "for p in /proc/[0-9]*/comm; do grep -qx stepback-bulk $p && "
                   "kill -9 ${p//[!0-9]/} && echo killed; done; true"),
          "killed\n")
    box.text("cp", "share:/root/tree/.", box.place.root + "/back")
    equal(*(subprocess.run([SNAPSHOT, path], check=True,
                           stdout=subprocess.PIPE).stdout.splitlines()[1:]
            for path in (source, box.place.root + "/back")))


def lived_in(place, backend):
    with sandbox(place, backend) as box:
        commands(box)
        memory_is_used_up(box)
        last_writes(box)
        if backend == "virtiofs":  # 9P has no writable mappings
            writes_after_the_end(box)
        lines_are_steps(box)
        # A terminal does not depend on the file server; each line is a request.
        programs_in_tmux(box, **({} if backend == "virtiofs" else {"lines": 100}))
        if backend == "virtiofs":
            names_are_kept(box)
        server(box)
        writers(box, backend == "virtiofs")
        copies(box)
        folders_come_and_go(box)
        a_command_asks_for_a_folder(box)


@test
def over_virtiofs(place):
    """a sandbox over virtio-fs can be lived in"""
    lived_in(place, "virtiofs")


@test
def over_9p(place):
    """a sandbox over 9P can be lived in"""
    lived_in(place, "9p")


main()

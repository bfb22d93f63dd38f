#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Local isolation: a process that stays in the sandbox, and has names, attributes
and pages in its kernel's cache, sees an undo, a redo and a command's past at once,
and an edit by the host soon."""
import ast
import collections
import contextlib
import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_case import LOCAL, call, need  # noqa: E402
from sandbox_case import pid_of, sandbox_test  # noqa: E402
from stdio_client import (PROGRAM, descendants, equal,  # noqa: E402
                          eventually, freeze, main)

ROUNDS = int(os.environ.get("STEPBACK_COHERENT_ROUNDS", "8"))
MISSING = (errno.ENOENT, errno.ENOTDIR)

# Evaluates each line of its input inside the sandbox.
PROBE = r"""
import mmap, os, sys, threading
NAMES = [folder + b"%c" % name for folder in (b"", b"d/") for name in b"abcdef"]
kept = {}
def see(path):
    try:
        st = os.lstat(path)
    except OSError as error:
        return error.errno
    return (st.st_mode, st.st_nlink if not os.path.isdir(path) else 0, st.st_uid,
            st.st_mtime_ns, 0 if os.path.isdir(path) else st.st_size)
def read(path):
    try:
        if os.path.islink(path):
            return os.readlink(path)
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        return error.errno
def entry(path):
    seen = see(path)
    return seen if isinstance(seen, int) else (
        seen, None if os.path.isdir(path) else read(path))
def tree(top):
    # By name first: reading a folder refreshes the attributes.
    found = {name: entry(os.path.join(top, name)) for name in NAMES}
    for base, names, files in os.walk(top):
        names.sort()
        for name in [b"."] + names + files:
            path = os.path.join(base, name)
            found.setdefault(os.path.relpath(path, top), entry(path))
    return found
def glance(top):
    # A read leaves an old access time: ask for it once more.
    for base, names, files in os.walk(top):
        for name in [b"."] + names + files:
            see(os.path.join(base, name))
def warm(top, stop):
    while not stop.is_set():
        tree(top)
        glance(top)
if __name__ == "__main__":
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            result = eval(line)
        except OSError as error:
            result = -error.errno
        print(repr(result), flush=True)
"""


class Probe:
    """A process in the sandbox."""

    def __init__(self, place, name):
        self.process = subprocess.Popen(
            [PROGRAM, "exec", "-i", "--step=none", name, "--", "python3", "-u", "-c",
             PROBE], cwd=place.share, env=place.environment(STEPBACK_QEMU=None),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        equal(self.process.stdout.readline(), b"ready\n")

    def __call__(self, call, *args):
        """Call a function of the probe, or a path of modules."""
        line = "%s(*%r)\n" % (call, args)
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        return ast.literal_eval(self.process.stdout.readline().decode())

    def end(self):
        self.process.stdin.close()
        self.process.wait(20)


class Box:
    def __init__(self, place, setup="true"):
        need()
        self.place, self.share = place, place.share.encode()
        subprocess.run(["sh", "-ec", setup], cwd=place.share, check=True)
        status, out, err = call(place, "up", *LOCAL, "--no-network")
        equal((status, err if status else ""), (0, ""))
        self.name = out.strip()
        self.probe = Probe(place, self.name)
        self.settle()

    def settle(self):
        """Wait until what changed before is cached for long."""
        time.sleep(2.5)
        self.probe("tree", self.share)
        time.sleep(1.5)
        self.probe("tree", self.share)
        self.probe("glance", self.share)

    def path(self, name):
        return self.share + b"/" + (name if isinstance(name, bytes)
                                    else name.encode())

    def step(self, command):
        status, _, err = call(self.place, "exec", self.name, "--", "sh", "-c", command)
        equal((command, status, err if status else ""), (command, 0, ""))

    def verb(self, *words):
        status, _, err = call(self.place, *words)
        equal((words, status, err if status else ""), (words, 0, ""))

    def host(self, command):
        subprocess.run(["sh", "-ec", command], cwd=self.place.share, check=True)

    def inside(self):
        return self.probe("tree", self.share)

    def outside(self):
        space = {}
        exec(PROBE.replace("__main__", "-"), space)
        found = space["tree"](self.share)
        inodes = {name: os.lstat(os.path.join(self.share, name)).st_ino
                  for name, what in found.items() if what not in MISSING}
        count = collections.Counter(inodes.values())
        for name in inodes:  # the undo log may have links as well
            seen, content = found[name]
            found[name] = (seen[0], seen[1] and count[inodes[name]], *seen[2:]), content
        return found

    def same(self):
        """The sandbox sees what the host does, at once."""
        equal(self.inside(), self.outside())
        self.probe("glance", self.share)

    def see(self, name):
        return self.probe("see", self.path(name))

    def read(self, name):
        return self.probe("read", self.path(name))

    def end(self):
        self.probe.end()
        equal(call(self.place, "stop", self.name)[0], 0)


SETUP = r"""
echo one >a; echo two >b; mkdir -p d/e; echo three >d/e/f; ln a d/hard; ln a third
ln -s a link; echo odd >"$(printf 'odd-\377\376 name\nx')"; head -c 300000 /dev/zero >big
mkdir same; touch -d 2001-02-03 same
"""

STEP = r"""
echo longer >>a; chmod 600 b; rm -r d; mv "$(printf 'odd-\377\376 name\nx')" moved
ln -sf b link; truncate -s 7 big; mkdir new; echo new >new/f; echo x >c
echo x >same/new; touch -d 2001-02-03 same
"""


@sandbox_test
def undo_and_redo(place):
    """names, attributes and contents are those of the host at once"""
    box = Box(place, SETUP)
    before = box.outside()
    for _ in range(2):
        equal(box.see("c"), 2)
        box.step(STEP)
        after = box.outside()
        assert after != before
        box.same()
        box.settle()
        box.verb("undo")
        box.same()
        equal(box.inside(), before)
        box.verb("redo")
        equal(box.inside(), after)
        equal(box.see("d/e/f"), 2)
        box.verb("undo")
        equal(box.inside(), before)
    box.end()


@sandbox_test
def links(place):
    """the link count of each of three names is right after an undo"""
    box = Box(place, "echo x >a; ln a b; mkdir d; ln a d/c")
    before = box.outside()
    for name in ("a", "b", "d/c"):
        box.step("rm " + name)
        box.same()
        box.verb("undo")
        equal([box.see(n)[1] for n in ("a", "b", "d/c")], [3, 3, 3])
        equal(box.inside(), before)
    box.step("ln a e; rm b; ln a d/f")
    box.same()
    box.verb("undo")
    equal(box.inside(), before)
    box.host("rm d/c")
    assert eventually(lambda: box.see("a")[1] == 2, 3)
    box.end()


@sandbox_test
def open_files(place):
    """an open file, a mapping and a working folder follow an undo and a redo"""
    box = Box(place, "echo old >f; mkdir -p d/e; echo x >d/e/f; echo y >d/e/g")
    ask = box.probe
    ask("kept.__setitem__", "fd", 0)
    fd = ask("os.open", box.path("f"), os.O_RDWR)
    ask("exec", "kept['map'] = mmap.mmap(%d, 4)" % fd)
    ask("os.chdir", box.path("d/e"))
    equal(ask("kept['map'].__getitem__", 0), ord("o"))
    box.step("echo changed >f; rm -r d; mkdir -p d/e; echo other >d/e/f")
    equal(ask("os.pread", fd, 20, 0), b"changed\n")
    equal(ask("kept['map'].__getitem__", 0), ord("c"))
    box.verb("undo")
    equal(ask("kept['map'].__getitem__", 0), ord("o"))
    equal(ask("os.pread", fd, 20, 0), b"old\n")
    equal(ask("(lambda fd: os.fstat(fd).st_size)", fd), 4)
    equal(box.read("d/e/f"), b"x\n")
    equal(sorted(ask("os.listdir", box.path("d/e"))), [b"f", b"g"])
    box.same()
    box.verb("redo")
    equal(ask("kept['map'].__getitem__", 0), ord("c"))
    equal(box.read("d/e/f"), b"other\n")
    equal(box.see("d/e/g"), 2)
    box.same()
    box.end()


@sandbox_test
def mapped_pages(place):
    """pages that a process has changed in its mapping bring back nothing undone"""
    box = Box(place, "printf '%04096d' 0 >f; cp f g")
    with open(place.share + "/f", "rb") as file:
        before = file.read()
    ask = box.probe
    for name in "fg":
        ask("exec", "kept['%s'] = mmap.mmap(os.open(%r, os.O_RDWR), 4096)" %
            (name, box.path(name)))

    def content(name):
        with open(place.share + "/" + name, "rb") as file:
            return file.read()

    def change(name, at, text):
        ask("kept['%s'].__setitem__" % name, slice(at, at + len(text)), text)
    change("f", 0, b"before")  # of no command; a command's end writes it
    step = "printf undone | dd of=f bs=1 seek=100 conv=notrunc 2>/dev/null"
    box.step(step)
    equal(content("f")[:106], b"before" + before[6:100] + b"undone")
    for verb, text in (("undo", before[100:106]), ("redo", b"undone"),
                       ("undo", before[100:106])):
        if verb == "undo":
            change("f", 200, b"stale")
        box.verb(verb)
        ask("kept['f'].flush")
        equal(content("f"), b"before" + before[6:100] + text + before[106:])
        equal(ask("kept['f'].__getitem__", slice(0, 4096)), content("f"))
    # While it is being changed.
    ask("exec", "kept['stop'] = threading.Event()\n"
        "def spin():\n"
        "    while not kept['stop'].is_set():\n"
        "        kept['f'][300:305] = b'%05d' % (time.monotonic_ns() // 1000 % 100000)\n"
        "import time; threading.Thread(target=spin).start()")
    for verb in (("undo",), ("undo", "--", "f")) * (ROUNDS // 2):
        box.step(step)
        box.verb(*verb)
        equal(content("f")[100:106], before[100:106])
    ask("kept['stop'].set")
    change("g", 200, b"other")
    ask("kept['g'].flush")
    equal(content("g"), before[:200] + b"other" + before[205:])
    # What a process that stays has changed is its command's.
    box.step("exec 3<>g; python3 -c 'import mmap, time; m = mmap.mmap(3, 4096)\n"
             "m[:4] = b\"left\"; print(flush=True); time.sleep(100)' >p 2>&1 & "
             "until test -s p; do sleep .02; done")
    equal(content("g")[:4], b"left")
    box.verb("undo")
    equal(content("g"), before[:200] + b"other" + before[205:])
    box.end()


@sandbox_test
def removed_working_folder(place):
    """a process in a folder that undo removed finds nothing there"""
    box = Box(place)
    box.step("mkdir -p d/e; echo x >d/e/f; echo x >d/g")
    box.settle()
    ask = box.probe
    ask("os.chdir", box.path("d/e"))
    equal(ask("read", b"f"), b"x\n")
    equal(ask("see", b"f")[4], 2)
    box.verb("undo")
    for name in (b"f", b"h", b"../g", b"../h"):
        done = ask("os.open", name, os.O_WRONLY | os.O_CREAT, 0o600)
        assert done in (-errno.ENOENT, -errno.ESTALE), (name, done)
        assert ask("os.mkdir", name + b"2") in (-errno.ENOENT, -errno.ESTALE), name
    equal(box.see("d"), errno.ENOENT)
    equal(os.listdir(place.share), [])
    box.same()
    box.end()


@sandbox_test
def outside_edits(place):
    """a command sees each edit that the host made before it, and a process that
    runs sees it soon, also a write to a file that stays open"""
    box = Box(place, SETUP)
    edits = ("echo host >a", "rm b", "mv d/e d/x", "ln -sf big link", "echo new >c",
             "chmod 640 big", "touch -d @1 a", "mkdir n; echo deep >n/f", "rm -r d",
             "echo t >t; mv t a", "mv n m; echo again >m/g", "rm third",
             "setfattr -n user.x -v y a 2>/dev/null || true", "truncate -s 5 big")
    for edit in edits:
        box.host(edit)
        want = box.outside()
        status, out, err = call(
            place, "exec", box.name, "--", "python3", "-c", PROBE.replace(
                "__main__", "-") + "\nprint(tree(%r))" % box.share)
        equal((edit, status, err if status else ""), (edit, 0, ""))
        equal((edit, ast.literal_eval(out)), (edit, want))
        box.same()
    for i, edit in enumerate(("echo more >>a", "echo n >n%d", "rm a")):
        box.host(edit % i if "%d" in edit else edit)
        assert eventually(lambda: box.inside() == box.outside(), 1.5), edit
    with open(place.share + "/log", "w") as file:
        file.write("1\n")
        file.flush()
        assert eventually(lambda: box.read("log") == b"1\n", 2)
        box.settle()
        file.write("2\n")
        file.flush()
        assert eventually(lambda: (box.see("log") or [0] * 5)[4] == 4, 1.5)
        equal(box.read("log"), b"1\n2\n")
    box.end()


def name_of(pid):
    with open("/proc/%d/comm" % pid) as file:
        return file.read().strip()


@contextlib.contextmanager
def stopped(box):
    """The file server does not answer."""
    found = [pid for pid in descendants(pid_of(box.place, box.name))
             if name_of(pid) == "stepback-virtio"]
    assert found
    freeze(*found)
    try:
        yield
    finally:
        for pid in found:
            os.kill(pid, signal.SIGCONT)


@sandbox_test
def cached(place):
    """names, attributes and that a name is missing need no file server"""
    box = Box(place, "echo one >a; mkdir -p d/e; echo three >d/e/f; ln -s a link")
    names = ("a", "d", "d/e", "d/e/f", "link", "missing", "d/missing")
    want = [box.see(name) for name in names]
    equal([want[0][4], want[3][4], want[5]], [4, 6, 2])
    time.sleep(1.5)
    with stopped(box):
        reader = threading.Thread(target=lambda: want.append(
            [box.see(name) for name in names]), daemon=True)
        reader.start()
        reader.join(10)
        late = reader.is_alive()
    reader.join(20)
    assert not late
    equal(want[:-1], want[-1])
    box.end()


def some_command(choose):
    names = ["a", "b", "c", "d", "e", "f"]
    first, second = choose.sample(names, 2)
    first, second = (choose.choice(("", "d/")) + name for name in (first, second))
    return choose.choice((
        "echo %d >%s" % (choose.randrange(10 ** 6), first), "rm -rf " + first,
        "mv -T %s %s" % (first, second), "ln %s %s" % (first, second),
        "mkdir -p " + first, "ln -sfn %s %s" % (second, first),
        "rm -rf d; mkdir d; echo new >" + first, "chmod 6%d0 %s" % (choose.choice((0, 4)), first),
        "echo more >>%s; truncate -s 3 %s" % (first, second)))


def without_times(tree):
    return {name: (*what[0][:3], *what[0][4:], what[1])
            for name, what in tree.items() if what not in MISSING}


@sandbox_test
def race(place):
    """with readers at work, the sandbox sees the host's tree after each undo, redo
    and edit, and an undo is exact"""
    seed = int(os.environ.get("STEPBACK_COHERENT_SEED", random.randrange(10 ** 6)))
    choose = random.Random(seed)
    print("# seed", seed)
    box = Box(place, "mkdir d; echo 1 >a; echo 2 >d/b; ln a d/c; mkdir e; echo 3 >e/f")
    box.probe("exec", "kept['stop'] = threading.Event()")
    for _ in range(2):
        box.probe("exec", "threading.Thread(target=warm, args=(%r, kept['stop']), "
                          "daemon=True).start()" % box.share)
    for number in range(ROUNDS):
        commands = [some_command(choose) for _ in range(3)]
        before = box.outside()
        box.step("{ %s; } 2>/dev/null; true" % "; ".join(commands))
        after = box.outside()
        box.same()
        if without_times(after) == without_times(before):  # undo skips it
            continue
        time.sleep(1.3)  # what the readers see next stays cached for long
        box.verb("undo")
        equal((seed, number, commands, box.outside()), (seed, number, commands, before))
        box.same()
        if choose.random() < 0.5:
            box.verb("redo")
            equal((seed, number, box.outside()), (seed, number, after))
            box.same()
        if choose.random() < 0.3:
            edit = some_command(choose)
            box.host("{ %s; } 2>/dev/null || true" % edit)
            assert eventually(lambda: box.inside() == box.outside(), 3), (seed, edit)
    box.probe("kept['stop'].set")
    box.end()


main()

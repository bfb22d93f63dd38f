# SPDX-License-Identifier: Apache-2.0
"""What people do in a folder, natively and in a sandbox of local isolation with undo.

Each task runs in a folder of its own kind: on the host, and in the sandbox's shared
folder, where it is a step. What a task needs is made before, and not measured. Times
are those that the task itself sees, without the start of a command; CPU times are of
the task's processes and the file server."""

import subprocess
import time

from measure import Result, Skipped, fresh_folder, in_turn, process_cpu, remove, \
    settle
from sandbox import Sandbox, host_environment, program

# Runs a task, and prints its seconds and those of its processes on the CPU.
TIMED = r"""
import os, resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(["bash", "-ec", sys.argv[1]], check=True, stdout=subprocess.DEVNULL,
               stdin=subprocess.DEVNULL)
wall = time.perf_counter() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(wall, used.ru_utime + used.ru_stime)
"""

RANDOM_READS = r"""
import os, random
random.seed(1)
fd = os.open("blocks", os.O_RDONLY)
size = os.fstat(fd).st_size
for _ in range(COUNT):
    os.pread(fd, 4096, random.randrange(size // 4096) * 4096)
"""

INSERTS = r"""
import sqlite3
db = sqlite3.connect("new.db")
db.execute("create table t(a integer primary key, b text)")
for n in range(COUNT // 10):
    db.executemany("insert into t(b) values (?)", [("row %d" % n,)] * 10)
    db.commit()
"""

# Makes what the tasks need. FILES, SOURCES and MIB are numbers.
PREPARE = r"""
export GIT_CONFIG_GLOBAL=/dev/null
git init -q -b main work && cd work && git config user.name b
git config user.email b@example.org
for folder in $(seq $((FILES / 100))); do
    mkdir -p d$folder
    for file in $(seq 100); do echo "line $folder $file" >d$folder/f$file; done
done
git add -A && git commit -qm files && cd ..
git clone -q --bare work origin.git
mkdir unpacked && for n in 1 2; do cp -r work unpacked/$n; rm -rf unpacked/$n/.git; done
tar cf files.tar unpacked && rm -rf unpacked
mkdir project && cd project
for n in $(seq SOURCES); do
    printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n' >f$n.c
    for k in $(seq 60); do
        echo "int f${n}_$k(const char *s) { return (int)strlen(s) * $k + atoi(s); }"
    done >>f$n.c
done
printf 'OBJECTS = $(patsubst %%.c,%%.o,$(wildcard *.c))\nlib.a: $(OBJECTS)\n\tar rc $@ $^\n' \
    >Makefile
cd .. && head -c $((MIB / 4))M /dev/urandom >blocks
"""

# Each: name, most of local / native, the task, what is done before it.
TASKS = (
    ("git status", 1.5, "cd work; git status --porcelain", ""),
    ("git clone", 2, "git clone -q origin.git clone", "rm -rf clone"),
    ("make -j2", 1.15, "cd project; make -j2 CFLAGS=-O1", "rm -f project/*.[oa]"),
    ("grep -r", 1.3, "grep -r zzz work || true", ""),
    ("tar x", 2, "tar xf files.tar", "rm -rf unpacked"),
    ("rm -rf", 2, "rm -rf unpacked", "rm -rf unpacked; tar xf files.tar"),
    ("write", 1.2, "dd if=/dev/zero of=large bs=1M count=MIB status=none", "rm -f large"),
    ("read", 1.2, "dd if=large of=/dev/null bs=1M status=none", ""),
    ("random reads", 1.2, "python3 -c '" + RANDOM_READS + "'", ""),
    ("sqlite", 1.5, "python3 -c '" + INSERTS + "'", "rm -f new.db*"),
)


class Native:
    def __init__(self, folder):
        self.folder = folder

    def server(self):
        return 0.0

    def output(self, script, timed):
        words = ["python3", "-c", TIMED, script] if timed else ["bash", "-ec", script]
        return subprocess.run(words, cwd=self.folder, check=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True).stdout

    def end(self):
        pass


class Local(Sandbox, Native):
    def __init__(self, settings, base):
        self.base = fresh_folder(base)
        self.share = base + "/share"
        self.program, environment = program(settings)
        self.env = dict(host_environment(settings, base), **environment)
        self.folder = []
        self.pid = 0

    def begin(self, network="--no-network"):
        done = subprocess.run([self.program, "up", "--isolation=local", network],
                              env=self.env, cwd=self.share, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise Skipped("no local isolation here: " + done.stderr.splitlines()[-1])
        self.pid = child_of(self.supervisor(), "stepback-virtio")

    def server(self):
        return process_cpu(self.pid)

    def output(self, script, timed):
        words = ("python3", "-c", TIMED, script) if timed else ("bash", "-ec", script)
        return self.exec(*words, step="one" if timed else "none").decode()

    def end(self):
        self.stop()


def child_of(parent, name):
    """Return the process of this name below a parent."""
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
        children = [int(pid) for pid in file.read().split()]
    for pid in children:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            if file.read().startswith(name):
                return pid
        found = child_of(pid, name)
        if found:
            return found
    return 0


def measure(place, sizes):
    """Return the numbers of one round."""
    numbers = {}
    for name, _, task, before in TASKS:
        if before:
            place.output(before, False)
        task = sizes(task, name)
        settle()
        cpu = place.server()
        wall, used = map(float, place.output(task, True).split())
        numbers[name] = wall
        numbers[name + "_cpu"] = used + place.server() - cpu
    return numbers


def case_local(settings):
    result = Result("local", "work in a folder, natively and in local isolation")
    files, mib = settings.scaled(5000, 100), settings.scaled(1024, 8)
    counts = {"random reads": settings.scaled(100000, 100),
              "sqlite": settings.scaled(10000, 100)}

    def sizes(text, name=""):
        for word, number in (("FILES", files), ("SOURCES", 4 if settings.quick else 40),
                             ("MIB", mib), ("COUNT", counts.get(name, 0))):
            text = text.replace(word, str(number))
        return text

    native = Native(fresh_folder(settings.work + "/native"))
    local = Local(settings, settings.work + "/local")
    for folder in (native.folder, local.share):
        subprocess.run(["bash", "-ec", sizes(PREPARE)], cwd=folder, check=True)
    try:
        try:
            local.begin()
        except Skipped as reason:
            result.skipped["local"] = str(reason)
            return result
        if not settings.quick:
            time.sleep(2.5)  # the engine lets the kernel keep older files for long
        in_turn(result, {"native": lambda: measure(native, sizes),
                         "local": lambda: measure(local, sizes)}, settings.rounds)
    finally:
        local.end()
        remove(native.folder)
        remove(local.base)
    for name, most, _, _ in TASKS:
        result.ratio("local", name, "native", most=most)
        result.ratio("local", name + "_cpu", "native")
    return result

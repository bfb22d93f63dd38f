#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people do in a folder, in a real virtual machine: clone a repository,
build a program, unpack ten thousand small files.

The same commands run in the guest and in a native folder of the host, and
tests/lib/tree-snapshot must see the same tree; then all of it is removed, which is
undone. One start of the image debian (STEPBACK_TEST_IMAGE names another) for
each of the backends in STEPBACK_TEST_BACKEND ("9p"; "virtiofs 9p" for both).
STEPBACK_TEST_PERCENT is how much of the trees is there: 100 is what the title
promises, and takes TCG long; 1 is the default. With STEPBACK_TEST_WHOLE set, all
of this project is built in the guest as well, out of its source folder, which
takes TCG half an hour; the host must have what contrib/packages lists. It is
skipped without QEMU, the image, git, make or a compiler.
"""
import io
import os
import shutil
import subprocess
import sys
import tarfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import guest_start  # noqa: E402
from stdio_client import Agent, Place, SRCDIR, equal, snapshot  # noqa: E402

IMAGE = os.environ.get("STEPBACK_TEST_IMAGE", "debian")
BACKENDS = os.environ.get("STEPBACK_TEST_BACKEND", "9p").split()
CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
PERCENT = int(os.environ.get("STEPBACK_TEST_PERCENT", "1"))
TRACKED = 5000 * PERCENT // 100
PACKAGES = 5 * PERCENT  # of 20 files each
WHOLE = bool(os.environ.get("STEPBACK_TEST_WHOLE"))
# Without what the make that runs the tests tells its children.
NATIVE = {name: value for name, value in os.environ.items()
          if not name.startswith(("MAKE", "MFLAGS"))}
# No file has a time of its own after this.
TIMES = "find . -exec touch -h -d '2024-01-02 03:04:05' {} +"
GIT = "git -c user.name=t -c user.email=t@example.com "

# What is left of .git is the same everywhere.
CLONE = """
git() { command git -c safe.directory='*' -c user.name=t \
    -c user.email=t@example.com "$@"; }
git clone -q --template= source.git clone
cd clone
[ -z "$(git status --porcelain)" ]
git fsck --no-progress --strict
git checkout -q -b side
git mv d1 moved
echo more >>d2/f2
[ "$(git status --porcelain | grep -c '^R')" -ge 2 ]
git commit -q -a -m side
git checkout -q -
[ ! -e moved ]
[ -z "$(git status --porcelain)" ]
cd .git
rm -rf index logs config objects refs/heads/side
cd ../..
"""
MAKE = """
make -s -j2 -C program
program/stepback-shim --version | grep -q tried
[ -z "$(make -s -j2 -C program)" ]
program/stepback-shim --version >program/version
make -s -C program clean
"""
# The libraries go to the guest's own disk.
BUILD = """
exec >/dev/null
tar -C / -xf libraries.tar
mkdir build
cd build
../project/configure -q --enable-werror
make -s -j2
./stepback --version
[ -z "$(make -s -j2)" ]
"""
UNPACK = "tar xf packages.tar\nrm packages.tar\n"

MAKEFILE = """\
objects = $(patsubst %.c,%.o,$(wildcard shim/*.c))
stepback-shim: $(objects)
	$(CC) -o $@ $(objects)
%.o: %.c $(wildcard shim/*.h)
	$(CC) -O0 -std=gnu17 -D_GNU_SOURCE -I. -c -o $@ $<
clean:
	rm -f $(objects) stepback-shim
"""
PART = '#include "shim/parts.h"\nint part%d(void) { return printf("tried %d\\n"); }\n'
MAIN = 'int part1(void);\nint main(void) { return part1() < 0; }\n'


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def make_repository(path, files):
    source = path + ".work"
    for i in range(files):
        write("%s/d%d/f%d" % (source, i % 40, i), "file %d\n" % i * (i % 50))
    os.symlink("d1/f1", source + "/link")
    os.chmod(source + "/d3/f3", 0o755)
    for command in ("init -q", "add .", "commit -q -m all"):
        subprocess.run(GIT + command, shell=True, check=True, cwd=source)
    subprocess.run([*"git clone -q --bare --template=".split(), source, path],
                   check=True)
    subprocess.run("git repack -q -a -d".split(), check=True, cwd=path)
    shutil.rmtree(source)


def make_program(path):
    """This project's shim: it needs the C library alone. Below 10 percent, a
    program of a few small files that is called the same."""
    if PERCENT < 10:
        for i in range(3):
            write("%s/shim/part%d.c" % (path, i), PART % (i, i))
        write(path + "/shim/parts.h", "int printf(const char *, ...);\n")
        write(path + "/shim/main.c", MAIN)
        write(path + "/Makefile", MAKEFILE)
        return
    shutil.copytree(os.path.join(SRCDIR, "shim"), path + "/shim",
                    ignore=shutil.ignore_patterns("*.inc", ".*", "*.o"))
    write(path + "/config.h", '#define PACKAGE_VERSION "tried"\n')
    write(path + "/Makefile", MAKEFILE)


def copy_project(path):
    """What is committed, and what autogen.sh has made."""
    made = ["configure", "config.h.in", "aclocal.m4", "build-aux", "m4"]
    files = subprocess.run(["git", "ls-files", "-z"], cwd=SRCDIR, check=True,
                           stdout=subprocess.PIPE).stdout.decode()
    made += [name[:-3] + ".in" for name in files.split("\0")
             if name.endswith("Makefile.am")]
    names = [name for name in files.split("\0") + made if name and
             os.path.lexists(os.path.join(SRCDIR, name))]
    pack = subprocess.Popen(["tar", "c", "--null", "-T", "-"], cwd=SRCDIR,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    os.mkdir(path)
    unpack = subprocess.Popen(["tar", "x"], cwd=path, stdin=pack.stdout)
    pack.stdin.write("\0".join(names).encode())
    pack.stdin.close()
    equal((pack.wait(), unpack.wait()), (0, 0))


def make_libraries(path):
    """The files of the libraries that it is built with, with their own."""
    with open(os.path.join(SRCDIR, "contrib", "packages")) as file:
        wanted = [line for line in file.read().split()
                  if line.startswith("lib") and line.endswith("-dev")]
    listed = subprocess.run(
        ["apt-cache", "depends", "--recurse", "--installed", "--no-recommends",
         "--no-suggests", "--no-conflicts", "--no-breaks", "--no-replaces",
         "--no-enhances", "pkgconf", "pkg-config", *wanted], check=True,
        stdout=subprocess.PIPE, text=True).stdout
    packages = {line for line in listed.splitlines()
                if line.startswith(("lib", "pkg", "zlib", "uuid-dev")) and
                not line.startswith(("libc6", "libc-", "libgcc", "libstdc",
                                     "libperl", "libpython", "libcrypt"))}
    files = subprocess.run(["dpkg", "-L", *sorted(packages)], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    names = {name for name in files.splitlines() if name.startswith("/")
             and "/share/doc" not in name
             and (os.path.islink(name) or os.path.isfile(name))}
    subprocess.run(["tar", "cf", path, "-P", "--transform", "s,^/,,", "-T",
                    "-"], input="\n".join(sorted(names)), text=True,
                   check=True)


def make_packages(path):
    """As a package manager unpacks them: small files, links to programs."""
    with tarfile.open(path, "w") as tar:
        for number in range(PACKAGES):
            top = "node_modules/package-%d" % number
            for name in ["package.json", "README.md"] + [
                    "lib/%s/file%d.js" % ("ab"[i % 2], i) for i in range(17)]:
                text = ("/* %s/%s */\n" % (top, name) * (number % 30)).encode()
                info = tarfile.TarInfo(top + "/" + name)
                info.size = len(text)
                info.mtime = 1700000000
                tar.addfile(info, io.BytesIO(text))
            info = tarfile.TarInfo("node_modules/.bin/program-%d" % number)
            info.type, info.linkname = tarfile.SYMTYPE, "../" + top[13:]
            tar.addfile(info)


def same(tree, wanted):
    lines = [set(of[0].splitlines()) for of in (tree, wanted)]
    assert tree == wanted, "the tree has %s and not %s" % (
        sorted(lines[0] - lines[1])[:10], sorted(lines[1] - lines[0])[:10])


class Folder:
    """A session over a folder, and a native folder like it."""

    def __init__(self, place, backend):
        self.place = place
        self.native = os.path.join(place.root, "native")
        make_repository(self.native + "/source.git", TRACKED)
        make_program(self.native + "/program")
        make_packages(self.native + "/packages.tar")
        os.rmdir(place.share)
        subprocess.run(["cp", "-a", self.native, place.share], check=True)
        if WHOLE:
            copy_project(place.share + "/project")
            make_libraries(place.share + "/libraries.tar")
        self.agent = Agent(place, STEPBACK_QEMU=None, XDG_CACHE_HOME=CACHE)
        vm = guest_start.plan(self.agent.env, IMAGE, backend, network=False,
                              alone=True, memory=2048 if WHOLE else 0,
                              cpus=2 if WHOLE else 0)
        answer = self.agent.start(vm=vm, backend=backend,
                                  network_policy="disabled")
        assert answer["status"] == "ok", answer
        guest_start.check(self.agent.process.pid, vm)
        self.before = []

    def ask(self, type, **payload):
        """However long it takes."""
        id = self.agent.send(type, **payload)
        while True:
            message = self.agent.next(3600)
            assert message, "the agent ended"
            if message["type"] == "response" and message["request_id"] == id:
                return message

    def run(self, command):
        since = len(self.agent.seen)
        start = time.monotonic()
        answer = self.ask("agent.execute", command=command)
        assert answer["status"] == "ok", answer
        text = "".join(m["payload"]["data"] for m in self.agent.seen[since:]
                       if m["type"] == "event.terminal_output")
        equal((answer["payload"]["exit_code"], text[:1000]), (0, ""))
        return time.monotonic() - start

    def compare(self, command):
        """Run it in both; the trees must be the same."""
        command = "set -eu; umask 022; exec >/dev/null\n" + command + TIMES
        self.before.append(snapshot(self.place.share))
        seconds = self.run(command)
        subprocess.run(["sh", "-c", command], check=True, cwd=self.native,
                       env=NATIVE)
        same(snapshot(self.place.share), snapshot(self.native))
        return seconds

    def build(self):
        """Objects have the folder's path in them: only the undo is compared."""
        self.before.append(snapshot(self.place.share))
        seconds = self.run("set -eu; umask 022\n" + BUILD)
        undone = self.undo()
        shutil.rmtree(self.place.share + "/project")
        os.unlink(self.place.share + "/libraries.tar")
        print("# undone in %.1f s" % undone)
        return seconds

    def undo(self):
        start = time.monotonic()
        answer = self.ask("undo.rollback")
        assert answer["status"] == "ok", answer
        same(snapshot(self.place.share), self.before.pop())
        return time.monotonic() - start

    def remove(self):
        self.before.append(snapshot(self.place.share))
        seconds = self.run("rm -rf *")
        equal(os.listdir(self.place.share), [])
        return seconds


def cases(folder):
    if WHOLE:
        yield "all of this project: configure, make -j2, undo", folder.build
    yield "clone, status, commit, checkout", lambda: folder.compare(CLONE)
    yield "make -j2", lambda: folder.compare(MAKE)
    yield "unpack %d files" % (PACKAGES * 20), lambda: folder.compare(UNPACK)
    yield "rm -rf *", folder.remove
    for name in ("rm -rf *", "unpack", "make", "clone"):
        yield "undo of " + name, folder.undo


def run_backend(backend, number):
    """The number of its last case, and how many failed."""
    place = Place()
    failed = 0
    folder = Folder(place, backend)
    for name, function in cases(folder):
        number += 1
        verdict = "ok"
        try:
            print("# %.1f s" % function())
        except Exception as error:
            verdict = "not ok"
            failed += 1
            print("# " + str(error)[:3000].replace("\n", "\n# "))
        print("%s %d - %s: %s" % (verdict, number, backend, name), flush=True)
    failed += folder.agent.close() != 0
    place.remove()
    return number, failed


def main():
    kernel = os.path.join(CACHE, "stepback/guest", IMAGE, "vmlinuz")
    if not (os.path.exists(kernel) and all(map(shutil.which, (
            "qemu-system-x86_64", "git", "make", "cc")))):
        print("1..0 # SKIP there is no QEMU, no guest image, or no git, "
              "make or cc")
        return
    number, failed = 0, 0
    for backend in BACKENDS:
        number, more = run_backend(backend, number)
        failed += more
    print("1..%d" % number)
    sys.exit(failed > 0)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vm-virtiofs - work in a folder that QEMU shares over virtio-fs, and undone.

Boots the debian guest image (STEPBACK_TEST_IMAGE names another) with a QEMU and
a daemon of our own: git and make work in the guest's folder, and the host's git
says the same of it; then the daemon is killed, another one takes its place, and
the machine is reset. STEPBACK_TEST_CACHE names another cache policy (lease), QEMU another
QEMU with its options, STEPBACK_TEST_KERNEL another kernel and its initrd (with a
comma between), STEPBACK_VM_FILES how many files are cloned, and words on the
command line some of the cases. TAP on standard output.
"""
import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BUILD = os.getcwd()
DAEMON = os.path.join(BUILD, "stepback-virtiofsd")
SNAPSHOT = os.path.join(BUILD, "tests/lib/tree-snapshot")
IMAGE = os.environ.get("STEPBACK_TEST_IMAGE", "debian")
QEMU = shlex.split(os.environ.get("QEMU", "qemu-system-x86_64"))
KERNEL = os.environ.get("STEPBACK_TEST_KERNEL")
CACHE = os.environ.get("STEPBACK_TEST_CACHE", "lease")  # stepback's, on TCG
TIMEOUT = 300
FILES = int(os.environ.get("STEPBACK_VM_FILES", "150"))
SOURCES = 12


# Two processes in the background, in names of a step.
RACE = """
mv a b; mv d e
exec </dev/null >/dev/null 2>&1
(cd e; while [ ! -e /tmp/stop ]; do echo new >>x; done; touch /tmp/half) &
(while [ ! -e /tmp/stop ]; do echo new >>b; done
while [ ! -e /tmp/half ]; do sleep 0.1; done; touch /tmp/ended) &
"""


class Failed(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failed(text)


def image_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "stepback", "guest", IMAGE)


def run(*words, cwd=None):
    return subprocess.run(words, cwd=cwd, check=True, stdout=subprocess.PIPE,
                          text=True).stdout


class Lines:
    """JSON Lines over a socket."""

    def __init__(self, sock):
        sock.settimeout(TIMEOUT)
        self.sock = sock
        self.file = sock.makefile("rb")
        self.last = 0

    def send(self, message):
        self.sock.sendall(json.dumps(message).encode() + b"\n")

    def until(self, wanted):
        """The first message that is wanted."""
        while True:
            line = self.file.readline()
            check(line, "the connection is closed")
            message = json.loads(line)
            if wanted(message):
                return message


class Daemon:
    """It ends with its front-end; a new one must be started."""

    def __init__(self, base, share):
        self.base, self.share = base, share
        self.socket = os.path.join(base, "fs.sock")
        self.control_socket = os.path.join(base, "control.sock")
        self.process = self.control = None

    def start(self):
        for path in (self.socket, self.control_socket):
            # One that was killed has them removed, in its own time.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        self.process = subprocess.Popen(
            [DAEMON, "--socket-path", self.socket, "--shared-dir", self.share,
             "--undo-dir", os.path.join(self.base, "undo"),
             "--interceptor-socket", self.control_socket, "--restartable",
             "--cache", CACHE, "--log-level", "warn"])
        end = time.monotonic() + 20
        while not os.path.exists(self.socket) or not self.connect():
            check(time.monotonic() < end and self.process.poll() is None,
                  "the daemon does not start")
            time.sleep(0.02)

    def connect(self):
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(self.control_socket)
        except OSError:
            sock.close()
            return False
        self.control = Lines(sock)
        self.request("status")  # it is ready then, and has recovered
        return True

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        """It ends when its front-end has gone, or else by force."""
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()

    def request(self, kind, **payload):
        self.control.last += 1
        name = str(self.control.last)
        self.control.send({"type": kind, "request_id": name,
                           "payload": payload})
        answer = self.control.until(lambda m: m.get("request_id") == name)
        check(answer["status"] == "ok", f"{kind}: {answer}")
        return answer["payload"]


class Machine:
    def __init__(self, base, daemon):
        ours, theirs = socket.socketpair()
        qmp_ours, qmp_theirs = socket.socketpair()
        image = image_folder()
        with open(os.path.join(image, "image.json"), encoding="utf-8") as file:
            append = json.load(file)["append"]
        kernel, initrd = KERNEL.split(",") if KERNEL else (
            os.path.join(image, "vmlinuz"), os.path.join(image, "initrd"))
        words = [
            *QEMU, "-machine", "q35,memory-backend=mem", "-object",
            "memory-backend-memfd,id=mem,size=1024M,share=on", "-m", "1024M",
            "-accel", "tcg", "-cpu", "max", "-nodefaults", "-no-user-config",
            "-display", "none", "-kernel", kernel, "-initrd", initrd,
            "-append", append,
            "-drive", "if=none,id=root,format=raw,read-only=on,file=" +
            os.path.join(image, "rootfs.ext4"),
            "-device", "virtio-blk-pci,drive=root,serial=stepback-root",
            "-chardev", f"socket,id=control,fd={theirs.fileno()}",
            "-device", "virtio-serial-pci",
            "-device", "virtserialport,chardev=control,name=control",
            "-chardev", f"socket,id=fs0,path={daemon.socket},reconnect=1",
            "-device", "pcie-root-port,id=port0", "-S",
            "-chardev", f"socket,id=qmp,fd={qmp_theirs.fileno()}",
            "-mon", "chardev=qmp,mode=control",
            "-serial", f"file:{base}/console"]
        self.qemu = subprocess.Popen(
            words, pass_fds=[theirs.fileno(), qmp_theirs.fileno()])
        theirs.close()
        qmp_theirs.close()
        self.guest = Lines(ours)
        self.qmp = Lines(qmp_ours)
        self.qmp.until(lambda m: "QMP" in m)
        self.tell("qmp_capabilities")
        self.plug()
        self.tell("cont")

    def plug(self):
        """The device wants a chardev that is connected, and one that connects
        again does that late."""
        end = time.monotonic() + 20
        while not all(chardev["filename"].startswith("unix:")
                      for chardev in self.tell("query-chardev")
                      if chardev["label"] == "fs0"):
            check(time.monotonic() < end, "QEMU does not connect")
            time.sleep(0.05)
        self.tell("device_add", **{
            "driver": "vhost-user-fs-pci", "bus": "port0", "chardev": "fs0",
            "tag": "fs0", "queue-size": 1024})

    def tell(self, command, **arguments):
        self.qmp.send({"execute": command, "arguments": arguments})
        answer = self.qmp.until(lambda m: "return" in m or "error" in m)
        check("return" in answer, f"{command}: {answer}")
        return answer["return"]

    def wait_boot(self):
        self.guest.until(lambda m: m["type"] == "hello")
        self.guest.send({"type": "mount", "tag": "fs0", "path": "/mnt/fs0",
                         "fstype": "virtiofs"})
        answer = self.guest.until(lambda m: m["type"] in ("mounted", "error"))
        check(answer.get("status") == "ok", f"not mounted: {answer}")

    def run(self, command):
        """What it prints."""
        self.guest.last += 1
        self.guest.send({"type": "exec", "id": self.guest.last,
                         "command": command, "cwd": "/mnt/fs0"})
        text = ""
        while True:
            message = self.guest.until(lambda m: True)
            if message["type"] == "output":
                text += message["data"]
            elif message["type"] == "step_completed":
                check(message.get("exit_code") == 0, f"{command}: {text}")
                return text

    def end(self):
        if self.qemu.poll() is None:
            self.qemu.kill()
        self.qemu.wait()


def snapshot(path):
    run("sync", "-f", path)
    return run(SNAPSHOT, path).splitlines()


def work_tree(path):
    """Names, types, modes and content of what is not git's own."""
    found = []
    for line in snapshot(path):
        fields = line.split(" ")
        if not line.startswith(".git") and fields[0] != ".":
            found.append([field for field in fields if "." not in field or
                          field == fields[0]])
    return found


def make_repository(path):
    os.mkdir(path)
    for i in range(FILES):
        folder = os.path.join(path, f"part{i % 11}", f"sub{i % 37}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"file{i}"), "w",
                  encoding="utf-8") as file:
            file.write(f"line of {i}\n" * (i % 50))
    os.chmod(os.path.join(path, "part0", "sub0", "file0"), 0o755)
    os.symlink("part0", os.path.join(path, "link"))
    run("git", "init", "-q", cwd=path)
    run("git", "add", ".", cwd=path)
    run("git", "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q",
        "-m", "first", cwd=path)


def make_project(path):
    os.mkdir(path)
    names = [f"part{i}" for i in range(SOURCES)]
    for i, name in enumerate(names):
        with open(os.path.join(path, name + ".c"), "w",
                  encoding="utf-8") as file:
            file.write('#include "all.h"\n'
                       f"int {name}(int n) {{ return n + {i}; }}\n")
    with open(os.path.join(path, "all.h"), "w", encoding="utf-8") as file:
        file.writelines(f"int {name}(int n);\n" for name in names)
    with open(os.path.join(path, "main.c"), "w", encoding="utf-8") as file:
        calls = "".join(f"    n = {name}(n);\n" for name in names)
        file.write('#include <stdio.h>\n#include "all.h"\n'
                   f'int main(void)\n{{\n    int n = 0;\n{calls}'
                   '    printf("%d\\n", n);\n    return 0;\n}\n')
    objects = " ".join(name + ".o" for name in ["main", *names])
    with open(os.path.join(path, "Makefile"), "w", encoding="utf-8") as file:
        file.write(f"sum: {objects}\n\tcc -o $@ {objects}\n"
                   f"{objects}: all.h\n")


class Test:
    def __init__(self, base):
        self.share = os.path.join(base, "share")
        os.mkdir(self.share)
        os.chmod(self.share, 0o755)
        make_repository(os.path.join(self.share, "origin"))
        make_project(os.path.join(self.share, "project"))
        self.base = base
        self.daemon = self.machine = None
        self.steps = 0

    def start(self):
        self.daemon = Daemon(self.base, self.share)
        self.daemon.start()
        self.machine = Machine(self.base, self.daemon)

    def end(self):
        if self.machine:
            self.machine.end()
        if self.daemon:
            self.daemon.end()

    def boot(self):
        self.machine.wait_boot()

    def undone(self, command, look):
        """Run, take a snapshot, undo, compare."""
        before = snapshot(self.share)
        self.steps += 1
        self.daemon.request("step.open", step_id=self.steps)
        output = self.machine.run(command)
        report = self.daemon.request("step.close", step_id=self.steps)
        check(report["undoable"], report)
        look(output)
        self.daemon.request("rollback", steps=1)
        after = snapshot(self.share)
        lines = sorted(set(before) ^ set(after))
        check(not lines, "the tree differs:\n" + "\n".join(lines[:20]))

    def clone(self):
        origin = os.path.join(self.share, "origin")
        clone = os.path.join(self.share, "clone")
        native = os.path.join(self.base, "native")

        def look(output):
            check(output == "", f"git status: {output}")
            run("git", "clone", "-q", origin, native)
            check(len(work_tree(clone)) > FILES, "files are missing")
            check(work_tree(clone) == work_tree(native),
                  "it is not what git makes on the host")
            check(run("git", "--no-optional-locks", "status", "--porcelain",
                      cwd=clone) == "",
                  "the host's git sees changes")
            run("git", "fsck", "--strict", cwd=clone)

        self.undone("git config --global --add safe.directory '*' && "
                    "git clone -q --no-hardlinks origin clone && "
                    "git -C clone status --porcelain", look)

    def build(self):
        project = os.path.join(self.share, "project")

        def look(output):
            # Where the guest's clock goes wrong, make warns, too.
            check(str(sum(range(SOURCES))) in output.split(), output)
            objects = [name for name in os.listdir(project)
                       if name.endswith(".o")]
            check(len(objects) == SOURCES + 1, objects)
            check(run(os.path.join(project, "sum")).strip() ==
                  str(sum(range(SOURCES))), "it does not run on the host")

        self.undone("cd project && make -s -j2 && ./sum", look)

    def again(self):
        """What is written just after an undo is in the folder, under its
        name."""
        self.steps += 1
        self.daemon.request("step.open", step_id=self.steps)
        self.machine.run("echo old >f; mkdir d; echo old >d/f; "
                         "mv project/all.h moved; mv project/main.c main.c; "
                         "cat f d/f moved main.c >/dev/null")
        self.daemon.request("step.close", step_id=self.steps)
        before = snapshot(os.path.join(self.share, "origin"))
        header = os.path.getsize(os.path.join(self.share, "moved"))
        self.daemon.request("rollback", steps=1)
        self.machine.run("echo new >f; echo new >>moved; "
                         "! echo new 2>/dev/null >d/f; ! test -e main.c")
        for name in ("f", "moved"):
            with open(os.path.join(self.share, name), encoding="utf-8") as file:
                check(file.read() == "new\n", f"{name} is not what was written")
        check(os.path.getsize(os.path.join(self.share, "project/all.h")) ==
              header, "another file was written to")
        check(before == snapshot(os.path.join(self.share, "origin")),
              "other files have changed")
        self.machine.run("rm f moved")

    def lines(self, name):
        with contextlib.suppress(FileNotFoundError):
            with open(os.path.join(self.share, name), encoding="utf-8") as file:
                return file.readlines()
        return []

    def race(self):
        """While a process writes by a name that is undone, and another has its
        working directory in a folder that is: at most the write under way goes
        to the file that had the name, all others to a new file."""
        self.machine.run("mkdir d; echo old >a; echo old >d/f")
        self.steps += 1
        self.daemon.request("step.open", step_id=self.steps)
        self.machine.run(RACE)
        end = time.monotonic() + 20
        while len(self.lines("b")) < 9 or len(self.lines("e/x")) < 9:
            check(time.monotonic() < end, "the processes do not write")
            time.sleep(0.02)
        self.daemon.request("step.close", step_id=self.steps, quiet_ms=0)
        self.daemon.request("rollback", down_to=self.steps)
        before = self.lines("a")
        check(before in (["old\n"], ["old\n", "new\n"]), f"a has {before}")
        end = time.monotonic() + 20
        while len(self.lines("b")) < 30 or len(self.lines("d/x")) < 30:
            check(time.monotonic() < end, "the processes do not go on: "
                  f"{len(self.lines('b'))}, {len(self.lines('d/x'))} lines")
            time.sleep(0.02)
        found = self.machine.run("touch /tmp/stop; test ! -e e; cat a d/f; "
                                 "while [ ! -e /tmp/ended ]; do sleep 0.1; done")
        check(found.splitlines() == [line.strip() for line in before] + ["old"],
              f"the guest finds {found}")
        check(self.lines("a") == before, "the undone file was written to")
        self.machine.run("rm -r a b d")

    def restart(self):
        """The daemon dies in a step; another one serves the machine when it is
        reset, and has undone the step."""
        before = snapshot(self.share)
        self.daemon.request("step.open", step_id=100)
        self.machine.run("rm -r origin/part1; echo new >project/new")
        check(snapshot(self.share) != before, "nothing was changed")
        self.daemon.kill()
        self.daemon.start()
        lines = sorted(set(before) ^ set(snapshot(self.share)))
        check(not lines, "not recovered:\n" + "\n".join(lines[:20]))
        self.machine.tell("system_reset")
        self.machine.wait_boot()
        self.steps = 101
        check(self.machine.run("cat project/all.h | wc -l").strip() ==
              str(SOURCES), "it does not read what is there")

        def look(output):
            with open(os.path.join(self.share, "project", "more"),
                      encoding="utf-8") as file:
                check(file.read() == "after\n", "it did not write")

        self.undone("echo after >project/more; rm -r origin/part2", look)


def main():
    if not shutil.which(QEMU[0]) or not os.path.exists(
            os.path.join(image_folder(), "rootfs.ext4")):
        print("1..0 # SKIP needs QEMU and the guest image 'debian' "
              "(stepback image build)")
        return 0
    base = tempfile.mkdtemp(prefix="vm-virtiofs-")
    test, failed = None, 0
    cases = ["boot"] + (sys.argv[1:] or ["clone", "build", "again", "race", "restart"])
    print(f"1..{len(cases)}")
    try:
        test = Test(base)
        test.start()
        for number, name in enumerate(cases, 1):
            start = time.monotonic()
            try:
                getattr(test, name)()
                print(f"ok {number} - {name}")
            except (Failed, OSError, subprocess.CalledProcessError) as error:
                failed += 1
                for line in str(error).splitlines():
                    print(f"# {line}")
                print(f"not ok {number} - {name}")
            print(f"# {time.monotonic() - start:.1f} s", flush=True)
    finally:
        if test:
            test.end()
        shutil.rmtree(base, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

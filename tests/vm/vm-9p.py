#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vm-9p - folders of a real VM over 9P, through virtio-serial ports.

Starts the minimal guest image with two folders, one of them read-only.
What a workload leaves there must be what it leaves in a native folder, by
tests/lib/tree-snapshot; it is undone; then the pumps in the guest and the daemon
are killed. TAP on standard output.
"""
import importlib.machinery
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
os.environ.setdefault("STEPBACK_TEST_IMAGE", "minimal")
loader = importlib.machinery.SourceFileLoader(
    "vm_roundtrip", os.path.join(HERE, "vm-roundtrip.py"))
vm = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("vm_roundtrip", loader))
loader.exec_module(vm)
check = vm.check

# For busybox and for the host's tools alike. Nothing is cached, and TCG takes half
# a second for each file that tar packs and unpacks.
WORKLOAD = r"""
set -eu
umask 022
mkdir -p w/a/b/c w/many
cd w
echo one >a/one; echo two >a/two; cat a/one a/two >a/b/both
i=0; while [ $i -lt 30 ]; do echo $i >many/f$i; i=$((i + 1)); done
[ "$(ls many | wc -l)" -eq 30 ]
rm many/f?0 many/f1[1-9]
for f in many/f2*; do mv "$f" "$f.moved"; done
mv a/b d; mv d a/e; mv a/two a/one
ln a/one hard; ln -s a/one soft; ln -s /nowhere/x dangling
[ "$(readlink soft)" = a/one ] && cat soft >copied
for mode in 0600 0755 4755 2755 1777 0000; do echo x >m$mode; chmod $mode m$mode; done
mkdir -m 2775 shared; echo x >shared/file
yes 0123456789 | head -c 400000 >big
[ "$(wc -c <big)" -eq 400000 ]
md5sum <big >sum; cp big big2; cmp big big2
dd if=/dev/zero of=big2 bs=1000 seek=200 count=20 conv=notrunc 2>/dev/null
truncate -s 300000 big2; truncate -s 10000000 sparse
echo tail >>sparse; : >emptied; echo a >>emptied
exec 3<>gone; rm gone; echo x >&3; exec 3>&-
mkfifo fifo; (echo through >fifo) & cat fifo >from-fifo; wait
printf x >"$(printf 'odd \377 \n name')"
tar cf all.tar a many; mkdir out; tar xf all.tar -C out; rm all.tar
cp -a a again; rm -r out/many; rmdir a/e/c
mkdir full; echo x >full/x; ! rmdir full 2>/dev/null; ! mkdir full 2>/dev/null
! cat nothing 2>/dev/null; ! echo x 2>/dev/null >a/one/x
"""
# Only root's daemon may give files away.
AS_ROOT = r"""
mknod node c 1 3; mkdir -m 777 theirs; echo secret >secret; chmod 600 secret
chown 1000:1001 copied
"""
TIMES = "find . -exec touch -h -d '2024-01-02 03:04:05' {} +\n"


class P9(vm.Roundtrip):
    def __init__(self, base):
        super().__init__(base)
        self.library = os.path.join(base, "library")
        os.mkdir(self.library)
        with open(os.path.join(self.library, "book"), "w") as out:
            out.write("text")
        # Fewer than vm-roundtrip's: all are looked at again and again.
        for part in range(1, 7):
            shutil.rmtree(os.path.join(self.share, f"part{part}"))
        for sub in range(8, 23):
            shutil.rmtree(os.path.join(self.share, "part0", f"sub{sub}"))

    def session(self):
        session = super().session()
        session["backend"] = "9p"
        session["network_policy"] = "open"
        session["working_directories"].append(
            {"path": self.library, "label": "library", "access": "read_only"})
        return session

    def start(self):
        super().start()
        status = self.agent.request("session.status")
        check(status["backend"] == "9p", status)
        self.guest = [folder["guest_path"]
                      for folder in status["working_directories"]]
        result, _ = self.execute("ip route | grep '^default via'")
        check(result["exit_code"] == 0, "no network for the first command")
        result, _ = self.execute("grep -c ' 9p ' /proc/mounts")
        check(result["exit_code"] == 0, "not mounted")

    def say(self, command):
        """What a command prints."""
        since = len(self.agent.events)
        result, _ = self.execute(command)
        check(result["exit_code"] == 0, f"exit code {result['exit_code']}")
        return "".join(
            event["payload"]["data"] for event in self.agent.events[since:]
            if event["type"] == "event.terminal_output")

    def workload(self):
        text = WORKLOAD + (AS_ROOT if os.geteuid() == 0 else "") + TIMES
        native = tempfile.mkdtemp(prefix="native-",
                                  dir=os.path.dirname(self.share))
        subprocess.run(["sh", "-c", text], cwd=native, check=True)
        wanted = vm.snapshot(os.path.join(native, "w"))

        def inspect():
            lines = vm.difference(
                wanted, vm.snapshot(os.path.join(self.share, "w")))
            check(not lines, "not as on a native folder:\n" + "\n".join(lines))

        self.undo_of(text, lambda step: None, inspect=inspect)()

    def users(self):
        """What a user makes is that user's, and others' files are closed."""
        self.execute("mkdir -m 777 box; echo secret >closed; chmod 600 closed")
        text = self.say(
            "echo 'user:x:1000:1001::/tmp:/bin/sh' >>/etc/passwd; "
            "su user -c 'touch box/mine; cat closed || echo refused; "
            "chown 5 box/mine || echo refused' 2>/dev/null")
        check(text == "refused\nrefused\n", repr(text))
        st = os.lstat(os.path.join(self.share, "box", "mine"))
        check((st.st_uid, st.st_gid) == (1000, 1001),
              f"owner {st.st_uid}:{st.st_gid}")
        self.agent.request("undo.rollback", {"steps": 2})

    def edits(self):
        """The host's: the guest sees them, also through what it has open; they
        stop an undo, and a forced one restores the tree from before."""
        before = vm.snapshot(self.share)
        # Programs are mapped, which is the one cache that there is.
        text = self.say("cp /bin/busybox .; ./busybox cat a")
        check(text == "content of a\n", repr(text))
        since = len(self.agent.events)
        text = self.say(
            "rm -f /tmp/go /tmp/seen; (exec 3<a; "
            "for i in $(seq 100); do [ -e /tmp/go ] && break; sleep 0.1; done; "
            "cat <&3 >/tmp/part; mv /tmp/part /tmp/seen) >/dev/null 2>&1 & "
            "echo 'by the guest' >a; mv b moved; rm text.txt; "
            "echo '#!/bin/cat' >busybox; ./busybox; cat a")
        check(text == "#!/bin/cat\nby the guest\n", repr(text))
        for name in ("a", "new"):
            with open(os.path.join(self.share, name), "w") as out:
                out.write("by the host!\n")
            event = self.agent.wait_event(
                "event.external_modification",
                lambda payload, name=name: name in payload["paths"],
                since=since)
            check(event["pid"] in (os.getpid(), 0), event)
        text = self.say("cat a new; ls | grep -c new")
        check(text == "by the host!\n" * 2 + "1\n", repr(text))
        error = self.agent.refused("undo.rollback", {"steps": 1})
        check(error["code"] == "undo_barrier", error)
        barriers = error["data"]["barriers"]
        # The step has nothing to do with "new".
        check({path for barrier in barriers for path in barrier["paths"]} ==
              {"a"}, error)
        check("from outside since: a" in error["message"], error)
        if os.geteuid() == 0:
            check(all(barrier["pid"] == os.getpid() and
                      barrier["process"].startswith("python") and
                      f"(process {os.getpid()})" in error["message"]
                      for barrier in barriers), error)
        self.agent.request("undo.rollback", {"steps": 1, "force": True})
        text = self.say("cat a; ./busybox cat a; cat b; cat new; wc -l <text.txt; "
                        "ls moved 2>/dev/null || touch /tmp/go")
        check(text == "content of a\n" * 2 + "content of b\nby the host!\n"
              "1000\n", repr(text))
        text = self.say("for i in $(seq 50); do [ -e /tmp/seen ] && break; "
                        "sleep 0.1; done; cat /tmp/seen")
        check(text == "content of a\n", repr(text))
        os.unlink(os.path.join(self.share, "new"))
        self.agent.request("undo.rollback", {"steps": 1, "force": True})
        lines = vm.difference(before, vm.snapshot(self.share))
        check(not lines, "the tree differs:\n" + "\n".join(lines))
        check(self.say("ls busybox 2>/dev/null || echo gone") == "gone\n",
              "the guest still sees it")

    def cut_off(self):
        """A file gets shorter while it is open: a reader continues, also
        where the kernel (netfs of 6.8 and later) reads what is no more."""
        self.say("seq 9999 >long; (exec 3<long; sleep 20) >/dev/null 2>&1 & "
                 "wc -c <long")
        with open(os.path.join(self.share, "long"), "w") as out:
            out.write("short")
        start = time.monotonic()
        text = self.say("dd if=long bs=64k 2>&1 | cat; echo; wc -c <long; "
                        "rm long")
        check(time.monotonic() - start < 10, "it took long")
        check("short" in text or "Stale" in text, repr(text))
        check(text.endswith("\n5\n"), repr(text))
        print(f"# {text!r}")
        self.agent.request("undo.rollback", {"steps": 2, "force": True})

    def read_only(self):
        guest = self.guest[1]
        before = vm.snapshot(self.library)
        text = self.say(f"cat {guest}/book; echo x 2>/dev/null >{guest}/new || "
                        "echo ' refused'")
        check(text == "text refused\n", repr(text))
        # The guest's root can say what it likes.
        text = self.say(f"mount -o remount,rw {guest} && "
                        f"{{ echo x >{guest}/new || rm {guest}/book || "
                        "echo refused; } 2>/dev/null")
        check(text == "refused\n", repr(text))
        check(vm.snapshot(self.library) == before, "it was changed")

    def wait_for_mount(self):
        """After a loss: both folders are there again."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            result, _ = self.execute(
                f"cd / && test -e {self.guest[0]}/a -a -e {self.guest[1]}/book")
            if result["exit_code"] == 0:
                return
            time.sleep(0.2)
        raise vm.Failed("it was not mounted again")

    def kill_pumps(self):
        """In the middle of writing: no junk, an error, and a new mount."""
        before = vm.snapshot(self.share)
        steps = len(self.agent.request("undo.history")["steps"])
        for delay in ("0.2", "0.35"):
            since = len(self.agent.events)
            start = time.monotonic()
            result, _ = self.execute(
                f"(sleep {delay}; killall -9 stepback-9p) & "
                "yes | dd of=torn bs=64k count=3000")
            check(result["exit_code"] != 0, "the command noticed nothing")
            check(time.monotonic() - start < 30, "the command hung")
            for label in ("project", "library"):
                self.agent.wait_event(
                    "event.warning", lambda payload, label=label:
                    payload.get("code") == "share_lost" and
                    f"/{label} " in payload["message"], since=since)
            self.wait_for_mount()
            with open(os.path.join(self.share, "torn"), "rb") as torn:
                data = torn.read()
            check(data == (b"y\n" * (len(data) // 2 + 1))[:len(data)],
                  "something else is in the file")
            print(f"# {len(data)} bytes were written")
        text = self.say(f"cat {self.guest[1]}/book")
        check(text == "text", repr(text))
        done = len(self.agent.request("undo.history")["steps"]) - steps
        self.agent.request("undo.rollback", {"steps": done})
        lines = vm.difference(before, vm.snapshot(self.share))
        check(not lines, "the tree differs:\n" + "\n".join(lines))

    def daemon_pid(self):
        """The share's daemon; what it has started looks alike."""
        agent = self.agent.process.pid
        with open(f"/proc/{agent}/task/{agent}/children") as children:
            pids = children.read().split()
        for pid in pids:
            with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
                words = cmdline.read().split(b"\0")
            if words[0].endswith(b"/stepback-9pd") and \
                    os.fsencode(self.share) in words:
                return int(pid)
        raise vm.Failed("no daemon")

    def kill_daemon(self):
        """Under a command: a clear error, and the next start recovers."""
        self.before = vm.snapshot(self.share)
        agent = self.agent
        since = len(agent.events)
        agent.send("agent.execute", {
            "command": "rm -r part0; echo x >>a; echo ready; sleep 300"})
        agent.wait_event("event.terminal_output",
                         lambda payload: "ready" in payload["data"],
                         since=since)
        os.kill(self.daemon_pid(), signal.SIGKILL)
        error = agent.wait_event("event.error", timeout=10, since=since)
        check(error["number"] == 2007, error)
        check("daemon" in error["message"], error)
        status = agent.request("session.status")
        check(status["state"] == "error", status)
        agent.request("session.stop")
        self.starting = agent.send("session.start", self.session())
        event = agent.wait_event("event.recovery", timeout=60)
        check(event["step_id"] > 0, event)
        lines = vm.difference(self.before, vm.snapshot(self.share))
        check(not lines, "the tree differs:\n" + "\n".join(lines))

    def run(self, tests):
        tests.run("session.start over 9P", self.start)
        if tests.failed:
            return
        tests.run("a workload, as on a native folder, and undone",
                  self.workload)
        tests.run("rm -rf *", self.undo_of("rm -rf *", lambda step: None))
        if os.geteuid() == 0:
            tests.run("the guest's users", self.users)
        tests.run("EB-02, EB-04/the host's edits", self.edits)
        tests.run("a file that is cut off", self.cut_off)
        tests.run("a read-only folder", self.read_only)
        tests.run("killed pumps", self.kill_pumps)
        tests.run("a killed daemon", self.kill_daemon)
        tests.run("a guest that reboots", self.reboot)
        tests.run("nothing is left behind", self.stop)


def main():
    if not shutil.which("qemu-system-x86_64") or not vm.image_exists():
        print(f"1..0 # SKIP needs QEMU and the guest image '{vm.IMAGE}' "
              "(stepback image build)")
        return 0
    return vm.run_all(P9)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""posix-compare - the rules of POSIX and Linux, on a folder and on its mount.

Each case runs twice, in a fresh folder on the host and in one that the daemon
serves, as root and as an ordinary user; what each call answers, and what is
there afterwards, must be the same. Nothing here says what is right: the host's
file system does. TAP on standard output. Skipped where nothing can be mounted,
and without root.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from posix_cases import CASES  # noqa: E402
from posix_probe import LIBC, Probe, USER  # noqa: E402

DAEMON = os.path.join(os.getcwd(), "stepback-virtiofsd")
TIMEOUT = 20
ROOT = (0, 0, [0, 2002])

# The negotiation determines which side clears such bits.
CLEARED = ("suid and sgid are cleared", "capabilities are cleared")

# Of the daemon: more arguments, whether it has a log, and which cases (None:
# all).
VARIANTS = [
    # As in local isolation, but with trusted.* attributes for root.
    (["--modcaps=+sys_admin", "--mount-fd"], True, None),
    (["--cache=never"], False, None),
    (["--writeback"], False, CLEARED),
    (["-o", "no_killpriv_v2"], True, CLEARED),
    (["--cache=never",
      "--xattrmap=:map:security.capability:user.guest.:"], True, CLEARED),
]


# ---- running them --------------------------------------------------------------

def become(user):
    uid, gid, others = user
    os.setgroups(others)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def run(case, base, user):
    """What the case sees there: a list, or what went wrong."""
    _, act, before = case
    os.mkdir(base)
    os.chmod(base, 0o755)
    os.chown(base, user[0], user[1])
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        probe = Probe()
        try:
            signal.alarm(60)
            os.umask(0)
            os.chdir(base)
            if before:
                before()
            become(user)
            act(probe)
        except BaseException as e:   # whatever it is, the other side tells
            probe.note("stopped", f"{type(e).__name__}: {e}")
        with os.fdopen(write_end, "w") as f:
            json.dump(probe.seen, f)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else [["died", None]]


def differences(folder, mount):
    found = [f"{a[0]}: {a[1]} on the folder, {b[0]}: {b[1]} on the mount"
             for a, b in zip(folder, mount) if a != b]
    if len(folder) != len(mount):
        found.append(f"{len(folder)} and {len(mount)} results")
    return found + [f"{a[0]}: {a[1]}" for a in folder
                    if a[0] in ("stopped", "died")]


class Daemon:
    has_served = False

    def __init__(self, base, *arguments):
        self.share = os.path.join(base, "share")
        self.mount = os.path.join(base, "mnt")
        for path in (self.share, self.mount):
            os.mkdir(path, 0o755)
        device = self.mount_device() if arguments[-1:] == ("--mount-fd",) else None
        place = ["--mount", self.mount] if device is None else [str(device)]
        self.process = subprocess.Popen(
            [DAEMON, "--shared-dir", self.share, "--allow-suid", "--allow-devices",
             *arguments, *place], stderr=subprocess.DEVNULL,
            pass_fds=() if device is None else (device,))
        self.by_fd = device is not None
        if self.by_fd:
            os.close(device)
        deadline = time.monotonic() + TIMEOUT
        while not os.path.ismount(self.mount):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                if Daemon.has_served:
                    sys.exit(f"the daemon does not mount with {arguments}")
                print("1..0 # SKIP the daemon cannot mount here")
                sys.exit(0)
            time.sleep(0.02)
        Daemon.has_served = True

    def mount_device(self):
        """Mount as stepback-local does. Return the device, or None: not possible."""
        try:
            device = os.open("/dev/fuse", os.O_RDWR)
        except OSError:
            return None
        options = (f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other,"
                   "default_permissions,subtype=stepback")
        if LIBC.mount(b"stepback", self.mount.encode(), b"fuse", 0,
                      options.encode()) == 0:
            return device
        os.close(device)
        return None

    def stop(self):
        if self.by_fd:
            LIBC.umount2(self.mount.encode(), 0)
        self.process.terminate()
        self.process.wait(TIMEOUT)


def run_variant(arguments, with_log, jobs, first):
    """How many of the jobs (a case and a user) failed; first: its number."""
    base = tempfile.mkdtemp(prefix="stepback-test-")
    os.chmod(base, 0o755)
    log = ["--undo-dir", os.path.join(base, "log")] if with_log else []
    daemon = Daemon(base, *log, *arguments)
    plain = os.path.join(base, "plain")
    os.mkdir(plain, 0o755)
    failed = 0
    for number, (case, user) in enumerate(jobs, first):
        who = "root" if user is ROOT else "a user"
        name = " ".join([f"{case[0]}, as {who}", *arguments])
        found = differences(*(run(case, os.path.join(top, str(number)), user)
                              for top in (plain, daemon.mount)))
        for line in found[:20]:
            print(f"# {line}".encode("ascii", "backslashreplace").decode())
        failed += bool(found)
        print(f"{'not ok' if found else 'ok'} {number} - {name}", flush=True)
    daemon.stop()
    shutil.rmtree(base)
    return failed


def main():
    wanted = sys.argv[1:]
    if os.geteuid() != 0:
        print("1..0 # SKIP only root can act as others")
        return 0
    failed, number = 0, 1
    for arguments, with_log, names in VARIANTS:
        jobs = [(case, user) for case in CASES for user in (ROOT, USER)
                if (not wanted or case[0] in wanted) and
                (names is None or case[0] in names)]
        if jobs:
            failed += run_variant(arguments, with_log, jobs, number)
        number += len(jobs)
    print(f"1..{number - 1}")
    return 1 if failed else 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A local sandbox ends when bubblewrap or the supervisor does, whatever its commands
do to its first process: they cannot trace it; and one that has lost its parent-death
signal or its control channel all the same is killed by the supervisor."""
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_case import (FIRST_ID, NAME, give, left_of, need, run,  # noqa: E402
                        user_files)
from sandbox_case import sandbox_test  # noqa: E402
from stdio_client import (Agent, Skip, contains, descendants,  # noqa: E402
                          equal, eventually, main, ok, words_of)
from tracer import CLOSE, PRCTL, Tracee  # noqa: E402

PR_SET_PDEATHSIG = 1

# No cgroup ends what is left.
WITHOUT_CGROUPS = ("unshare", "-m", "sh", "-c",
                   'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh")

# Also with the user, the group and the capabilities of the first process.
TRACE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def tries():
    if libc.ptrace(16, 1, 0, 0) == 0:  # PTRACE_ATTACH
        print("attached", os.getresuid(), flush=True)
        os.waitpid(1, 0x40000000)
        libc.ptrace(17, 1, 0, 0)
    if libc.syscall(438, libc.syscall(434, 1, 0), 0, 0) >= 0:  # pidfd_getfd
        print("took an fd", flush=True)
    for name in ("mem", "fd/0", "environ"):
        try:
            open("/proc/1/" + name, "rb").close()
            print("opened", name, flush=True)
        except OSError:
            pass
tries()
owner = os.stat("/proc/1")
if owner.st_uid != os.getuid() and os.fork() == 0:
    libc.prctl(8, 1)  # PR_SET_KEEPCAPS
    os.setresgid(*[owner.st_gid] * 3)
    os.setresuid(*[owner.st_uid] * 3)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    libc.capget(header, data)
    data[0], data[3] = data[1], data[4]  # effective: what is permitted
    libc.capset(header, data)
    tries()
    os._exit(0)
try:
    os.wait()
except ChildProcessError:
    pass
print("tried")
"""


def check_tracing(place, options=("--no-network",), **more):
    need()
    status, out, err = run(place, "python3", "-c", TRACE, options=options, **more)
    equal((status, out, err if status else ""), (0, "tried\n", ""))


@sandbox_test
def commands_of_root_cannot_trace_the_first_process(place):
    """no command of root's sandbox can trace the first process"""
    check_tracing(place)


@sandbox_test
def commands_of_a_user_cannot_trace_the_first_process(place):
    """nor one of an ordinary user's sandbox with one id"""
    give(place)
    check_tracing(place, user=True)


@sandbox_test
def commands_of_inner_root_cannot_trace_the_first_process(place):
    """nor root of a sandbox with subordinate ids, with the ids of that process"""
    if not os.path.exists("/usr/bin/newuidmap") or not os.path.exists("/etc/subuid"):
        raise Skip("uidmap is not installed")
    give(place)
    line = "%s:%d:65536\n" % (NAME, FIRST_ID)
    check_tracing(place, ("--no-network", "--user=root"), user=True,
                  files=user_files(place, line, line))


@sandbox_test
def commands_can_be_traced(place):
    """a command can trace its own children, which can read their own /proc"""
    need()
    status, out, _ = run(place, "sh", "-c",
                         "cat /proc/self/oom_score_adj; ls /proc/self/fd | wc -l; "
                         "stat -c %U /proc/self/mem; id -un")
    equal(status, 0)
    score, _, owner, me = out.split()
    equal((int(score) >= 300, owner), (True, me))


def family_of(agent):
    """bubblewrap and the words of the first process, by their pids."""
    found = {}
    for pid in descendants(agent.process.pid):
        words = words_of(pid).decode().split("\0")
        name = os.path.basename(words[0])
        if name == "bwrap":
            found["bwrap"] = pid
        elif "--no-init" in words:
            found["first"] = pid
            found["port"] = int([w for w in words if w.startswith("--port=")][0][7:])
    return found


def check_end(place, end, message):
    """The first process, which its parent's death does not kill, is killed after an
    end, and the loss is reported."""
    need()
    agent = Agent(place, wrapper=WITHOUT_CGROUPS, STEPBACK_QEMU=None)
    ok(agent.ask("session.start", isolation="local", network_policy="disabled",
                 working_directories=[{"path": place.share}]))
    family = family_of(agent)
    # Which no command can read, either.
    with open("/proc/%d/environ" % family["first"]) as file:
        equal({word.split("=")[0] for word in file.read().split("\0")} - {"", "PWD"},
              set())
    tracee = Tracee(family["first"])
    equal(tracee.call(PRCTL, PR_SET_PDEATHSIG, 0), 0)
    end(tracee, family)
    contains(agent.event("event.error")["message"], message)
    assert eventually(tracee.has_ended, 20)
    equal(agent.close(), 0)
    assert eventually(lambda: not left_of(place), 20), left_of(place)


@sandbox_test
def the_supervisor_kills_the_first_process(place):
    """the supervisor kills the first process when bubblewrap has ended"""
    check_end(place, lambda tracee, family: os.kill(family["bwrap"], signal.SIGKILL),
              "the sandbox has ended: bubblewrap was killed by signal 9")


@sandbox_test
def a_closed_channel_is_a_loss(place):
    """a first process that closes the control channel and stays is killed"""
    check_end(place,
              lambda tracee, family: equal(tracee.call(CLOSE, family["port"]), 0),
              "the guest has closed the control channel")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The file servers' command lines, and what they say: as those who know other
virtio-fs daemons meet them. No VM, and no mount but where it says so."""
import atexit
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import without_script  # noqa: E402
from daemon_case import VIRTIOFSD, Server, connect, says  # noqa: E402
from stdio_client import BUILDDIR, Skip, contains, equal, eventually, main, test  # noqa: E402


@test
def socket_in_use(place):
    """a second daemon on a socket is refused, and the first one serves on"""
    for program in (VIRTIOFSD, "stepback-9pd"):
        server = Server(place, program=program)
        status, line = says("--shared-dir=" + place.share,
                            "--socket-path=" + server.path, program=program)
        equal(status, 1)
        contains(line, "another process listens on socket")
        connect(server.path).close()  # it still listens
        if program == VIRTIOFSD:  # which serves one
            equal(server.process.wait(20), 0)
        equal(server.end(), 0)
        # What is in the namespaces may end a little later.
        eventually(lambda: not os.path.exists(server.path), 10)
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(server.path)
        server = Server(place, program=program)
        connect(server.path).close()
        equal(server.end(), 0)


@test
def front_end(place):
    """the log says when the front-end comes and goes"""
    server = Server(place)
    front = connect(server.path)
    eventually(lambda: "front-end" in server.said(), 10)
    contains(server.said(), "front-end connected")
    front.close()
    equal(server.process.wait(20), 0)
    contains(server.said(), "front-end closed the connection")


@test
def memory_not_shared(place):
    """unshared guest memory is refused with the needed option"""
    server = Server(place)
    front = connect(server.path)
    for request, payload in ((8, struct.pack("<II", 0, 128)),  # SET_VRING_NUM
                             (9, struct.pack("<IIQQQQ", 0, 0, 4096, 12288,
                                             8192, 0))):  # SET_VRING_ADDR
        front.sendall(struct.pack("<III", request, 1, len(payload)) + payload)
    eventually(lambda: "share=on" in server.said(), 10)
    contains(server.said(), "a memory backend with share=on")
    front.close()
    equal(server.process.wait(20), 0)


@test
def empty_names(place):
    """an option that wants a name is refused without one"""
    share, sock = "--shared-dir=" + place.share, "--socket-path=/nowhere/s"
    for words, option in (((share, "--socket-path="), "--socket-path"),
                          (("--shared-dir=", sock), "--shared-dir"),
                          (("-o", "source=", sock), "--shared-dir"),
                          ((share, sock, "--undo-dir="), "--undo-dir"),
                          ((share, sock, "--interceptor-socket="),
                           "--interceptor-socket")):
        status, line = says(*words)
        equal((words, status), (words, 2))
        contains(line, option + " requires the name of a ")


@test
def flags_with_values(place):
    """an option that takes no value is refused with one"""
    base = ("--shared-dir=" + place.share, "--socket-path=/nowhere/s")
    for program, words in ((VIRTIOFSD, ("--readonly=false",)),
                           (VIRTIOFSD, ("--posix-lock=yes",)),
                           (VIRTIOFSD, ("--writeback=", "--xattr")),
                           (VIRTIOFSD, ("--fd", "3", "--syslog=no")),
                           ("stepback-9pd", ("-d", "--readonly=0"))):
        status, line = says(*base, *words, program=program)
        equal((words, status), (words, 2))
        contains(line, ": takes no value; omit the option")
    # What is another option's value is no option, nor is what comes after "--".
    for words in (("--cache", "--readonly=no"), ("--", "--readonly=no")):
        status, line = says(*base, *words)
        equal((words, status), (words, 2))
        equal((words, "takes no value" in line), (words, False))


@test
def socket_places(place):
    """sockets are not within the guest's reach, and not the same one"""
    inside = place.share + "/sub/s"
    os.mkdir(place.share + "/sub")
    for program in (VIRTIOFSD, "stepback-9pd"):
        for words in (("--socket-path=" + inside,),
                      ("--socket-path=" + place.root + "/s",
                       "--interceptor-socket=" + inside)):
            status, line = says("--shared-dir=" + place.share, *words,
                                program=program)
            equal((words, status), (words, 1))
            contains(line, "socket must lie outside the shared folder")
            equal(os.listdir(place.share + "/sub"), [])
        status, line = says("--shared-dir=" + place.share,
                            "--socket-path=" + place.root + "/s",
                            "--interceptor-socket=" + place.root + "/s",
                            program=program)
        equal(status, 2)
        contains(line, "use two sockets")
        status, line = says("--shared-dir=" + place.share,
                            "--socket-path=" + place.root + "/s",
                            "--interceptor-fd=0", program=program,
                            stdin=subprocess.DEVNULL)
        equal(status, 2)
        contains(line, "--interceptor-fd=0: not a connected stream socket")
    os.rmdir(place.share + "/sub")


@test
def closed_folder(place):
    """a folder that the daemon may not search is not served"""
    if os.geteuid() != 0:
        raise Skip("only root has such a folder")
    os.chmod(place.share, 0o700)
    os.chmod(place.root, 0o777)
    status, line = says("--shared-dir=" + place.share,
                        "--socket-path=" + place.root + "/s", user=65534)
    equal(status, 1)
    contains(line, "cannot serve this folder: Permission denied")


@test
def other_daemons(place):
    """what only other daemons have is refused with the reason"""
    base = ("--shared-dir=" + place.share, "--socket-path=/nowhere/s")
    for word, part in (("--daemonize", "supervisor"), ("--tag=x", "QEMU"),
                       ("--allow-direct-io", "O_DIRECT"),
                       ("--migration-mode=find-paths", "host"),
                       ("--migration-on-error=abort", "host"),
                       ("--migration-verify-handles", "host"),
                       ("--migration-confirm-paths", "host"),
                       ("-ono_xattr", "attributes"),
                       ("-oallow_direct_io", "O_DIRECT"),
                       ("-omax_idle_threads=3", "--thread-pool-size")):
        status, line = says(*base, word)
        equal((word, status), (word, 2))
        contains(line, ": not supported; ")
        contains(line, part)
    status, line = says(*base, "--tag", "x")
    equal(status, 2)
    contains(line, "--tag: not supported; ")
    status, line = says(*base, "--nonsense")
    contains(line, "--help")


@test
def taken_words(place):
    """options and values of other daemons that mean something here are taken"""
    base = "--socket-path=/nowhere/s"
    for words in (("--no-announce-submounts",),
                  ("--announce-submounts", "--no-announce-submounts"),
                  ("--log-level=off",), ("-ologlevel=err",),
                  ("--inode-file-handles=fallback",),
                  ("-o", ",cache=none,xattr,"), ("-ocache=none",)):
        status, line = says("--shared-dir=" + place.share, base, *words)
        equal((words, status), (words, 1))  # and not 2
        contains(line, "cannot listen on socket")
    status, line = says("--shared-dir=" + place.share, "--socket=/nowhere/s")
    contains(line, "cannot listen on socket /nowhere/s")


@test
def limits_without_log(place):
    """limits of an undo log that is not there are refused"""
    base = ("--shared-dir=" + place.share, "--socket-path=/nowhere/s")
    for program in (VIRTIOFSD, "stepback-9pd"):
        for word in ("--undo-max-steps=3", "--undo-max-log-size=1G",
                     "--undo-max-step-size=1M", "--durability=power",
                     "--external-modification-policy=warn"):
            status, line = says(*base, word, program=program)
            equal((word, status), (word, 2))
            contains(line, "--undo-dir")
    server = Server(place, "--interceptor-socket=%s/control" % place.root)
    contains(server.said(), "without --undo-dir: nothing can be undone")
    server.end()
    server = Server(place, "--interceptor-socket=%s/control" % place.root,
                    "--readonly")
    equal("--undo-dir" in server.said(), False)
    server.end()


@test
def translations(place):
    """a wrong translation of ids is reported with its option and the problem"""
    base = ("--shared-dir=" + place.share, "--socket-path=/nowhere/s")
    for option in ("--translate-uid", "--translate-gid"):
        for rule, part in (("nonsense", "ignore-guest:FROM:COUNT"),
                           ("guest:4294967295:0:2", "an id is above 4294967295")):
            status, line = says(*base, option, rule)
            equal((rule, status), (rule, 2))
            contains(line, option + ": ")
            contains(line, rule)
            contains(line, part)
    status, line = says("--translate-uid=map:0:1:1", "--profile=windows",
                        "--overlay-dir=" + place.root, *base,
                        program="stepback-9pd")
    equal(status, 2)
    contains(line, "--profile=windows stores its own owners")
    for rule in ("map:4294967295:0:1", "map:1:2:0"):
        status, line = says(*base, "--translate-uid=" + rule)
        equal((rule, status), (rule, 1))


@test
def inherited_sockets(place):
    """an invalid number of an inherited socket is reported as such"""
    for program in (VIRTIOFSD, "stepback-9pd"):
        for words in (("--fd", "-1"), ("--fd=x",), ("--fd=",),
                      ("--fd=4294967296",)):
            status, line = says("--shared-dir=" + place.share, *words,
                                program=program)
            equal((words, status), (words, 2))
            contains(line, "is not the fd of an inherited socket")
        status, line = says("--shared-dir=" + place.share, "--fd=0",
                            program=program, stdin=subprocess.DEVNULL)
        equal(status, 2)
        contains(line, "--fd=0: not a ")
        status, line = says("--shared-dir=" + place.share,
                            "--socket-path=/nowhere/s", "--interceptor-fd=-1",
                            program=program)
        equal(status, 2)
        contains(line, "is not the fd of an inherited socket")


@test
def long_socket_path(place):
    """a path too long for a socket is reported with the limit"""
    name = "/nowhere/" + 100 * "s"
    status, line = says("--shared-dir=" + place.share,
                        "--socket-path=" + name)
    equal(status, 1)
    contains(line, name)
    contains(line, "is 109 bytes long (limit 107)")


@test
def mount_options(place):
    """what has no meaning for a mount is refused with its name"""
    base = ("--shared-dir=" + place.share, "--mount=" + place.root)
    for words, name in ((("--seccomp=kill",), "--seccomp"),
                        (("--restartable",), "--restartable"),
                        (("--uid-map=:0:0:1:",), "--uid-map"),
                        (("--gid-map=:0:0:1:",), "--gid-map"),
                        (("--sandbox=chroot",), "--sandbox")):
        status, line = says(*base, *words)
        equal((words, status), (words, 2))
        contains(line, name)
        contains(line, "--mount")


@test
def attribute_rules(place):
    """a wrong --xattrmap is reported with the syntax of a rule"""
    status, line = says("--shared-dir=" + place.share,
                        "--socket-path=/nowhere/s", "--xattrmap=:x:all:::")
    equal(status, 2)
    for word in (":x:all:::", "unsupported", "client", ":map:KEY:PREPEND:"):
        contains(line, word)


@test
def few_files(place):
    """a limit with which nothing could be served is refused"""
    base = ("--shared-dir=" + place.share, "--socket-path=/nowhere/s")
    for number in (1, 127, -1):
        status, line = says(*base, "--rlimit-nofile=%d" % number)
        equal((number, status), (number, 2))
        contains(line, "--rlimit-nofile: not a number from 128")
    for number in (0, 128):
        status, line = says(*base, "--rlimit-nofile=%d" % number)
        equal((number, status), (number, 1))
    with open("/proc/sys/fs/nr_open") as file:
        too_many = int(file.read()) + 1
    if too_many < 1 << 31:
        server = Server(place, "--rlimit-nofile=%d" % too_many)
        contains(server.said(),
                 "cannot raise the open-file limit to %d" % too_many)
        server.end()


def has_ended(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] in ("Z", "X")
    except FileNotFoundError:
        return True


def keeper_of(server):
    with open("/proc/%d/task/%d/children" % ((server.process.pid,) * 2)) as file:
        keeper = int(file.read().split()[0])
    with open("/proc/%d/comm" % keeper) as file:
        equal(file.read(), "stepback-keeper\n")
    return keeper


@test
def keeper_ends_first(place):
    """a server that ends in order leaves no process and no socket"""
    for sandbox in ("namespace", "chroot"):
        server = Server(place, "--sandbox=" + sandbox)
        keeper = keeper_of(server)
        os.kill(keeper, signal.SIGSTOP)
        threading.Timer(0.3, os.kill, (keeper, signal.SIGCONT)).start()
        equal(server.end(), 0)
        equal((has_ended(keeper), os.path.exists(server.path)), (True, False))


@test
def killed_keeper(place):
    """stale sockets are reported, and replaced"""
    for sandbox in ("namespace", "chroot"):
        server = Server(place, "--sandbox=" + sandbox)
        keeper = keeper_of(server)
        os.kill(keeper, signal.SIGKILL)
        eventually(lambda: has_ended(keeper), 10)
        equal(server.end(), 0)
        contains(server.said(), "stepback-keeper was killed")
        equal(os.path.exists(server.path), True)
    server = Server(place)
    server.end()
    equal("stepback-keeper" in server.said(), False)


@test
def print_capabilities(place):
    """--print-capabilities prints them, whatever else there is"""
    for words in (["--print-capabilities"],
                  ["--nonsense", "--print-capabilities", "one too many"],
                  ["-o", "--print-capabilities", "--readonly=x"],
                  ["--print-capabilities", "--fd=-5", "--shared-dir=", "-o"],
                  ["--version", "--help", "--print-capabilities"]):
        done = subprocess.run([BUILDDIR + "/stepback-virtiofsd", *words],
                              capture_output=True, timeout=20, text=True)
        equal((done.returncode, done.stderr), (0, ""))
        equal(json.loads(done.stdout),
              {"type": "fs", "features": ["separate-options"]})


@test
def commas(place):
    """in -o a comma of a name is doubled, or has a backslash before it"""
    os.mkdir(place.root + "/a,b")
    os.mkdir(place.root + "/a,,b")
    for text, folder in (("a,,b", "a,b"), ("a\\,b", "a,b"),
                         ("a,,,,b,readonly", "a,,b"), ("c,,d", None)):
        path = place.root + "/fs.sock"
        words = ["-o", "source=%s/%s,cache=none" % (place.root, text),
                 "--socket-path=" + path]
        if not folder:
            status, line = says(*words)
            equal(status, 1)
            contains(line, place.root + "/c,d")
            continue
        with subprocess.Popen([BUILDDIR + "/stepback-virtiofsd", *words],
                              stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr:
                if "ready: " in line or "error" in line:
                    break
            contains(line, "ready: %s/%s listens" % (place.root, folder))
            process.terminate()
            equal(process.wait(20), 0)


@test
def kept_capabilities(place):
    """capabilities cannot be taken away where all are kept"""
    base = ("--shared-dir=" + place.share, "--socket-path=/nowhere/s")
    status, line = says(*base, "--sandbox=none", "--modcaps=-mknod")
    equal(status, 2)
    contains(line, "--modcaps")
    for words in (("--sandbox=none", "--modcaps=+sys_admin"),
                  ("--modcaps=-mknod",)):
        equal((words, says(*base, *words)[0]), (words, 1))


@test
def closed_streams(place):
    """a start without standard files leaves nothing behind"""
    path = place.root + "/fs.sock"
    for name in (VIRTIOFSD, "stepback-9pd"):
        program, env = without_script(name)
        for closed in ("<&- >&- 2>&-", "2>&-", "<&- >&-"):
            process = subprocess.Popen(
                ["sh", "-c", f"exec {program} --shared-dir={place.share} "
                             f"--socket-path={path} {closed}"],
                stderr=subprocess.DEVNULL, env=dict(os.environ, **env))
            atexit.register(process.kill)
            eventually(lambda: os.path.exists(path), 20)
            for fd in (0, 1, 2):
                if fd == 2 or "<" in closed:
                    equal(os.readlink(f"/proc/{process.pid}/fd/{fd}"),
                          "/dev/null")
            process.send_signal(signal.SIGTERM)
            equal(process.wait(20), 0)
            eventually(lambda: not os.path.exists(path), 10)
            equal(os.path.exists(path), False)


@test
def ignored_signals(place):
    """what was ignored at the start does not end a server (nohup)"""
    for program in (VIRTIOFSD, "stepback-9pd"):
        for number in (signal.SIGHUP, signal.SIGINT):
            server = Server(
                place, program=program,
                preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
            server.process.send_signal(number)
            if program == VIRTIOFSD:
                connect(server.path).close()
                equal(server.process.wait(20), 0)
                contains(server.said(), "front-end connected")
            else:
                connect(server.path).close()
            assert f"stopping on signal {number}" not in server.said()
            equal(server.end(), 0)
            server = Server(place, program=program)
            server.process.send_signal(number)
            equal(server.process.wait(20), 0)
            contains(server.said(), f"stopping on signal {number}")


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The host runs nothing from the shared folder.

The shared folder has programs, libraries, modules and settings that leave a mark
when they are used, and the environment of each command names them. Where
strace(1) can trace, it shows too that none of them is opened.
"""
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import without_script  # noqa: E402
from local_case import lack  # noqa: E402
from pty_client import Terminal  # noqa: E402
from stdio_client import (BUILDDIR, FAKE_QEMU, PATIENCE, Skip, contains,  # noqa: E402
                          equal, main, test)

CANARY = BUILDDIR + "/tests/lib/.libs/libcanary.so"
PROGRAMS = """qemu-system-x86_64 qemu-img diff less most fusermount3 newuidmap newgidmap xdg-dbus-proxy
    stepback-virtiofsd stepback-9pd stepback-net stepback-proxy stepback-shim stepback-local
    bwrap sh bash env python3 sed rm mount dirname basename uname id apt-get cpio xz""".split()
# Of the daemons, of QEMU and of diff; of stepback itself there is LD_PRELOAD.
LIBRARIES = """libslirp.so.0 libfuse3.so.3 libseccomp.so.2 libcap-ng.so.0
    libsqlite3.so.0 libpixman-1.so.0 libssl.so.3 libnghttp2.so.14""".split()


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def plant(place):
    """Put the canaries into the shared folder."""
    share, place.marks = place.share, place.root + "/marks"
    open(place.marks, "w").close()
    os.chmod(place.marks, 0o666)
    leave = 'echo "ran $0" >>%s\n' % place.marks
    for folder in ("bin", "node_modules/.bin", "."):
        for name in PROGRAMS:
            write("%s/%s/%s" % (share, folder, name), "#!/bin/sh\n" + leave,
                  0o755)
    os.makedirs(share + "/lib")
    for name in LIBRARIES + ["preload.so"]:
        shutil.copy(CANARY, "%s/lib/%s" % (share, name))
    place.preload = shutil.copy(CANARY, place.root + "/preload.so")
    write(share + "/gconv/gconv-modules",
          "module UTF-16// INTERNAL ../lib/preload 1\n")
    write(share + "/shrc", leave)
    for name in ("sitecustomize", "usercustomize", "json"):
        write("%s/py/%s.py" % (share, name), "open(%r, 'a').write('python\\n')\n"
              % place.marks)
    for name in ("bios-256k.bin", "kvmvapic.bin", "qemu.conf",
                 "home/.config/qemu/qemu.conf", "etc/qemu/qemu.conf"):
        write("%s/%s" % (share, name), "x")
    place.tools = place.root + "/tools"
    os.mkdir(place.tools)
    os.symlink(FAKE_QEMU, place.tools + "/qemu-system-x86_64")


def hostile(place, **more):
    """An environment that leads into the shared folder."""
    share = place.share
    named = {
        "PATH": "%s/bin:%s/node_modules/.bin:bin::.:/usr/bin:/bin" % (share,
                                                                      share),
        "LD_LIBRARY_PATH": "%s:%s/lib:lib:" % (
            without_script("stepback")[1].get("LD_LIBRARY_PATH", ""), share),
        # Not in the share, or stepback would refuse that.
        "LD_PRELOAD": place.preload,
        "PYTHONPATH": share + "/py", "PYTHONSTARTUP": share + "/py/json.py",
        "PYTHONUSERBASE": share, "BASH_ENV": share + "/shrc",
        "ENV": share + "/shrc", "BASH_FUNC_id%%": "() { . %s/shrc; }" % share,
        "GCONV_PATH": share + "/gconv", "LOCPATH": share,
        "LANGUAGE": "../../../.." + share, "QEMU_MODULE_DIR": share + "/lib",
        "XDG_CONFIG_HOME": share + "/etc", "XDG_DATA_HOME": share + "/etc",
        "XDG_CONFIG_DIRS": share + "/etc", "XDG_DATA_DIRS": share + "/etc",
        "XDG_STATE_HOME": share + "/state", "XDG_RUNTIME_DIR": share + "/run",
        "DISPLAY": share + "/x.sock", "WAYLAND_DISPLAY": share + "/w.sock",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=%s/bus" % share,
        "APT_CONFIG": share + "/etc/qemu/qemu.conf",
        "OPENSSL_CONF": share + "/etc/qemu/qemu.conf",
        "TERMINFO": share, "CDPATH": share, "TMPDIR": "tmp",
        # Of stepback's own variables, those that name folders of the test.
        "STEPBACK_TEST_MARKS": place.marks, "STEPBACK_QEMU": None,
        "STEPBACK_PROGRAM_PATH": place.tools + ":bin::/usr/bin:/bin",
        "ASAN_OPTIONS": "verify_asan_link_order=0",
    }
    os.makedirs(share + "/run", 0o700, exist_ok=True)
    return place.environment(**dict(named, **more))


def marks(place):
    """What left a mark, but for stepback itself: the dynamic linker loads what
    LD_PRELOAD names before stepback's main() begins."""
    program = os.path.realpath(without_script("stepback")[0])
    with open(place.marks) as file:
        return [line for line in file.read().splitlines()
                if line != "loaded by " + program]


def call(place, *words, trace=None, **more):
    """Run a command in the shared folder, and see that nothing left a mark."""
    lines = more.pop("lines", ())
    env, wrapper = hostile(place, **more), []
    if trace:  # not to strace itself
        wrapper = ["strace", "-f", "-y", "-s", "4096", "-o", trace, "-e",
                   "trace=execve,execveat,open,openat,mmap"]
        for name in ("LD_PRELOAD", "LD_LIBRARY_PATH"):
            wrapper += ["-E", "%s=%s" % (name, env.pop(name))]
    process = subprocess.Popen(
        [*wrapper, without_script("stepback")[0], *words], cwd=place.share,
        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    impatience = threading.Timer(PATIENCE, process.kill)
    impatience.start()
    out = talk(process, lines)
    rest, err = process.communicate()
    impatience.cancel()
    equal((words, marks(place)), (words, []))
    return process.returncode, out + rest, err


def talk(process, lines):
    """Send each line when the one before is answered."""
    out = ""
    for line, answer in lines:
        step = re.findall(r'"step_id":(\d+)', out)[-1:]
        process.stdin.write(line.replace('"newest"', "".join(step)))
        process.stdin.flush()
        while answer not in out.rpartition("\n" * 2)[2]:
            got = process.stdout.readline()
            out += got
            if not got or '"error":{' in got:
                return out
        out += "\n"
    return out


def ask(operation, **payload):
    """A frontend's request, and what its answer has in it."""
    return (json.dumps({"type": operation, "request_id": operation,
                        "payload": payload}) + "\n",
            '"request_id":"%s","status":"ok"' % operation)


def frontend(place, **more):
    return (ask("session.start", vm={"accel": "tcg"},
                working_directories=[{"path": place.share}], **more),
            ask("agent.execute", command="sh echo again >>kept"),
            ask("undo.diff", step_id="newest"), ask("undo.rollback", steps=1),
            ask("session.stop"))


def mcp(method, id=None, **params):
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return (json.dumps(dict(message, id=id) if id else message) + "\n",
            '"id":%d}' % id if id else "")


def client():
    return (mcp("initialize", 1, protocolVersion="2025-03-26", capabilities={},
                clientInfo={"name": "x", "version": "1"}),
            mcp("notifications/initialized"),
            mcp("tools/call", 2, name="write_file",
                arguments={"path": "new", "content": "x"}),
            mcp("tools/call", 3, name="execute_command",
                arguments={"command": "sh echo mcp >>kept"}))


def sandbox_commands(place):
    """The verbs of sandboxes, whose state is outside the shared folder."""
    outside = {"XDG_STATE_HOME": place.root + "/state"}
    # The guest of the fake QEMU has an old shim: there are no executions.
    return [(words, 125 if words[0] in ("exec", "attach") else
             1 if words[0] in ("job", "cp") else 0, part, outside)
            for words, part in (
        (("up", "--accel", "tcg"), "share"), (("ps",), "running"),
        (("exec", "--", "true"), ""), (("attach", "share", "1"), ""),
        (("job", "kill", "share", "1"), ""),
        (("cp", "share:/nonesuch", "/nonesuch"), ""),
        (("inspect",), "api.sock"), (("stats",), "MiB"),
        (("run", "--", "exit 0"), ""), (("logs",), "the guest is up"),
        (("jobs", "--json"), '"command": "exit 0"'), (("port", "--json"), "published"),
        (("net", "--json"), ""), (("secret", "--json"), "[]"),
        (("audit", "--json"), "start"),
        (("folder", "--json"), "guest_path"), (("approve", "--json"), "[]"),
        (("stop",), "share"), (("kill", "share"), "not running"),
        (("up",), "share"), (("stop",), "share"), (("rm", "share"), "share"),
        (("prune", "--force"), ""))]


def traced_sandbox(place):
    """strace -f waits for the supervisor, too, so it must end by itself."""
    outside = {"XDG_STATE_HOME": place.root + "/state"}
    return [(("up", "--idle-timeout=1", "--accel", "tcg"), 0, "share", outside),
            (("rm", "share"), 0, "share", outside)]


def local_commands(place, traced):
    """Local isolation, where this host can have it: the sandbox is a real one."""
    if lack():
        return
    real = {"STEPBACK_LIBEXECDIR": BUILDDIR, "XDG_STATE_HOME": place.root + "/local"}
    local = ("--isolation=local", "--no-network")
    yield ("run", *local, "--", "echo more >>kept; echo $PATH $PWD"), 0, "/usr/bin", real
    if not traced:
        for words, part in ((("up", *local), "share"), (("exec", "--", "env"), "PATH=/"),
                            (("stop",), "share"), (("rm", "share"), "share")):
            yield words, 0, part, real


def all_commands(place, traced):
    """Each command with what it says when it has worked."""
    vm = ("--accel", "tcg")
    run = ("run", *vm, "--", "sh echo more >>kept; echo $PATH $PWD")
    return (
        (("doctor",), 0, "QEMU", {}),
        (("config",), 0, "minimal", {}),
        *(() if traced else ((("pool", "--size=1", *vm), 0, "", {}),)),
        (("pool", "--json"), 0, "waiting", {}),
        (("pool", "--size=0"), 0, "", {}),
        (("doctor", "--boot", "--rounds", "1", *vm), 0, "kernel", {}),
        *local_commands(place, traced),
        (run, 0, "", {}),
        (("run", *vm, "--backend=9p", "--", "exit 0"), 0, "", {}),
        (("run", *vm, "--no-network", "--", "exit 0"), 0, "",
         {"HOME": place.share + "/home"}),
        *(traced_sandbox(place) if traced else sandbox_commands(place)),
        (("history",), 0, "sh echo", {}),
        (("history", "--json"), 0, "sh echo", {}),
        (("diff",), 0, "+more", {}),
        (("preview",), 0, "kept", {}),
        (("undo",), 0, "", {}),
        (("redo",), 0, "", {}),
        (("mcp", *vm), 0, 'exit code 0', {"lines": client()}),
        (("agent",), 0, '"stopped"', {"lines": frontend(place)}),
        (("agent",), 0, "disk.qcow2",
         {"lines": frontend(place, vm_mode="persistent"),
          "XDG_STATE_HOME": place.root + "/state"}),
        (("image", "build", "--shim=/nonexistent"), 1, "not an executable program", {}),
        (("undo", "--discard", "--yes"), None, "", {}),
    )


def prepare(place):
    plant(place)
    write(place.share + "/kept", "first\n")
    place.mounting()
    os.symlink(BUILDDIR + "/stepback-9pd", place.libexec + "/stepback-9pd")
    os.symlink(BUILDDIR + "/stepback-shim", place.libexec + "/stepback-shim")
    write(place.image + "/rootfs.ext4", "\0" * 65536)


def check(place, traces=None):
    for number, (words, status, part, more) in enumerate(
            all_commands(place, traced=traces is not None)):
        trace = "%s/%d" % (traces, number) if traces else None
        done = call(place, *words, trace=trace, **more)
        if status is not None:
            equal((words, done[0], done[2]), (words, status, done[2]))
        contains(done[1] + done[2], part)
        if trace:
            equal((words, read_trace(place, trace)), (words, []))


@test
def nothing_planted_runs(place):
    """no program, library, module or setting of the shared folder is used"""
    prepare(place)
    check(place)


@test
def a_preloaded_library_is_told(place):
    """a session is refused if a library of stepback lies in the shared folder"""
    plant(place)
    preload = place.share + "/lib/preload.so"
    status, _, err = call(place, "run", "--accel", "tcg", "--", "exit 0",
                          LD_PRELOAD=preload)
    equal(status, 125)
    contains(err, "a library of stepback (%s) lies in it" % preload)


@test
def replaceable_files_are_told(place):
    """a session is refused if a program or an image lies in the shared folder"""
    prepare(place)
    os.symlink("/usr/bin/true", place.share + "/link")
    os.symlink(place.share + "/link", place.root + "/outside")
    shutil.copytree(place.root + "/cache", place.share + "/cache")
    for what, more in (
            ("QEMU", {"STEPBACK_QEMU": place.share + "/bin/qemu-system-x86_64"}),
            ("QEMU", {"STEPBACK_QEMU": place.root + "/outside"}),
            ("the file system daemon",
             {"STEPBACK_LIBEXECDIR": place.share + "/bin"}),
            ("diff(1)", {"STEPBACK_PROGRAM_PATH": "%s/bin:/usr/bin" %
                         place.share, "STEPBACK_QEMU": FAKE_QEMU}),
            ("the guest's kernel", {"XDG_CACHE_HOME": place.share + "/cache"})):
        status, _, err = call(place, "run", "--accel", "tcg", "--", "exit 0",
                              **more)
        equal((what, status), (what, 125))
        contains(err, "%s: %s (" % (place.share, what))
        contains(err, "lies in it")
    write(place.share + "/only/bwrap", "#!/bin/sh\n", 0o755)
    for what, more in (
            ("bubblewrap",
             {"STEPBACK_PROGRAM_PATH": "%s/only:/usr/bin:/bin" % place.share}),
            ("the file system daemon", {"STEPBACK_LIBEXECDIR": place.share + "/bin"})):
        status, _, err = call(place, "run", "--isolation=local", "--no-network", "--",
                              "exit 0", **dict({"STEPBACK_LIBEXECDIR": BUILDDIR}, **more))
        equal((what, status), (what, 125))
        contains(err, "%s: %s (%s/" % (place.share, what, place.share))
    # No word of the user's makes a file of the host out of the guest's disk.
    frontend_says = ask("session.start", vm={"accel": "tcg"}, force_share=True,
                        working_directories=[{"path": place.share}],
                        vm_mode="persistent")[0]
    out = call(place, "agent", lines=((frontend_says, '"status":"error"'),))[1]
    contains(out, "the machine's disk (%s/state/" % place.share)
    for given in ("qemu-system-x86_64", "bin/qemu-system-x86_64"):
        status, _, err = call(place, "run", "--", "exit 0",
                              STEPBACK_QEMU=given)
        equal(status, 125)
        contains(err, "not the absolute path")


@test
def a_pager_of_the_folder_never_runs(place):
    """on a terminal, no pager and nothing a pager reads is of the folder"""
    prepare(place)
    call(place, "run", "--accel", "tcg", "--", "exit 0")
    share = place.share
    write(share + "/home/.lesskey", "#env\nLESSOPEN=|%s/bin/less %%s\n" % share)
    for pager in (None, "less", "most", "bin/most", share + "/bin/most",
                  "'%s/bin/most' -x" % share, "sh -c most"):
        env = hostile(place, TERM="xterm", PAGER=pager, HOME=share + "/home",
                      SHELL=share + "/bin/sh", EDITOR=share + "/bin/sh",
                      LESSOPEN="|%s/bin/less %%s" % share,
                      LESSKEY=share + "/home/.lesskey")
        with Terminal([without_script("stepback")[0], "history"], env,
                      cwd=share) as terminal:
            status = terminal.wait()
            equal((pager, status, marks(place)), (pager, 0, []))


def without_root(place):
    """The prefix to run a command as an ordinary user with the right to mount,
    with a hostile environment."""
    daemon, libraries = without_script("stepback-virtiofsd")
    env = hostile(place, LD_PRELOAD=None, **libraries)
    words = ["/usr/bin/env", "-i", *("%s=%s" % item for item in env.items()),
             daemon, "--shared-dir", place.share]
    if os.geteuid() != 0:
        return words
    os.chmod(place.root, 0o777)
    for path in (place.share, place.share + "/kept"):
        os.chown(path, 65534, 65534)
    # The user may open /dev/fuse in a namespace of this test alone.
    os.mknod(place.root + "/fuse", 0o666 | stat.S_IFCHR, os.makedev(10, 229))
    os.chmod(place.root + "/fuse", 0o666)
    return ["/usr/bin/unshare", "-m", "/bin/sh", "-c",
            'mount --bind "$0" /dev/fuse && exec setpriv --reuid 65534 '
            '--regid 65534 --clear-groups -- "$@"', place.root + "/fuse",
            *words]


@test
def an_unmount_runs_nothing_planted(place):
    """nothing planted runs when an ordinary user's daemon mounts and unmounts"""
    plant(place)
    write(place.share + "/kept", "first\n")
    seen = place.root + "/seen"
    try:
        words = without_root(place)
    except PermissionError as error:
        raise Skip("no device can be made: %s" % error)
    os.mkdir(seen)
    if os.geteuid() == 0:
        os.chown(seen, 65534, 65534)
    process = subprocess.Popen([*words, "--mount", seen], cwd=place.share,
                               stderr=subprocess.PIPE, text=True)
    said = process.stderr.readline()
    process.terminate()
    said += process.communicate(timeout=20)[1]
    equal(marks(place), [])
    if "Permission denied" in said or "Operation not permitted" in said:
        raise Skip("an ordinary user cannot mount here: " + said)
    equal((process.returncode, "ready: mounted on " + seen in said), (0, True))


@test
def a_map_of_users_runs_nothing_planted(place):
    """nothing planted runs when a daemon maps users"""
    plant(place)
    write(place.share + "/kept", "first\n")
    daemon, libraries = without_script("stepback-virtiofsd")
    told = place.root + "/told"
    write(place.tools + "/newuidmap", "#!/bin/sh\necho $PATH >>%s\nexit 1\n" %
          told, 0o755)
    done = subprocess.run(
        [daemon, "--shared-dir", place.share, "--sandbox=namespace",
         "--socket-path", place.root + "/s",
         "--uid-map=:0:1000:1:,:1:100000:65535:"], cwd=place.share,
        env=hostile(place, LD_PRELOAD=None, **libraries), text=True,
        stderr=subprocess.PIPE, timeout=20)
    equal((done.returncode, marks(place)), (1, []))
    if "namespaces are unavailable" in done.stderr or "not permitted" in done.stderr:
        raise Skip("there are no user namespaces")
    with open(told) as file:
        equal(file.read(), place.tools + ":/usr/bin:/bin\n")


# ---- with strace -------------------------------------------------------------

CALLS = re.compile(r"^\d+ +(execve|execveat|open|openat|mmap)\((.*)$")


def where(text, share):
    """The path of a call's arguments, if it is in the shared folder."""
    found = re.match(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"([^"]*)"', text)
    path = os.path.normpath(os.path.join(found[1] or share, found[2])) \
        if found else ""
    return path if path.startswith(share + "/") else None


def read_trace(place, trace):
    """The calls that use a planted file."""
    bad = []
    with open(trace, errors="replace") as file:
        for line in file:
            call = CALLS.match(line)
            if not call:
                continue
            name, text = call.groups()
            path = where(text, place.share)
            if name == "mmap":
                found = re.search(r"PROT_EXEC.*<(%s/[^>]*)>" %
                                  re.escape(place.share), text)
                path = found and found[1]
            elif name.startswith("open") and (
                    not path or not os.path.isfile(path) or
                    "O_PATH" in text):
                path = None
            if path and os.path.basename(path) not in ("kept", "new"):
                bad.append(line)
    return bad


def can_trace():
    try:
        return subprocess.run(["strace", "-f", "-o", "/dev/null", "true"],
                              stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        return False


@test
def nothing_planted_is_opened(place):
    """strace: no planted file is executed, mapped executable or opened"""
    if not can_trace():
        raise Skip("strace cannot trace here")
    prepare(place)
    os.mkdir(place.root + "/traces")
    check(place, place.root + "/traces")


@test
def the_real_qemu_opens_nothing_planted(place):
    """strace: QEMU looks for its firmware neither here nor in a home folder"""
    if not can_trace():
        raise Skip("strace cannot trace here")
    if not shutil.which("qemu-system-x86_64", path="/usr/local/bin:/usr/bin"):
        raise Skip("there is no QEMU")
    prepare(place)
    os.unlink(place.tools + "/qemu-system-x86_64")
    trace = place.root + "/trace"
    status, _, err = call(place, "run", "--accel", "tcg", "--", "exit 0",
                          trace=trace)
    equal(status, 125)
    contains(err, "kernel")
    with open(trace, errors="replace") as file:
        contains(file.read(), "bios-256k.bin")
    equal(read_trace(place, trace), [])


main(mounts=True)

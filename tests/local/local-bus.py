#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--session-bus: the methods and signals of the host's session bus that a local sandbox may
use, through a real bus and xdg-dbus-proxy."""
import json
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import bus_client  # noqa: E402
from bus_client import Connection  # noqa: E402
from bus_service import PATH, PROXY, Bus, need_bus  # noqa: E402
from local_case import (FIRST_ID, LOCAL, NAME, USER, call, give,  # noqa: E402
                        left_of, need, run, user_files, user_line)
from sandbox_case import kill_all, pid_of, sandbox_test  # noqa: E402
from stdio_client import (PROGRAM, Agent, Skip, contains, equal,  # noqa: E402
                          eventually, main, ok)

ONE, SHELL, TWO = "org.example.One", "org.example.Shell", "org.example.Two"
AT = "/org/example"
RULES = ("%s=%s.Ping@%s" % (ONE, ONE, AT), "%s=%s.Emit@%s/*" % (ONE, ONE, AT),
         "%s=%s.Seen@%s" % (ONE, ONE, AT))
OPTIONS = ("--no-network", *("--session-bus=" + rule for rule in RULES))
BUS, BUS_PATH = bus_client.BUS, bus_client.BUS_PATH
DENIED, UNKNOWN = ("org.freedesktop.DBus.Error." + name
                   for name in ("AccessDenied", "ServiceUnknown"))
NO_OWNER = "org.freedesktop.DBus.Error.NameHasNoOwner"
SIGNALS = [(AT, ONE, "Seen"), (AT, ONE, "Hidden"), (AT, SHELL, "Seen"), ("/", ONE, "Seen"),
           (AT + "/a", ONE, "Emit")]


class World:
    """A bus of the ordinary user, and that user's sandboxes."""

    def __init__(self, place, lines=""):
        need()
        need_bus()
        self.place = place
        shutil.copy(bus_client.__file__, place.share)
        give(place)
        self.files = user_files(place, lines, lines)
        self.bus = Bus(place.root + "/bus", self.files)
        self.more = {"user": True, "files": self.files,
                     "DBUS_SESSION_BUS_ADDRESS": self.bus.address}

    def call(self, *words, **more):
        return call(self.place, *words, **{**self.more, **more})

    def run(self, *words, options=OPTIONS, **more):
        return run(self.place, *words, options=options, **{**self.more, **more})

    def ask(self, *calls, options=OPTIONS, sandbox=None):
        """The ends of calls that a program in a sandbox makes, and the signals that it
        gets."""
        words = ("python3", "bus_client.py", json.dumps(calls))
        status, out, err = (self.call("exec", sandbox, "--", *words) if sandbox else
                            self.run(*words, options=options))
        equal((status, err if status else ""), (0, ""))
        found = json.loads(out)
        return found["ends"], found["signals"]

    def proxies(self):
        return [int(pid) for pid, line in left_of(self.place) if b"xdg-dbus-proxy" in line]

    def up(self):
        status, name, err = self.call("up", *LOCAL, *OPTIONS)
        equal((status, err if status else ""), (0, ""))
        return name.strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.bus.close()
        shutil.rmtree(self.place.root + ".devices", ignore_errors=True)


def none_left(place):
    assert eventually(lambda: not left_of(place), 20), left_of(place)


@sandbox_test
def rules(place):
    """a sandbox reaches the methods, paths and signals of its rules, and no others"""
    with World(place) as world:
        service = world.bus.service(ONE, SHELL, signals=SIGNALS)
        other = world.bus.service(TWO)
        tries = (
            ((ONE, AT, ONE, "Ping"), "answer"),
            ((service.name, AT, ONE, "Ping"), "answer"),
            ((ONE, AT, ONE, "Eval", "quit()"), DENIED),
            ((ONE, AT, ONE, "Pin"), DENIED),
            ((ONE, AT, ONE + ".More", "Ping"), DENIED),
            ((ONE, AT, SHELL, "Ping"), DENIED),
            ((ONE, AT, None, "Ping"), DENIED),
            ((ONE, "/", ONE, "Ping"), DENIED),
            ((ONE, AT + "/a", ONE, "Ping"), DENIED),
            ((ONE, AT, "org.freedesktop.DBus.Introspectable", "Introspect"), DENIED),
            ((ONE, AT, "org.freedesktop.DBus.Properties", "Set", ONE), DENIED),
            ((service.name, AT, SHELL, "Eval", "quit()"), DENIED),
            ((SHELL, AT, SHELL, "Eval", "quit()"), UNKNOWN),
            ((SHELL, AT, ONE, "Ping"), UNKNOWN),
            ((TWO, AT, ONE, "Ping"), UNKNOWN),
            ((other.name, AT, ONE, "Ping"), NO_OWNER),
            ((BUS, BUS_PATH, BUS, "AddMatch", "type='signal'"), "answer"),
            ((ONE, AT, ONE, "Emit"), "answer"),
            ((ONE, AT + "/a/b", ONE, "Emit"), "answer"),
            ((ONE, AT + "2", ONE, "Emit"), DENIED),
        )
        ends, signals = world.ask(*(words for words, _ in tries))
        equal(list(zip((words for words, _ in tries), ends)), list(tries))
        equal(service.calls, [(AT, ONE, "Ping"), (AT, ONE, "Ping"), (AT, ONE, "Emit"),
                              (AT + "/a/b", ONE, "Emit")])
        equal(other.calls, [])
        # Twice. The first of all is the bus's own.
        equal([one for one in signals if one[1] != BUS],
              [list(SIGNALS[0]), list(SIGNALS[4])] * 2)
        none_left(place)


@sandbox_test
def the_bus_itself(place):
    """a sandbox sees only the names of its rules, owns none, and does not eavesdrop"""
    with World(place) as world:
        world.bus.service(ONE)
        other = world.bus.service(TWO)
        asks = (
            ("RequestName", "org.example.Own"), ("RequestName", ONE), ("ReleaseName", ONE),
            ("BecomeMonitor",), ("UpdateActivationEnvironment",),
            ("AddMatch", "eavesdrop=true"), ("AddMatch", "type='signal',eavesdrop='true'"),
            ("AddMatch", "eavesdrop ='true'"), ("AddMatch", "type='signal', eavesdrop = true"),
            ("GetConnectionUnixProcessID", other.name), ("GetNameOwner", TWO),
            ("StartServiceByName", TWO), ("ReloadConfig",))
        calls = [(BUS, BUS_PATH, BUS, *words) for words in asks]
        directed = {"path": "/heard", "interface": ONE, "member": "Seen"}
        ends, _ = world.ask(["names"], *calls,
                            ["signal", dict(directed, destination=TWO)],
                            ["signal", dict(directed, destination=other.name)],
                            (None, BUS_PATH, BUS, "BecomeMonitor"),
                            (BUS, BUS_PATH, BUS + ".Monitoring", "BecomeMonitor"),
                            (BUS, BUS_PATH, BUS + ".Debug.Stats", "GetStats"))
        own = [name for name in ends[0] if name[0] != ":"]
        equal(sorted(own), [ONE, BUS])
        assert other.name not in ends[0], ends
        for words, end in zip((*asks, None, "Monitoring", "Stats"), ends[1:]):
            assert end.startswith("org.freedesktop.DBus.Error."), (words, end)
        # The bus keeps the order, of the signals before this.
        Connection(world.bus.path).ask(TWO, "/heard", ONE, "Ping")
        equal(other.heard, [])
        none_left(place)


@sandbox_test
def whole_interface(place):
    """INTERFACE.* is all of an interface, * all of a program, with a warning"""
    with World(place) as world:
        service = world.bus.service(ONE, SHELL)
        calls = ((ONE, AT, ONE, "Ping"), (ONE, AT, ONE, "Pong"), (ONE, "/x", ONE, "Ping"),
                 (ONE, AT, SHELL, "Eval"))
        ends = world.ask(*calls, options=("--no-network",
                                          "--session-bus=%s=%s.*@/org/*" % (ONE, ONE)))[0]
        equal(ends, ["answer", "answer", DENIED, DENIED])
        equal(len(service.calls), 2)
        rule = ONE + "=*"
        status, out, err = world.run("python3", "bus_client.py", json.dumps(calls),
                                     options=("--no-network", "--session-bus=" + rule))
        equal((status, json.loads(out)["ends"]), (0, ["answer"] * 4))
        contains(err, "session bus: %s opens all that the program of this name offers" % rule)


@sandbox_test
def ways_out(place):
    """a service that hands out the host causes a warning, at each start and as an event"""
    with World(place) as world:
        for name, part in (("org.freedesktop.portal.Desktop", "opens its files"),
                           ("org.freedesktop.secrets", "the passwords"),
                           ("org.freedesktop.systemd1", "runs commands"),
                           ("org.gnome.Shell", "runs scripts"),
                           ("org.kde.plasmashell", "runs scripts")):
            rules = "%s=org.example.A.*,%s=org.example.B.C" % (name, name)
            status, _, err = world.run("true", options=("--no-network",
                                                        "--session-bus=" + rules))
            equal(status, 0)
            equal(err.count("session bus: " + name), 1)
            contains(err, part)
        status, _, err = world.run("true", options=(
            "--no-network", "--session-bus=org.freedesktop.secretsx=org.example.A.B"))
        equal((status, "session bus:" in err), (0, False))
        status, name, err = world.call("up", *LOCAL, "--no-network", "--session-bus=" + rules)
        equal(status, 0)
        equal(err.count("session bus: org.kde.plasmashell"), 1)
        log = place.root + "/state/stepback/sandboxes/%s/supervisor.log" % name.strip()
        with open(log) as file:
            contains(file.read(), "session bus: org.kde.plasmashell")
        equal(world.call("stop", name.strip())[0], 0)


@sandbox_test
def other_users(place):
    """with subordinate ids the bus is the user's own: no other user can connect"""
    if not os.path.exists("/usr/bin/newuidmap") or not os.path.exists("/etc/subuid"):
        raise Skip("uidmap is not installed")
    with World(place, "%s:%d:65536\n" % (NAME, FIRST_ID)) as world:
        world.bus.service(ONE)
        os.chmod(place.share, 0o755)
        equal(world.ask((ONE, AT, ONE, "Ping"))[0], ["answer"])
        status, _, err = world.run("python3", "bus_client.py", "[]",
                                   options=(*OPTIONS, "--user=nobody"))
        assert status != 0
        contains(err, "PermissionError")


@sandbox_test
def kept(place):
    """rules can be separated by commas; a running sandbox keeps its own"""
    with World(place) as world:
        world.bus.service(ONE)
        name = world.up()
        equal(world.ask((ONE, AT, ONE, "Ping"), sandbox=name)[0], ["answer"])
        inspected = json.loads(world.call("inspect", name)[1])
        equal(inspected["config"]["session_bus"], list(RULES))
        status, _, err = world.call("run", "--session-bus=" + RULES[0], "--", "true")
        equal(status, 125)
        contains(err, "--session-bus")
        equal(world.call("run", "--session-bus=" + ",".join(reversed(RULES)), "--", "true")[0],
              0)
        # Not even root of the sandbox replaces the socket.
        status, out, _ = world.call("exec", name, "--", "sh", "-c",
                                    "rm -f /run/stepback/bus; mv /run/stepback/bus /tmp/x; "
                                    "test -S /run/stepback/bus && echo there")
        equal((status, out), (0, "there\n"))
        equal(world.call("stop", name)[0], 0)
        none_left(place)


@sandbox_test
def confined(place):
    """the proxy is limited, in its sandbox's cgroup, and inherits no file or variable"""
    with World(place) as world:
        group = "/sys/fs/cgroup/unified/stepback-test-%d" % os.getpid()
        if not os.path.exists("/sys/fs/cgroup/unified/cgroup.procs"):
            group = "/sys/fs/cgroup/stepback-test-%d" % os.getpid()
        try:
            os.mkdir(group)
        except OSError as error:
            raise Skip("cannot make a cgroup") from error
        for name in ("", "/cgroup.procs", "/cgroup.subtree_control"):
            os.chown(group + name, USER, USER)
        try:
            line = user_line(place, [PROGRAM, "up", *LOCAL, *OPTIONS], world.files)
            done = subprocess.run(
                ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@" 9</etc/passwd', group,
                 *line],
                env=place.environment(STEPBACK_QEMU=None, HOME=place.root + "/home",
                                      DBUS_SESSION_BUS_ADDRESS=world.bus.address,
                                      SECRET="x", LD_LIBRARY_PATH="/x"),
                cwd=place.share, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=120)
            equal(done.returncode, 0)
            [pid] = world.proxies()
            with open("/proc/%d/cgroup" % pid) as file:
                lines = [line for line in file if line.startswith("0::")]
            assert lines[0].rstrip().endswith("/sandbox"), lines
            contains(lines[0], os.path.basename(group) + "/stepback-local-")
            with open("/proc/%d/environ" % pid, "rb") as file:
                names = {entry.split(b"=")[0] for entry in file.read().split(b"\0") if entry}
            assert not names - {b"PATH", b"LC_ALL"} - {
                name for name in names if name.startswith(b"STEPBACK_")}, names
            with open("/proc/%d/limits" % pid) as file:
                limits = {line[:26].strip(): line[26:].split()[1] for line in file}
            equal([limits["Max " + name] for name in ("core file size", "file size",
                                                      "data size")],
                  ["0", "0", str(256 << 20)])
            equal(limits["Max open files"], "64")
            for fd in os.listdir("/proc/%d/fd" % pid):
                target = os.readlink("/proc/%d/fd/%s" % (pid, fd))
                assert target.split(":")[0] in ("/dev/null", "pipe", "socket",
                                                "anon_inode"), target
            shutil.rmtree(place.root + ".devices")
            equal(world.call("stop", done.stdout.decode().strip())[0], 0)
            none_left(place)
        finally:
            kill_all(place)
            assert eventually(lambda: remove(group), 20), group


FLOOD = """
import socket, time, bus_client
path, many, end = "/run/stepback/bus", [], time.monotonic() + 20
while len(many) < 300 and time.monotonic() < end:
    one = socket.socket(socket.AF_UNIX)
    one.setblocking(False)
    try:
        one.connect(path)
        many.append(one)
    except BlockingIOError:
        one.close()
        time.sleep(0.001)
for one in many:
    one.close()
print(len(many), bus_client.Connection(path).end("%s", "%s", "%s", "Ping"))
""" % (ONE, AT, ONE)


@sandbox_test
def flood(place):
    """more connections than the proxy may have are refused, and it goes on"""
    with World(place) as world:
        world.bus.service(ONE)
        status, out, err = world.run("python3", "-c", FLOOD)
        equal((status, out if status == 0 else err), (0, "300 answer\n"))
        none_left(place)


def remove(group):
    """Remove a cgroup whose processes have ended, and those in it."""
    for base, names, _ in os.walk(group, topdown=False):
        try:
            os.rmdir(base)
        except OSError:
            return False
    return True


@sandbox_test
def ends(place):
    """the proxy ends with its sandbox and its supervisor, however those end"""
    with World(place) as world:
        name = world.up()
        [proxy] = world.proxies()
        os.kill(proxy, signal.SIGKILL)
        assert eventually(lambda: not world.proxies(), 20)
        equal(world.call("exec", name, "--", "echo", "works")[:2], (0, "works\n"))
        equal(world.call("stop", name)[0], 0)
        none_left(place)
        world.call("rm", name)
        for victim in ("bwrap", "supervisor"):
            name = world.up()
            pid = pid_of(place, name)
            if victim == "bwrap":
                [pid] = [int(pid) for pid, line in left_of(place)
                         if line.startswith(b"/usr/bin/bwrap") and parent_of(pid) == pid_of(
                             place, name)]
            equal(len(world.proxies()), 1)
            os.kill(pid, signal.SIGKILL)
            assert eventually(lambda: not world.proxies(), 20), victim
            world.call("rm", "-f", name)
            none_left(place)


def parent_of(pid):
    with open("/proc/%s/stat" % pid) as file:
        return int(file.read().rsplit(")")[1].split()[1])


@sandbox_test
def absent(place):
    """without the option there is no bus"""
    with World(place) as world:
        service = world.bus.service(ONE)
        status, out, _ = world.run("sh", "-c", "printenv DBUS_SESSION_BUS_ADDRESS; "
                                   "ls /run/stepback; test -e %s || echo none" %
                                   world.bus.path, options=("--no-network",))
        equal((status, out.splitlines()[-1]), (0, "none"))
        assert "unix:" not in out and "bus" not in out.split(), out
        equal(service.calls, [])


@sandbox_test
def by_the_api(place):
    """the API has the rules as a list, with the same checks"""
    with World(place) as world:
        agent = Agent(place, wrapper=user_line(place, [], world.files), STEPBACK_QEMU=None,
                      HOME=place.root + "/home", DBUS_SESSION_BUS_ADDRESS=world.bus.address)
        own = {"working_directories": [{"path": place.share}], "isolation": "local",
               "network_policy": "disabled"}
        for rules in ([], ["x"], ONE, [1], [RULES[0]] * 65, [ONE], [RULES[0] + ",a"]):
            contains(agent.error("session.start", **own, session_bus=rules)[1], "session_bus")
        ok(agent.ask("session.start", **own, session_bus=["org.gnome.Shell=org.example.A.B"]))
        equal([message["payload"]["code"] for message in agent.seen
               if message["type"] == "event.warning"], ["session_bus"])
        ok(agent.ask("session.stop"))
        equal(agent.close(), 0)


@sandbox_test
def lacking(place):
    """without the proxy, or a bus that is the user's alone, the start fails"""
    with World(place) as world:
        programs = place.root + "/programs"
        os.mkdir(programs)
        os.symlink("/usr/bin/bwrap", programs + "/bwrap")
        outside = place.root + "/outside"
        os.mkdir(outside, 0o700)
        os.symlink(world.bus.path, outside + "/bus")
        address = "DBUS_SESSION_BUS_ADDRESS"
        path = "unix:path="
        tried = [
            ({"STEPBACK_PROGRAM_PATH": programs},
             ("xdg-dbus-proxy is not installed", "apt-get install xdg-dbus-proxy")),
            ({address: None}, ("there is no session bus at " + place.runtime, "dbus-daemon")),
            ({address: None, "XDG_RUNTIME_DIR": None}, ("nor XDG_RUNTIME_DIR is set",)),
            ({address: path + place.root + "/none"}, ("there is no session bus at ",)),
            ({address: path + outside + "/bus"}, ("belongs to user 0, not to user",)),
            ({address: path + "/tmp/bus"}, ("/tmp, the folder of the session bus, belongs",))]
        for value in (b"unix:path=\xff".decode("utf-8", "surrogateescape"),
                      "unixexec:path=/bin/true", "tcp:host=localhost,port=1",
                      "unix:abstract=/tmp/bus", world.bus.address + ";unixexec:path=/bin/true",
                      "unix:path=bus", world.bus.address + ",x=y", "unix:path=/a%zz"):
            tried.append(({address: value}, ("is not unix:path=PATH, whose owner",)))
        os.chmod(place.root + "/bus", 0o770)
        tried.append(({"HOME": place.root + "/home"}, ("has mode 0770, not 0700",)))
        for more, parts in tried:
            if address in more or "STEPBACK_PROGRAM_PATH" in more:
                os.chmod(place.root + "/bus", 0o700)
            else:
                os.chmod(place.root + "/bus", 0o770)
            status, _, err = world.run("true", **more)
            equal((more, status), (more, 125))
            for part in parts:
                contains(err, part)
            equal(left_of(place), [])
        os.chmod(place.root + "/bus", 0o700)
        os.chown(world.bus.path, 0, 0)
        contains(world.run("true")[2], "belongs to user 0, not to user %d" % USER)
        os.chown(world.bus.path, USER, USER)
        os.rename(world.bus.path, world.bus.path + "2")
        os.symlink("bus2", world.bus.path)
        contains(world.run("true")[2], "there is no session bus at ")
        contains(world.call("doctor", STEPBACK_PROGRAM_PATH=programs)[1],
                 "apt-get install xdg-dbus-proxy")
        contains(world.call("doctor", STEPBACK_PROGRAM_PATH=PATH)[1], PROXY)


@sandbox_test
def shared(place):
    """a bus in a folder that is shared, at the start or later, is refused"""
    with World(place) as world:
        name = world.up()
        status, _, err = world.call("folder", "add", place.root + "/bus")
        equal(status, 1)
        contains(err, "the socket of the session bus")
        equal(world.call("stop", name)[0], 0)
        with Bus(place.share + "/bus", world.files) as bus:
            status, _, err = world.run("true", DBUS_SESSION_BUS_ADDRESS=bus.address)
            equal(status, 125)
            contains(err, "the socket of the session bus")


main()

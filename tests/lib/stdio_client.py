# SPDX-License-Identifier: Apache-2.0
"""A frontend of "stepback agent", for its tests."""
import difflib
import glob
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
from sanitizer import is_sanitized  # noqa: E402
from stdio_schema import SCHEMA  # noqa: E402

SRCDIR = os.environ.get("srcdir", os.path.join(os.path.dirname(__file__),
                                               "../.."))
BUILDDIR = os.getcwd()
PROGRAM = os.path.join(BUILDDIR, "stepback")
FAKE_QEMU = os.path.abspath(os.path.join(SRCDIR, "tests/lib/stdio-fake-qemu"))
SNAPSHOT = os.path.join(BUILDDIR, "tests/lib/tree-snapshot")
PATIENCE = 180

# If this process ignores them, as under nohup, the tested programs would
# inherit that.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, lambda *_: None)


class Place:
    """A folder with all that an agent may touch."""

    def __init__(self, runtime="run"):
        self.root = tempfile.mkdtemp(prefix="stdio-")
        self.share = os.path.join(self.root, "share")
        self.image = os.path.join(self.root, "cache/stepback/guest/minimal")
        self.runtime = os.path.join(self.root, runtime)
        os.makedirs(self.share)
        os.makedirs(self.image)
        os.makedirs(self.runtime, 0o700)
        self.mounts = os.path.join(self.root, "mounts")
        self.libexec = os.path.join(self.root, "libexec")
        for name in ("vmlinuz", "initrd"):
            open(os.path.join(self.image, name), "w").close()

    def environment(self, **more):
        env = dict(os.environ, XDG_CACHE_HOME=self.root + "/cache",
                   XDG_STATE_HOME=self.root + "/state",
                   XDG_CONFIG_HOME=self.root + "/config",
                   STEPBACK_CERTIFICATE_PATH="",
                   STEPBACK_SYSTEM_IMAGES=self.root + "/images",
                   XDG_RUNTIME_DIR=self.runtime, STEPBACK_QEMU=FAKE_QEMU,
                   STEPBACK_LIBEXECDIR=self.libexec
                   if os.path.isdir(self.libexec) else BUILDDIR,
                   STEPBACK_TEST_MOUNTS=self.mounts, STEPBACK_TEST_BUILD=BUILDDIR,
                   STEPBACK_FAKE_QEMU="")
        env.update(more)
        return {key: value for key, value in env.items() if value is not None}

    def mounting(self):
        """From now on the daemons mount on the host: the "sh" of the fake
        QEMU's guest runs real commands there."""
        if os.path.isdir(self.libexec):
            return
        os.makedirs(self.mounts)
        os.makedirs(self.libexec)
        os.symlink(os.path.join(os.path.dirname(FAKE_QEMU),
                                "stdio-mount-daemon"),
                   os.path.join(self.libexec, "stepback-virtiofsd"))
        for name in ("stepback-net", "stepback-proxy"):
            os.symlink(os.path.join(BUILDDIR, name),
                       os.path.join(self.libexec, name))

    def unmount(self):
        """What killed daemons have left mounted."""
        for path in glob.glob(self.mounts + "/*"):
            subprocess.run(["fusermount3", "-u", "-z", path],
                           stderr=subprocess.DEVNULL)

    def sessions(self):
        """The runtime folders that are not an agent's own."""
        return [name for name in os.listdir(self.runtime) if "mcp.sock"
                not in os.listdir(os.path.join(self.runtime, name))]

    def left(self):
        """Sockets, mounts and temporary files of this place."""
        found = []
        for base, _, files in os.walk(self.root):
            found += [os.path.join(base, name) for name in files
                      if name.endswith((".sock", ".lock", ".new", ".log"))]
        with open("/proc/self/mounts") as mounts:
            found += [line for line in mounts if self.root in line]
        return [name for name in found if "/.stepback/" not in name]

    def processes(self, makers=False):
        """Of this place, that are alive, but for those that make a template."""
        found = self.all_processes()
        return [pid for pid in found if makers or not found[pid]]

    def makers(self):
        """The processes that make a template."""
        found = self.all_processes()
        return [pid for pid in found if found[pid]]

    def all_processes(self):
        """Whether each process of this place that is alive makes a template."""
        found = {}
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                with open("/proc/%d/environ" % pid, "rb") as file:
                    ours = self.root.encode() in file.read()
                if ours and alive(pid):
                    found[pid] = is_maker(pid)
            except OSError:
                pass
        return found

    def remove(self):
        self.unmount()
        shutil.rmtree(self.root, ignore_errors=True)


class Agent:
    def __init__(self, place, reading=True, level="info", wrapper=(),
                 options=(), **env):
        self.place = place
        self.errors = tempfile.TemporaryFile()
        self.env = place.environment(**env)
        self.process = subprocess.Popen(
            [*wrapper, PROGRAM, "agent", "--log-level", level, *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            env=self.env)
        self.messages = queue.Queue()
        self.seen = []
        self.last_id = 0
        self.requests = {}  # by their ids
        if reading:
            self.read()

    def read(self):
        def run():
            for line in self.process.stdout:
                self.messages.put(line)
            self.messages.put(None)
        threading.Thread(target=run, daemon=True).start()

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, type, **payload):
        return self.send_all((type, payload))[0]

    def send_all(self, *requests):
        """In one write, so that none is carried out before all have come."""
        lines, ids = b"", []
        for type, payload in requests:
            self.last_id += 1
            ids.append("r%d" % self.last_id)
            request = {"type": type, "request_id": ids[-1],
                       "payload": payload}
            self.requests[ids[-1]] = request
            lines += json.dumps(request).encode() + b"\n"
        self.write(lines)
        return ids

    def check(self, message):
        """Each line has the form that its schema says; and so had the request,
        if it was carried out."""
        if message["type"] != "response":
            SCHEMA.check(message["type"], message)
        elif message["status"] == "error":
            SCHEMA.check("refusal", message)
        else:
            request = self.requests.get(message["request_id"])
            if request is None:
                return  # written by hand
            SCHEMA.check("request." + request["type"], request)
            SCHEMA.check("answer." + request["type"], message)

    def next(self, patience=PATIENCE):
        line = self.messages.get(timeout=patience)
        if line is None:
            return None
        message = json.loads(line)
        self.check(message)
        self.seen.append(message)
        return message

    def until(self, wanted):
        """Read until a message that is wanted."""
        while True:
            message = self.next()
            if message is None or wanted(message):
                return message

    def response(self, id):
        for message in self.seen:
            if message["type"] == "response" and message["request_id"] == id:
                return message
        return self.until(lambda m: m["type"] == "response" and
                          m["request_id"] == id)

    def event(self, type):
        return self.until(lambda m: m["type"] == type)["payload"]

    def first(self, type):
        """The first event of this type, which may have come already."""
        for message in self.seen:
            if message["type"] == type:
                return message["payload"]
        return self.event(type)

    def ask(self, type, **payload):
        return self.response(self.send(type, **payload))

    def execute(self, command):
        """The response to a command, and its output."""
        mark = len(self.seen)
        answer = self.ask("agent.execute", command=command)
        return answer, "".join(m["payload"]["data"] for m in self.seen[mark:]
                               if m["type"] == "event.terminal_output")

    def error(self, type, **payload):
        """The code and the text of the error that this request must get."""
        error = self.ask(type, **payload)["error"]
        return error["number"], error["message"]

    def start(self, **payload):
        payload.setdefault("working_directories",
                           [{"path": self.place.share}])
        payload.setdefault("vm", {"accel": "tcg"})
        return self.ask("session.start", **payload)

    def children(self):
        pid = self.process.pid
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return [int(word) for word in file.read().split()]

    def memory(self):
        """The most that the agent had at a time, in KiB; 0 where a sanitizer's
        own is too much to tell."""
        if is_sanitized(self.process.pid):
            return 0
        with open("/proc/%d/status" % self.process.pid) as file:
            return int(re.search(r"VmHWM:\s*(\d+)", file.read()).group(1))

    def command_line(self):
        """QEMU's."""
        for pid in self.children():
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                words = file.read().decode().replace("\0", " ")
            if "-nodefaults" in words:
                return words
        raise AssertionError("there is no QEMU")

    def close(self, patience=PATIENCE):
        """End of input; the exit status."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        return self.process.wait(patience)

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def log(self):
        # Not by seek(): the agent writes at the same file offset.
        size = os.fstat(self.errors.fileno()).st_size
        return os.pread(self.errors.fileno(), size, 0).decode().splitlines()


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def freeze(*pids):
    """Stops processes, and returns when each of their threads stands still:
    the kernel gives SIGSTOP to one thread, and the others run until that one
    takes it."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    assert eventually(lambda: all(stands_still(pid) for pid in pids), 60)


def stands_still(pid):
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/stat" % (pid, thread)) as file:
            if file.read().rpartition(")")[2].split()[0] != "T":
                return False
    return True


def is_maker(pid):
    """Of a template: the process, or its QEMU."""
    with open("/proc/%d/cmdline" % pid, "rb") as file:
        words = file.read()
    return b"make-template" in words or (
        b" stepback.template" in words and b"-incoming" not in words)


def descendants(pid):
    """All processes below pid, by /proc."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    fields = stat.read().rsplit(")", 1)[1].split()
                parents[int(entry)] = int(fields[1])
            except OSError:
                pass
    found, todo = set(), [pid]
    while todo:
        at = todo.pop()
        for child, parent in parents.items():
            if parent == at and child not in found:
                found.add(child)
                todo.append(child)
    return found


def eventually(check, patience):
    """Whether check() becomes true in so many seconds."""
    end = time.monotonic() + patience
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


# ---- tests -------------------------------------------------------------------

TESTS = []


class Skip(Exception):
    pass


def test(function):
    """A test: it gets a Place; its documentation is its name."""
    TESTS.append(function)
    return function


def is_snapshot(value):
    return isinstance(value, list) and value != [] and \
        all(isinstance(tree, bytes) for tree in value)


def difference(a, b):
    """What to say of it: of snapshots, only the lines in which they differ."""
    found = []
    if is_snapshot(a) and is_snapshot(b):
        found = difflib.unified_diff(
            *(b"\n".join(trees).decode(errors="backslashreplace").splitlines()
              for trees in (a, b)), "found", "expected", lineterm="", n=0)
    return "\n".join(found) or "%r is not %r" % (a, b)


def folder(place, name):
    """A directory in the place: its path."""
    path = os.path.join(place.root, name)
    os.makedirs(path, exist_ok=True)
    return path


def ok(answer):
    """The payload of an answer that must be good."""
    assert answer["status"] == "ok", answer
    return answer["payload"]


def equal(a, b):
    assert a == b, difference(a, b)


def contains(text, part):
    assert part in text, "%r is not in %r" % (part, text)


def run_test(function):
    """Its verdict, a note, and lines that say what is wrong."""
    place = Place(getattr(function, "runtime", "run"))
    try:
        function(place)
    except Skip as reason:
        return "ok", " # SKIP %s" % reason, []
    except Exception:
        return "not ok", "", traceback.format_exc().splitlines()
    finally:
        place.remove()
    return "ok", "", []


def snapshot(*paths):
    return [subprocess.run([SNAPSHOT, path], check=True,
                           stdout=subprocess.PIPE).stdout for path in paths]


# ---- sessions with real commands ---------------------------------------------

def words_of(pid):
    """A process's command line; of one that has ended meanwhile, nothing."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def open_session(place, *names, read_only=(), **payload):
    """An agent, with a session over these folders of the place, or over its
    share."""
    place.mounting()
    agent = Agent(place)
    folders = []
    for name in names:
        path = os.path.join(place.root, name)
        os.makedirs(path, exist_ok=True)
        folders.append({"path": path, "access": "read_only"
                        if name in read_only else "read_write"})
    if folders:
        payload["working_directories"] = folders
    answer = agent.start(**payload)
    assert answer["status"] == "ok", answer
    return agent


def sh(agent, command, **more):
    return agent.ask("agent.execute", command="sh " + command, **more)


def done(agent, command, **more):
    """The report of a command that must go well."""
    answer = sh(agent, command, **more)
    assert answer["status"] == "ok", answer
    equal((command, answer["payload"]["exit_code"]), (command, 0))
    return answer["payload"]


def write_late(fifo, path):
    """Let what a command left behind, which waits for this FIFO, write two
    bytes at path; until they are there: an undo in between would find them in
    a step of their own."""
    with open(fifo, "w") as go:
        go.write("go\n")
    assert eventually(lambda: os.path.exists(path) and
                      os.path.getsize(path) == 2, 10)


# ---- the runner --------------------------------------------------------------

def main(mounts=False):
    """Run all tests, or those whose names are given. mounts: they need mounts
    on the host."""
    if mounts and not os.access("/dev/fuse", os.W_OK):
        print("1..0 # SKIP /dev/fuse cannot be used")
        return
    chosen = [t for t in TESTS if not sys.argv[1:] or
              t.__name__ in sys.argv[1:]]
    print("1..%d" % len(chosen), flush=True)
    failed = 0
    # Most tests mainly wait; those that measure run alone.
    with ThreadPoolExecutor(4) as pool:
        early = {test: pool.submit(run_test, test) for test in chosen
                 if not getattr(test, "alone", False)}
        for future in early.values():
            future.exception()
    for number, function in enumerate(chosen, 1):
        verdict, note, lines = (early[function].result()
                                if function in early else run_test(function))
        failed += verdict != "ok"
        for line in lines:
            print("# " + line)
        print("%s %d - %s%s" % (verdict, number, function.__doc__, note),
              flush=True)
    sys.exit(failed > 0)

# SPDX-License-Identifier: Apache-2.0
"""The guest of stdio-fake-qemu, in which the shim runs."""
import base64
import ctypes
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import net_guest


def is_first():
    """Whether this start is to fail; each one adds a line to the file."""
    path = os.environ.get("STEPBACK_TEST_STARTS")
    if not path:
        return True
    with open(path, "a+") as file:
        file.write("start\n")
        file.seek(0)
        return len(file.readlines()) == 1


MODE = os.environ.get("STEPBACK_FAKE_QEMU", "")
SLOW = MODE == "panic"
TEMPLATE = os.environ.get("STEPBACK_FAKE_TEMPLATE")
STATE = b"state of the fake\n" * 20000
if MODE in ("panic", "stuck", "off", "silent") and not is_first():
    MODE = ""


def option(pattern):
    found = re.search(pattern, " ".join(sys.argv))
    return found.group(1) if found else None


def network():
    """A new socket for QEMU's end of the network."""
    return socket.socket(fileno=os.dup(int(option(r"addr.str=(\d+)"))))


def echo(wire, own_port):
    """Answer the datagrams that come to a port, as a guest that has spoken."""
    def send(frame):
        wire.sendall(struct.pack("!I", len(frame)) + frame)
    send(net_guest.arp(1, net_guest.IP, "10.0.2.2"))
    whole = wire.makefile("rb")
    while length := whole.read(4):
        found = net_guest.Packet(whole.read(struct.unpack("!I", length)[0]))
        if found.protocol == net_guest.UDP and found.dport == own_port:
            send(net_guest.udp(found.source, found.sport, found.data, own_port))


PARENT = os.getpid()


def die_together():
    """In a child: as a guest's processes end with its machine."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != PARENT:
        os._exit(1)


class Guest:
    def __init__(self, port):
        self.port = port
        self.running = None
        self.mounts = []   # as they were asked for
        self.reconnects = []
        self.chardevs = {}  # connections to daemons, by the id
        self.devices = {}   # of the folders, by the id: device_add's arguments
        self.plugs = []     # these, as they came
        self.watched = 0   # requests for reports of ports
        self.folders = {}  # where the guest has them: where they are
        self.process = None
        self.held = False
        self.reason = None  # why the guest ends at once
        self.order = []     # the messages that came
        self.restored = False

    def translate(self, text):
        for path in sorted(self.folders, reverse=True):
            text = text.replace(path, self.folders[path])
        return text

    def sh(self, message):
        """A real command, in the folders that are mounted on the host."""
        self.running = message["id"]
        self.process = subprocess.Popen(
            ["sh", "-c", self.translate(message["command"][3:])],
            cwd=self.translate(message["cwd"]), start_new_session=True,
            env=dict(os.environ, **message.get("env", {})),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        os.set_blocking(self.process.stdout.fileno(), False)

    def signal(self, number):
        if self.process:
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                pass

    def hold(self, held):
        """Nothing is read and nothing said. Processes are let be: a signal
        would interrupt what waits for a folder, and QEMU sends none."""
        self.held = held

    def poll(self):
        """Look after the command that runs, if one does."""
        if not self.process or self.held:
            return
        ended = self.process.poll()
        data = self.process.stdout.read()
        if data:
            self.send("output", id=self.running, stream="stdout",
                      data=data.decode(errors="replace"))
        if ended is not None:
            self.group = self.process.pid
            self.process = None
            left = self.has_processes()
            if ended < 0:
                self.completed(self.running, 128 - ended, signal=-ended,
                               processes=left)
            else:
                self.completed(self.running, ended, processes=left)

    def send(self, type, **members):
        self.raw(json.dumps(dict(type=type, **members)).encode() + b"\n")

    def raw(self, data):
        self.port.sendall(data)

    def completed(self, id, code, **more):
        self.running = None
        self.send("step_completed", id=id, exit_code=code, **more)

    def has_processes(self):
        """Does one of the command's processes live on? Zombies have no group
        here, since only init waits for them."""
        try:
            os.killpg(self.group, 0)
            return 1
        except ProcessLookupError:
            return 0

    @staticmethod
    def decoded(message):
        """An exec whose strings may be base64."""
        def text(value):
            return os.fsdecode(base64.b64decode(value, validate=True))
        if message.get("encoding") != "base64":
            return message
        for key in {"command", "cwd", "input"} & set(message):
            message[key] = text(message[key])
        for name, value in message.get("env", {}).items():
            message["env"][name] = text(value)
        return message

    def exec(self, message):
        """Run the function of the command's first word. Other commands run
        until they are cancelled."""
        id, words = message["id"], message["command"].split()
        self.send("step_started", id=id)
        name = words[0].replace("-", "_")
        if words[0] == "sh":
            self.sh(message)
        elif hasattr(self, "print_" + name):
            self.send("output", id=id, stream="stdout",
                      data=getattr(self, "print_" + name)(words, message))
            self.completed(id, 0)
        elif hasattr(self, "do_" + name):
            getattr(self, "do_" + name)(id, *words[1:])
            self.completed(id, 0)
        elif hasattr(self, "end_" + name):
            getattr(self, "end_" + name)(id, *words[1:])
        else:
            self.running = id

    # Commands that print this text.

    def print_echo(self, words, _):
        return " ".join(words[1:]) + "\n"

    def print_show(self, _, message):
        return json.dumps(message)

    def print_watched(self, *_):
        return str(self.watched)

    def print_mounts(self, *_):
        return json.dumps([sys.argv, self.mounts, self.reconnects, self.plugs])

    def print_order(self, *_):
        return json.dumps(self.order)

    # Commands that succeed after this.

    def do_bytes(self, id):
        self.send("output", id=id, stream="stderr", data="/wA=",
                  encoding="base64")

    def do_flood(self, id, count):
        for _ in range(int(count)):
            self.send("output", id=id, stream="stdout", data="f" * 32768)

    def do_flood_until(self, id, path):
        while not os.path.exists(path):
            self.do_flood(id, 1)

    def do_flood_line(self, _, count):
        for _ in range(int(count)):
            self.raw(b"x" * (1 << 20))
        self.raw(b"\n")

    def do_datagrams(self, _, count):
        """To the host's loopback."""
        with network() as wire:
            for port in range(10000, 10000 + int(count)):
                frame = net_guest.udp("10.0.2.2", 9, b"x", port)
                wire.sendall(struct.pack("!I", len(frame)) + frame)

    def do_serve(self, _, port):
        """The network: datagrams come back."""
        threading.Thread(target=echo, args=(network(), int(port)),
                         daemon=True).start()

    def do_port(self, _, number, address, is_open):
        self.send("port", port=int(number), protocol="tcp", address=address,
                  open=int(is_open))

    def do_unmounted(self, _, tag):
        self.send("unmounted", tag=tag, message="pump trouble")

    def do_raw(self, id, data):
        """Arbitrary bytes, in which ID stands for this command's id."""
        self.raw(base64.b64decode(data).replace(b"ID", b"%d" % id))

    def do_babble(self, id, seed, count):
        """Messages of the right kind, with this and that wrong in them."""
        chance = random.Random(int(seed))
        for _ in range(int(count)):
            message = {
                "type": chance.choice(["output", "hello", "mounted", "error",
                                       "step_started", "refreshed", "x"]),
                "id": chance.choice([id + 1, -1, 0, 1 << 62, "1", None, 1.5]),
                "stream": chance.choice(["stdout", "stderr", "", 7]),
                "data": chance.choice(["x", "%%", None, [], {"a": 1}]),
                "tag": "working", "status": chance.choice(["ok", "error", 5]),
                "message": chance.choice(["m" * 500, 1, "\u0000"]),
                "version": chance.choice([1, 2, -1, "1"])}
            for key in chance.sample(sorted(message), chance.randrange(4)):
                del message[key]
            line = bytearray(json.dumps(message).encode())
            for _ in range(chance.randrange(4)):
                at = chance.randrange(len(line))
                line[at:at + chance.randrange(3)] = bytes(
                    chance.randrange(256) for _ in range(chance.randrange(3)))
            self.raw(bytes(line).replace(b"\n", b" ") + b"\n")

    # Commands that end, or do not end, in another way.

    def end_exit(self, id, code):
        self.completed(id, int(code))

    def end_die(self, _):
        os._exit(3)

    def end_hang_up(self, _):
        self.monitor.sendall(b'{"event":"VSERPORT_CHANGE","data":'
                             b'{"open":false,"id":"control"}}\n')

    def end_misbehave(self, id):
        self.raw(b"not json\n" + b"[1]\n" + b'{"type":"nonsense"}\n')
        self.raw(b'{"type":"output","id":' + b"9" * 400 + b"}\n")
        self.raw(b"x" * (3 << 20) + b"\n")
        self.send("hello", version=1)
        self.send("mounted", tag="working", status="ok")
        self.send("output", id=id + 7, stream="stdout", data="stray")
        self.send("output", id=id, stream="nowhere", data="stray")
        self.send("output", id=id, stream="stdout", data="%%",
                  encoding="base64")
        self.send("step_completed", id=id + 7, exit_code=0)
        self.send("step_completed", id=id, exit_code=-5)
        self.send("output", id=id, stream="stdout", data="good")
        self.completed(id, 0)
        self.send("step_completed", id=id, exit_code=9)
        self.send("output", id=id, stream="stdout", data="late")

    def end_refuse(self, id):
        self.send("error", id=id, message="not today")

    def mounted(self, tag):
        """The folder of stdio-mount-daemon that has this tag."""
        base = os.environ.get("STEPBACK_TEST_MOUNTS", "")
        for device in self.devices.values():
            if device.get("tag") == tag:
                name = self.chardevs[device["chardev"]].getpeername()
                return os.path.join(
                    base, os.path.basename(name)[:-len(".sock")])
        return ""

    def save(self, path):
        """Write the machine's state to a socket. Return the error."""
        if TEMPLATE == "no-save":
            return "a device cannot be migrated"
        with socket.socket(socket.AF_UNIX) as there:
            there.connect(path)
            there.sendall(STATE[:len(STATE) // 2])
            if TEMPLATE == "slow-save":
                time.sleep(60)
            if TEMPLATE != "cut-save":
                there.sendall(STATE[len(STATE) // 2:])
        self.monitor.sendall(json.dumps({"event": "MIGRATION", "data": {
            "status": "failed" if TEMPLATE == "cut-save" else "completed"}})
            .encode() + b"\n")
        return None

    def plug(self, command, arguments):
        """QEMU's commands for the devices of folders. Return the error."""
        if command == "migrate":
            return self.save(arguments["uri"].removeprefix("unix:"))
        if command == "chardev-add":
            daemon = socket.socket(socket.AF_UNIX)
            daemon.connect(arguments["backend"]["data"]["addr"]["data"]["path"])
            self.chardevs[arguments["id"]] = daemon
        elif command == "device_add" and MODE == "noplug" and self.devices:
            return "the bus is full"
        elif command == "device_add":
            self.devices[arguments["id"]] = arguments
            self.plugs.append(arguments)
        elif command == "device_del" and MODE != "nounplug":
            del self.devices[arguments["id"]]
            self.deleted = arguments["id"]
        elif command == "chardev-remove":
            self.chardevs.pop(arguments["id"]).close()
        return None

    def hello(self, times):
        self.times = times
        self.send("hello", version=0 if MODE == "old" else 1,
                  shim_version="fake", kernel="fake",
                  takes_input=0 if MODE == "noinput" else 1,
                  takes_bytes=0 if MODE == "noinput" else 1,
                  reports_ports=0 if MODE == "noinput" else 1,
                  setup=0 if MODE == "noinput" else 1,
                  plugs_folders=0 if MODE == "unplugged" else 1,
                  renews=0 if TEMPLATE is None else 1, **times)

    def renew(self, message):
        if TEMPLATE == "no-renew" and self.restored:
            self.send("renewed", status="error", message="no entropy")
        else:
            self.send("renewed", status="ok")

    def take(self, message):
        type = message["type"]
        self.order.append(message)
        if type == "hello" and TEMPLATE != "no-answer":
            self.hello({})
        elif type == "renew":
            self.renew(message)
        if type == "mount":
            self.mounts.append(message)
        if type == "mount" and (MODE == "nomount" or (
                TEMPLATE == "no-mount" and self.restored)):
            self.send("mounted", tag=message["tag"], status="error",
                      message="no such tag")
        elif type == "mount" and MODE == "nosee" and len(self.mounts) > 1:
            self.send("mounted", tag=message["tag"], status="error",
                      message="is there a device with this tag?")
        elif type == "mount":
            self.folders[message["path"]] = self.mounted(message["tag"])
            self.send("mounted", tag=message["tag"], status="ok")
        elif type == "unmount" and MODE == "busy" and not message["force"]:
            self.send("unmounted", tag=message["tag"], status="error",
                      message="a process uses it")
        elif type == "unmount":
            self.mounts = [m for m in self.mounts
                           if m["tag"] != message["tag"]]
            self.send("unmounted", tag=message["tag"], status="ok")
        elif type == "watch_ports":
            self.watched += 1
        elif type == "exec":
            self.exec(self.decoded(message))
        elif type == "cancel" and MODE == "deaf":
            pass
        elif type == "cancel" and self.process:
            self.signal(signal.SIGKILL)
        elif type == "cancel" and MODE == "late":
            self.send("error", id=message["id"],
                      message="no such command is running")
            self.completed(message["id"], 1)
        elif type == "cancel" and self.running == message["id"]:
            self.completed(message["id"], 143, signal=15)
        elif type == "shutdown" and MODE != "stubborn":
            sys.exit(0)


class ShimGuest(Guest):
    """The real shim, but for mounts and the end of the machine."""

    def __init__(self, port, bulk):
        super().__init__(port)
        self.shim, theirs = socket.socketpair()
        program = os.path.join(os.environ["STEPBACK_TEST_BUILD"],
                               "stepback-shim")
        place = os.path.dirname(os.environ.get("STEPBACK_TEST_MOUNTS", "/"))
        socket_path = os.path.join(place, "guest-%d" % os.getpid(), "socket")
        self.root = os.path.dirname(socket_path) + ".root"
        os.makedirs(self.root, exist_ok=True)
        self.child = subprocess.Popen(
            [program, "--port=%d" % theirs.fileno(), "--bulk=%d" % bulk, "--no-init",
             "--step-socket=" + socket_path, "--root=" + self.root,
             *os.environ.get("STEPBACK_TEST_SHIM", "").split()],
            pass_fds=[theirs.fileno(), bulk], preexec_fn=die_together)
        theirs.close()
        os.close(bulk)

    def exec(self, message):
        coded = message.get("encoding") == "base64"
        for key in {"cwd", "command"} & set(message):
            text = message[key]
            if coded:
                text = os.fsdecode(base64.b64decode(text))
            text = self.translate(text)
            if key == "cwd" and not os.path.isdir(text):
                text = "/"
            message[key] = base64.b64encode(
                os.fsencode(text)).decode() if coded else text
        self.tell(message)

    @staticmethod
    def decoded(message):
        return message

    def tell(self, message):
        self.shim.sendall(json.dumps(message).encode() + b"\n")

    def take(self, message):
        if message["type"] in ("mount", "unmount", "exec"):
            super().take(message)
        elif message["type"] == "shutdown":
            self.child.kill()
            sys.exit(0)
        else:
            self.tell(message)

    def relay(self):
        data = self.shim.recv(65536)
        self.port.sendall(data)
        return bool(data)

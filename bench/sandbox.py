# SPDX-License-Identifier: Apache-2.0
"""Sandboxes to measure: the real shim on the host, in place of a guest
(bench/quick-guest.c), or a VM."""

import json
import os
import re
import shutil
import socket
import subprocess

from measure import Skipped, fresh_folder

CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))


def host_environment(settings, base, **more):
    """Return the environment of a supervisor whose QEMU is quick-guest, with an
    image and all state below base."""
    image = os.path.join(base, "cache", "stepback", "guest", "minimal")
    for path in (image, base + "/run", base + "/share"):
        os.makedirs(path, 0o700)
    for name in ("vmlinuz", "initrd"):
        open(os.path.join(image, name), "wb").close()
    return dict(os.environ, XDG_CACHE_HOME=base + "/cache",
                XDG_STATE_HOME=base + "/state",
                XDG_RUNTIME_DIR=base + "/run",
                STEPBACK_LIBEXECDIR=settings.build,
                STEPBACK_QEMU=os.path.join(settings.build, "bench",
                                           "quick-guest"), **more)


def vm_environment(settings, base):
    """Return the environment of a supervisor that boots a guest."""
    for path in (base + "/run", base + "/share"):
        os.makedirs(path, 0o700)
    if not (shutil.which("qemu-system-x86_64") and
            os.path.exists(CACHE + "/stepback/guest/minimal/image.json")):
        raise Skipped("there is no QEMU, or no guest image 'minimal'")
    return dict(os.environ, XDG_STATE_HOME=base + "/state",
                XDG_RUNTIME_DIR=base + "/run",
                STEPBACK_LIBEXECDIR=settings.build)


def program(settings):
    """Return stepback's path, and what its environment needs: not libtool's
    script, which takes longer to start than the program."""
    libraries = os.path.join(settings.build, "interceptor/.libs")
    path = os.path.join(settings.build, ".libs/stepback")
    if os.path.exists(path):
        return path, {"LD_LIBRARY_PATH": libraries}
    return os.path.join(settings.build, "stepback"), {}


class Sandbox:
    def __init__(self, settings, vm=False, options=()):
        self.base = fresh_folder(os.path.join(settings.work, "sandbox"))
        self.share = self.base + "/share"
        self.program, environment = program(settings)
        # On the host there is no /mnt/working.
        self.folder = [] if vm else ["-w", self.base]
        self.env = vm_environment(settings, self.base) if vm else \
            host_environment(settings, self.base, STEPBACK_BENCH_SHIM=os.path
                             .join(settings.build, "stepback-shim"))
        self.env.update(environment)
        self.run("up", "--accel=tcg", *options)

    def run(self, *words, **more):
        """Run a command of stepback. Return its output."""
        done = subprocess.run([self.program, *words], env=self.env,
                              cwd=self.share, check=True,
                              stdout=subprocess.PIPE, **more)
        return done.stdout

    def start(self, *words, **more):
        return subprocess.Popen([self.program, *words], env=self.env,
                                cwd=self.share, **more)

    def exec_words(self, *command, step="none", options=()):
        return ["exec", "-q", "--step=" + step, *self.folder, *options, "--",
                *command]

    def exec(self, *command, step="none", options=(), **more):
        return self.run(*self.exec_words(*command, step=step, options=options),
                        **more)

    def inspect(self):
        """Return the sandbox's entry in the list."""
        return json.loads(self.run("ps", "-a", "--json"))[0]

    def peak_bytes(self):
        """Return the largest resident set that the supervisor has had."""
        with open("/proc/%d/status" % self.supervisor()) as file:
            return int(re.search(r"VmHWM:\s*(\d+)", file.read()).group(1)) << 10

    def supervisor(self):
        path = os.path.join(self.base, "state/stepback/sandboxes",
                            self.inspect()["name"], "run.json")
        with open(path, encoding="utf-8") as file:
            return json.load(file)["pid"]

    def client(self):
        return Client(self.inspect()["api_socket"])

    def stop(self):
        subprocess.run([self.program, "kill", "share"], env=self.env,
                       cwd=self.share, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)


class Client:
    """A client of a sandbox's API."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")
        self.last = 0
        self.until(lambda m: m["type"] == "event.ready")

    def until(self, wanted):
        while True:
            message = json.loads(self.lines.readline())
            if message.get("status") == "error":
                raise RuntimeError(message["error"]["message"])
            if wanted(message):
                return message.get("payload")

    def send(self, type, **payload):
        self.last += 1
        request = {"type": type, "request_id": str(self.last),
                   "payload": payload}
        self.socket.sendall(json.dumps(request).encode() + b"\n")

    def ask(self, type, **payload):
        self.send(type, **payload)
        return self.until(lambda m: m.get("request_id") == str(self.last))

    def run(self, **payload):
        """Run a command to its end."""
        self.ask("exec.start", **payload)
        return self.until(lambda m: m["type"] == "event.exec_exited")

    def close(self):
        self.lines.close()
        self.socket.close()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The MCP server with clients that others have written: both generations of the
TypeScript SDK, the Inspector, and the protocol's conformance suite. They come
from npm, in the versions that tests/mcp/package-lock.json names, into the build
folder. Over the real daemon and a fake QEMU.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import mcp_http  # noqa: E402
from stdio_client import BUILDDIR, PROGRAM, SRCDIR, Place  # noqa: E402

SOURCES = os.path.abspath(os.path.join(SRCDIR, "tests", "mcp"))
HERE = os.path.join(BUILDDIR, "tests/mcp/mcp-npm")
MODULES = os.path.join(HERE, "node_modules")
INSPECTOR = os.path.join(MODULES, "@modelcontextprotocol", "inspector",
                         "clients", "launcher", "build", "index.js")
CONFORMANCE = os.path.join(MODULES, "@modelcontextprotocol", "conformance",
                           "dist", "index.js")
TESTS = []


def test(name):
    def add(function):
        TESTS.append((name, function))
        return function
    return add


def equal(a, b):
    assert a == b, "%r is not %r" % (a, b)


def npm(*words):
    return subprocess.run(["npm", *words], cwd=HERE, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)


def install():
    """Why the packages are not there, or None."""
    stamp = os.path.join(HERE, "installed")
    lock = os.path.join(SOURCES, "package-lock.json")
    with open(lock) as file:
        wanted = file.read()
    if os.path.exists(stamp) and open(stamp).read() == wanted:
        return None
    if not shutil.which("npm"):
        return "npm is not installed"
    shutil.rmtree(HERE, ignore_errors=True)
    os.makedirs(HERE)
    for name in ("package.json", "package-lock.json", "clients.mjs"):
        shutil.copy(os.path.join(SOURCES, name), HERE)
    done = npm("ci", "--ignore-scripts", "--no-audit", "--no-fund")
    if done.returncode != 0 and npm("ping").returncode != 0:
        return "npm does not reach its registry"
    assert done.returncode == 0, done.stderr
    with open(stamp, "w") as file:
        file.write(wanted)
    return None


def node():
    """The Node of the packages: distributions' are too old for some."""
    return glob.glob(MODULES + "/node-linux-*/bin/node")[0]


def run(*words, place=None, patience=120, env=None, **more):
    done = subprocess.run(list(words), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=patience,
                          env=place.environment(**env or {}) if place
                          else None, **more)
    assert done.returncode == 0, "exit %d\n%s\n%s" % (
        done.returncode, done.stdout[-4000:], done.stderr[-4000:])
    return done.stdout


# ---- the SDK's clients ------------------------------------------------------

def sdk_test(kind, era):
    def check(place):
        shutil.copy(os.path.join(SOURCES, "clients.mjs"), HERE)
        with open(place.share + "/big", "w") as file:
            file.write("x" * 5000)
        allowed = place.root + "/allowed"
        os.mkdir(allowed)
        with open(allowed + "/f", "w") as file:
            file.write("text")
        run(node(), os.path.join(HERE, "clients.mjs"), kind, era, PROGRAM,
            "mcp", "-C", place.share, "--accel=tcg", "--ask-overwrites=1000",
            "--copy-folder=" + allowed, place=place,
            env={"STEPBACK_FAKE_QEMU": "shim"})
        equal(sorted(os.listdir(allowed)), ["copied", "f"])
        with open(place.share + "/big") as file:
            equal(file.read(), "x" * 5000)
    return check


for _kind, _era in (("sdk", "legacy"), ("client", "legacy"),
                    ("client", "auto"), ("client", "modern")):
    test("the TypeScript SDK, @modelcontextprotocol/%s, %s" %
         (_kind, _era))(sdk_test(_kind, _era))


# ---- the Inspector ----------------------------------------------------------

def inspect(place, era, *words):
    """The server gets of our environment only what is named."""
    named = [word for key, value in place.environment().items()
             if value and value != os.environ.get(key)
             for word in ("-e", "%s=%s" % (key, value))]
    return json.loads(run(
        node(), INSPECTOR, "--cli", PROGRAM, "mcp", "-C", place.share,
        "--accel=tcg", *named, "--protocol-era", era, "--format", "json",
        "--quiet", *words, place=place))


def inspector_test(era):
    def check(place):
        answer = inspect(place, era, "--method", "tools/list")
        tools = answer.get("result", answer)["tools"]
        equal(len(tools), 20)
        answer = inspect(place, era, "--method", "tools/call", "--tool-name",
                         "execute_command", "--tool-arg",
                         "command=echo from the inspector")
        result = answer.get("result", answer)
        equal(result["structuredContent"]["stdout"], "from the inspector\n")
    return check


for _era in ("legacy", "auto", "modern"):
    test("the Inspector's command line, %s" % _era)(inspector_test(_era))


# ---- the conformance suite --------------------------------------------------

def conformance_test(version):
    def check(place):
        path = place.root + "/everything.sock"
        everything = subprocess.Popen(
            [os.path.join(BUILDDIR, "tests/mcp/mcp-everything"),
             os.path.join(SOURCES, "everything.json"), path])
        try:
            while not os.path.exists(path):
                time.sleep(0.01)
            http = mcp_http.serve(path)
            url = "http://127.0.0.1:%d/mcp" % http.server_address[1]
            output = run(
                node(), CONFORMANCE, "server", "--url", url, "--requirements",
                version, "--expected-failures",
                os.path.join(SOURCES, "expected-failures.yml"),
                cwd=place.root, patience=300)
            for line in output.splitlines():
                if re.match(r"✗|\s*(Total|Not scored)", line):
                    print("# " + line)
            assert len(re.findall("^✓", output, re.M)) >= 30, output
            http.shutdown()
            equal(everything.poll(), None)
        finally:
            everything.kill()
            everything.wait()
    return check


for _version in ("2025-11-25", "2026-07-28"):
    test("the conformance suite, %s" % _version)(conformance_test(_version))


def main():
    why = install()
    if why:
        print("1..0 # SKIP %s" % why)
        return
    wanted = sys.argv[1:]
    tests = [t for t in TESTS if not wanted or
             any(re.search(w, t[0]) for w in wanted)]
    print("1..%d" % len(tests), flush=True)
    failed = 0
    for number, (name, function) in enumerate(tests, 1):
        place = Place()
        started = time.monotonic()
        verdict = "ok"
        try:
            function(place)
        except Exception:
            verdict = "not ok"
            failed += 1
            for line in traceback.format_exc().splitlines():
                print("# " + line)
        place.remove()
        print("%s %d - %s" % (verdict, number, name))
        print("# %.1f s" % (time.monotonic() - started), flush=True)
    sys.exit(failed > 0)


main()

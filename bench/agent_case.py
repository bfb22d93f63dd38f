# SPDX-License-Identifier: Apache-2.0
"""The latency that the supervisor adds to a command: from a frontend's request to
the guest, and from the guest's output to the frontend (bench/quick-guest.c).

Numbers are medians over a session's commands. In a folder with undo, "to the
guest" includes the time in which the engine opens the step, in the daemon's
process; in a read-only folder there is no step, and only the supervisor's time
remains."""

import json
import os
import statistics
import subprocess
import time

from measure import Result, fresh_folder, in_turn
from sandbox import host_environment


class Frontend:
    def __init__(self, settings):
        base = fresh_folder(os.path.join(settings.work, "agent"))
        env = host_environment(settings, base)
        self.share = base + "/share"
        self.process = subprocess.Popen(
            [os.path.join(settings.build, "stepback"), "agent", "--log-level",
             "error"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            bufsize=0)
        self.rest = b""

    def lines(self):
        """Return the next lines and their time of arrival in ns."""
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        now = time.monotonic_ns()
        if not data:
            raise RuntimeError("the supervisor has exited")
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [json.loads(line) for line in lines], now

    def ask(self, type, **payload):
        """Send a request. Return the time of sending, the output and its time."""
        line = json.dumps({"type": type, "request_id": "1",
                           "payload": payload}).encode() + b"\n"
        sent, output = time.monotonic_ns(), None
        os.write(self.process.stdin.fileno(), line)
        while True:
            messages, now = self.lines()
            for message in messages:
                if message["type"] == "event.terminal_output":
                    output = message["payload"]["data"], now
                elif message["type"] == "response":
                    if message["status"] != "ok":
                        raise RuntimeError(message["error"]["message"])
                    return sent, output

    def command(self):
        sent, (text, came) = self.ask("agent.execute", command="x")
        taken, told = map(int, text.split())
        return (taken - sent) / 1e9, (came - told) / 1e9

    def end(self):
        self.process.stdin.close()
        self.process.wait(20)


def measure(settings, access):
    frontend = Frontend(settings)
    try:
        frontend.ask("session.start", vm={"accel": "tcg"},
                     working_directories=[{"path": frontend.share,
                                           "access": access}])
        times = [frontend.command() for _ in range(settings.scaled(500, 5))]
    finally:
        frontend.end()
    to_guest, to_frontend = zip(*times)
    return {"to the guest": statistics.median(to_guest),
            "to the frontend": statistics.median(to_frontend)}


def case_agent(settings):
    result = Result("agent", "latency that the supervisor adds to a command, in "
                    "a session with a guest of zero latency")
    in_turn(result, {
        "agent": lambda: measure(settings, "read_only"),
        "agent and engine": lambda: measure(settings, "read_write"),
    }, settings.rounds)
    result.limit("agent", "to the guest", 200e-6)
    result.limit("agent", "to the frontend", 200e-6)
    result.limit("agent and engine", "to the frontend", 200e-6)
    return result

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""frontend - a minimal frontend of "stepback agent": runs a command in some folders,
asks for a decision when a safeguard triggers, prints the changes, and undoes them
on request. stepback-api(7) documents all requests and events.

    frontend.py COMMAND FOLDER...
"""
import base64
import itertools
import json
import os
import subprocess
import sys


class Agent:
    def __init__(self):
        self.ids = itertools.count(1)
        self.process = subprocess.Popen(
            [os.environ.get("STEPBACK", "stepback"), "agent", "--log-level=error"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")

    def send(self, operation, **payload):
        request = {"type": operation, "request_id": str(next(self.ids)),
                   "payload": payload}
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return request["request_id"]

    def ask(self, operation, **payload):
        """Return the request's response. Events precede it."""
        request_id = self.send(operation, **payload)
        for line in self.process.stdout:
            message = json.loads(line)
            if message["type"] != "response":
                self.take_event(message["type"], message["payload"])
            elif message["request_id"] == request_id:
                return message
        sys.exit("the supervisor has exited")

    def take_event(self, event, payload):
        if event == "event.terminal_output":
            data = payload["data"].encode()
            if payload.get("encoding") == "base64":
                data = base64.b64decode(data)
            to = sys.stdout if payload["stream"] == "stdout" else sys.stderr
            to.buffer.write(data)
            to.flush()
        elif event == "event.safeguard_triggered":
            print(payload["message"], *payload["sample_paths"], sep="\n  ")
            self.send("safeguard.confirm", safeguard_id=payload["safeguard_id"],
                      action="allow" if agreed("Allow it?") else "deny")
        elif event in ("event.warning", "event.error", "event.recovery"):
            print(event, payload.get("message", ""), file=sys.stderr)


def agreed(question):
    print(question, "[y/n] ", end="", flush=True)
    return sys.stdin.readline().strip() == "y"


def payload_of(response):
    if response["status"] != "ok":
        sys.exit("%(code)s: %(message)s" % response["error"])
    return response["payload"]


def main(command, *folders):
    agent = Agent()
    payload_of(agent.ask("session.start", safeguard={"delete_threshold": 3},
                         working_directories=[{"path": os.path.abspath(folder)}
                                              for folder in folders]))
    # A denied command is an error, too, and has been rolled back already.
    report = payload_of(agent.ask("agent.execute", command=command))
    print("exit code", report["exit_code"])
    for change in report["changes"]:
        print("%(change)s %(directory)s: %(path)s" % change)
    if report["undoable"] and not agreed("Keep it?"):
        payload_of(agent.ask("undo.rollback", step_id=report["step_id"]))
        print("undone")
    payload_of(agent.ask("session.stop"))


if len(sys.argv) < 3:
    sys.exit("usage: frontend.py COMMAND FOLDER...")
main(*sys.argv[1:])

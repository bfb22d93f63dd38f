#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""In place of stepback-net: take any policy but one with 192.0.2.1, which is
refused, and one with 192.0.2.2, which gets no answer."""
import json
import socket
import sys

fds = {word.split("=")[0]: word.split("=")[1] for word in sys.argv[1:]}
control = socket.socket(fileno=int(fds["--control-fd"]))
answers = control.makefile("w", encoding="utf-8")
for line in control.makefile("r", encoding="utf-8"):
    message = json.loads(line)
    answer = {"status": "ok", "payload": {}}
    if "192.0.2.1" in line:
        answer = {"status": "error",
                  "error": {"code": "invalid_field", "message": "no"}}
    if "192.0.2.2" not in line:
        answers.write(json.dumps({"type": "response", **answer,
                                  "request_id": message["request_id"]}) + "\n")
        answers.flush()

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""In place of stepback-proxy: ask for certificates, report requests, and write
down what the supervisor sends, in the file STEPBACK_TEST_OUT. The first policy
of any process that has "refused.example.org" is refused."""
import fcntl
import json
import os
import socket
import sys

fds = {word.split("=")[0]: word.split("=")[1] for word in sys.argv[1:]}
control = socket.socket(fileno=int(fds["--control-fd"]))
trust = int(fds["--trust-fd"])
lines = control.makefile("r", encoding="utf-8")
answers = control.makefile("w", encoding="utf-8")


def tell(out, message):
    out.write(json.dumps(message) + "\n")
    out.flush()


def send(type, **payload):
    tell(answers, {"type": type, "payload": payload})


def refuses(message):
    """Remembered for the next process, beside the file."""
    if "refused.example.org" not in json.dumps(message) or \
            os.path.exists(os.environ["STEPBACK_TEST_OUT"] + ".refused"):
        return False
    with open(os.environ["STEPBACK_TEST_OUT"] + ".refused", "x",
              encoding="utf-8"):
        return True


with open(os.environ["STEPBACK_TEST_OUT"], "w", encoding="utf-8") as out:
    sealed = fcntl.fcntl(trust, fcntl.F_GET_SEALS)
    text = os.read(trust, 10 << 20).decode()
    tell(out, {"type": "trust", "payload": {"sealed": sealed, "text": text}})
    for line in lines:
        message = json.loads(line)
        tell(out, message)
        if refuses(message):
            tell(answers, {"type": "response", "status": "error",
                           "request_id": message["request_id"],
                           "error": {"code": "invalid_field",
                                     "message": "no such policy"}})
            continue
        tell(answers, {"type": "response", "request_id": message["request_id"],
                       "status": "ok", "payload": {}})
        if message["type"] == "configure":
            name = "api.example.org"
            send("event.request", id=4, name=name, port=443, method="PUT", path="/v2",
                 status=403, verdict="refused", reason="no",
                 allow="PUT:api.example.org/v2")
            # Taken over by the guest, which is not to choose what is allowed.
            send("event.request", id=4, name=name, port=443, method="GET", path="/v1",
                 status=200, verdict="allowed", reason=None, allow="evil.example.org")
            send("event.requests_untold", count=3)
            # Only of an upstream proxy: there are no queries for names.
            upstreams = message["payload"]["upstreams"]
            for number, port in enumerate((443, 80) if upstreams[0] else ()):
                send("event.resolve", id=number, name="plain.org", port=port)
            for name in ("API.example.org", "other.example.org", "plain.org"):
                send("event.certificate", name=name)

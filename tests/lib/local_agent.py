# SPDX-License-Identifier: Apache-2.0
"""The API with sandboxes of local isolation, as root and as an ordinary user."""
import shutil

from local_case import AS_USER, USER, give, need
from stdio_client import Agent, folder, ok


def begin(place, user=False, **payload):
    """A session over the share; PAYLOAD adds to the request that starts it."""
    need()
    wrapper, env = (), {}
    if user:
        give(place)
        shutil.rmtree(place.root + "/devices", ignore_errors=True)
        devices = folder(place, "devices")
        wrapper = ("unshare", "-m", "sh", "-c", AS_USER, "sh", devices, str(USER))
        env = {"HOME": place.root + "/home"}
    agent = Agent(place, wrapper=wrapper, STEPBACK_QEMU=None,
                  XDG_STATE_HOME=place.root + "/state", **env)
    payload.setdefault("network_policy", "disabled")
    payload.setdefault("working_directories", [{"path": place.share}])
    ok(agent.ask("session.start", isolation="local", **payload))
    return agent

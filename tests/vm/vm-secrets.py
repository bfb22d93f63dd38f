#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets in a virtual machine: its clients use them, and neither the machine's
memory nor any record has them. The first machine is started twice.

It is skipped without QEMU or the image debian (STEPBACK_TEST_IMAGE names another).
"""
import hashlib
import os
import secrets
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import guest_start  # noqa: E402
import names_world  # noqa: E402
from memory_search import forms, search  # noqa: E402
from sandbox_case import Client, sandbox_test  # noqa: E402
from stdio_client import PROGRAM, Skip, contains, equal, main  # noqa: E402

IMAGE = os.environ.get("STEPBACK_TEST_IMAGE", "debian")
CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
ADDED = "/usr/local/share/ca-certificates/stepback-host.crt"
API, LISTED, OTHER = "api.example.test", "other.example.test", "a.b.example.test"
VALUE = secrets.token_hex(20)
WORLD = None

# Python sends the header to the host of a redirect, too.
GET = """
import os, sys, urllib.error, urllib.request
for url in sys.argv[1:]:
    request = urllib.request.Request(
        url, headers={"Authorization": "Bearer " + os.environ["TOKEN"]})
    try:
        print(urllib.request.urlopen(request, timeout=60).read().decode())
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode().split(":")[0])
"""


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Box:
    def __init__(self, place, image):
        if not (shutil.which("qemu-system-x86_64") and os.path.exists(
                os.path.join(CACHE, "stepback/guest", image, "image.json"))):
            raise Skip("there is no QEMU or no image " + image)
        self.place, self.image = place, image
        self.env = place.environment(STEPBACK_QEMU=None, XDG_CACHE_HOME=CACHE,
                                     MY_TOKEN=VALUE)
        self.vm = guest_start.plan(self.env, image)

    def run(self, *words):
        return subprocess.run([PROGRAM, *words], env=self.env, timeout=180,
                              cwd=self.place.share, capture_output=True, text=True)

    def text(self, *words):
        done = self.run(*words)
        equal((words, done.returncode, done.stderr), (words, 0, done.stderr))
        return done.stdout

    def up(self, *words):
        self.text("up", "--image=" + self.image, *words,
                  *([] if self.vm["template"] else ["--no-template"]))

    def say(self, command):
        """The output of a command in the guest."""
        return self.run("exec", "-q", "--step=none", "box", "--", "sh", "-c",
                        command + " 2>&1").stdout

    def programs(self):
        """The processes by the names of their programs."""
        found = {}
        for pid in self.place.processes():
            name = os.path.basename(os.readlink("/proc/%d/exe" % pid))
            found.setdefault(name, []).append(pid)
        return found


def clients_use_them(box):
    """Servers that the secret lists get the value, and no other; no header of a
    response brings it back."""
    ask = 'curl -sS -m 60 -H "Authorization: Bearer $TOKEN" '
    equal(box.say(f"{ask} https://{API}/authorization; echo; "
                  f"curl -sS -m 60 -u me:$TOKEN https://{API}/basic"),
          digest("Bearer " + VALUE) + "\n" + digest("me:" + VALUE))
    placeholder = box.say("printf %s $TOKEN")
    answer = box.say(f"{ask} -i https://{API}/reflect")
    equal(answer.count(placeholder), 2)
    contains(answer, "X-Given: Bearer " + placeholder)
    with open(box.place.share + "/get.py", "w", encoding="ascii") as file:
        file.write(GET)
    equal(box.say(f"python3 get.py https://{API}/authorization "
                  f"https://{API}/to/{LISTED} https://{API}/to/{OTHER}"),
          digest("Bearer " + VALUE) + "\n" + digest("Bearer " + VALUE) +
          f"\n403 Stepback refused this request to {OTHER}\n")
    if "/" in box.say("command -v node"):
        equal(box.say("node -e 'fetch(\"https://%s/authorization\", {headers: "
                      "{authorization: \"Bearer \" + process.env.TOKEN}}).then("
                      "async r => console.log(await r.text()))'" % API),
              digest("Bearer " + VALUE) + "\n")
    client = Client(box.place, "box")
    shown = client.ask("network.connections")["payload"]["requests"]
    client.close()
    refused = [one for one in shown if one["verdict"] == "refused"]
    equal(len(refused), 1)
    contains(refused[0]["reason"], "secret")


def memory_lacks_them(box):
    """The machine's memory, and that of its servers, has what the guest had."""
    control, needles = secrets.token_hex(20).encode(), forms(VALUE.encode())
    # In a file system in memory.
    equal(box.say("text=%s; { echo $text; printf %%s xx$text | base64; } >/run/control"
                  % control.decode()), "")
    programs = box.programs()
    machine = programs.pop("qemu-system-x86_64")
    equal(len(machine), 1)
    found = search(machine[0], needles | forms(control))
    equal((len(found), found & needles), (2, set()))
    # The proxy alone has the value, apart from the supervisor.
    for pid in programs.pop("stepback-proxy"):
        contains(search(pid, needles), VALUE.encode())
    programs.pop("stepback")
    equal(sorted(programs), ["stepback-net", "stepback-virtiofsd"])
    for pid in sum(programs.values(), []):
        equal((pid, search(pid, needles)), (pid, set()))


def records_lack_them(box):
    """No output and no file has the value, and no process leaves a core dump."""
    contains(box.text("secret", "box"), "env:MY_TOKEN")
    for words in (("inspect", "box"), ("logs", "box"), ("audit", "box", "--json"),
                  ("net", "box", "--json"), ("secret", "box", "--json")):
        assert VALUE not in box.text(*words), words
    equal(subprocess.run(["grep", "-rlF", VALUE, box.place.root], check=False,
                         stdout=subprocess.PIPE).stdout, b"")
    programs = box.programs()
    for pid in programs["stepback"] + programs["stepback-proxy"]:
        with open("/proc/%d/limits" % pid, encoding="ascii") as file:
            soft, = (line.split()[4] for line in file if "core file" in line)
        assert soft in "01", (pid, soft)


def a_start_has_its_authority(box):
    """The authority of an earlier start is not trusted, and its name leads to
    nothing."""
    box.say(f"cp {ADDED} old.crt")
    box.text("stop", "box")
    box.up("box")
    with open(box.place.share + "/old.crt", encoding="ascii") as file:
        old = file.read().rpartition("-----BEGIN")[2]
    assert old not in box.say("cat " + BUNDLE)
    contains(box.say(f"curl -sS -m 60 --cacert old.crt https://{API}/"), "curl: (60)")
    contains(box.say(f"curl -sS -m 60 https://{API}/x"), "GET /x " + API)


@sandbox_test
def secrets_stay_outside(place):
    """clients of a machine use secrets, which are in no memory and no record of it"""
    box = Box(place, IMAGE)
    box.up("--network=%s,%s,intercept:%s" % (API, LISTED, OTHER),
           "--ca-certificates", WORLD.folder + "/cert.pem",
           "--secret=TOKEN=env:MY_TOKEN@%s,%s" % (API, LISTED), "box")
    clients_use_them(box)
    memory_lacks_them(box)
    records_lack_them(box)
    a_start_has_its_authority(box)
    box.text("stop", "box")
    equal(place.processes(), [])


@sandbox_test
def without_tls(place):
    """a secret is not sent without TLS, and an image without clients has the trust"""
    box = Box(place, "minimal")
    box.up("--network=" + API, "--secret=TOKEN=env:MY_TOKEN@" + API, "box")
    contains(box.say('wget -qO- --header "Authorization: Bearer $TOKEN" http://%s/'
                     % API), "403 Forbidden")
    equal(box.say(f"tail -n1 {BUNDLE}; echo $NODE_EXTRA_CA_CERTS"),
          f"# END certificates of the host (stepback)\n{ADDED}\n")
    memory_lacks_them(box)
    box.text("stop", "box")
    equal(place.processes(), [])


if __name__ == "__main__":
    with names_world.entered() as WORLD:
        main()

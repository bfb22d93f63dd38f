# SPDX-License-Identifier: Apache-2.0
"""Real clients under policies of the network: a table of rows and columns.

With STEPBACK_TEST_ALL=1 all entries are made. Without it slow rows (npm, pip) have the
columns "slow" alone, and the columns that judge names and addresses alone have the
rows "short". A machine without KVM takes seconds for each entry: it has the short rows
and some columns, as its trust store and its resolver differ.

A row is a client, which runs as a shell script in the sandbox and must print its
mark; a column is a policy. The servers are those of client_servers.py. All rows of a
column run by one command of a sandbox that serves the whole table, so that a machine
boots once. A client that the sandbox lacks, or whose server the host lacks, is
skipped.
"""
import collections
import os
import textwrap

from client_servers import H2, NAME, PACKAGE, REGISTRY, URL
from sandbox_case import kill_all
from stdio_client import TESTS, Place, Skip, contains, equal, ok

H2_NAME = "h2.example.test"
WEB, SSH = "web", "ssh"
SHORT, USUAL, SLOW = "short", "usual", "slow"

# ---- the rows ----------------------------------------------------------------

PYTHON_SSL = f"""
import socket, ssl
plain = socket.create_connection(("{NAME}", 443), 60)
tls = ssl.create_default_context().wrap_socket(plain, server_hostname="{NAME}")
issuer = dict(pair for part in tls.getpeercert()["issuer"] for pair in part)
print("issued by", issuer["commonName"])
tls.sendall(b"GET /hello HTTP/1.0\\r\\nHost: {NAME}\\r\\n\\r\\n")
while got := tls.recv(65536):
    print(got.decode())
"""
PYTHON_HTTP = f"""
import urllib.request
print(urllib.request.urlopen("{URL}/hello", timeout=60).read().decode())
"""
EVENTS = f"""
import urllib.request
with urllib.request.urlopen("{URL}/events", timeout=60) as events:
    print(events.readline(), events.readline())
    urllib.request.urlopen("{URL}/acknowledge", timeout=60).read()
    print(events.read())
"""
WEBSOCKET = f"""
import base64, hashlib, os, socket, ssl
plain = socket.create_connection(("{NAME}", 443), 60)
tls = ssl.create_default_context().wrap_socket(plain, server_hostname="{NAME}")
key = base64.b64encode(os.urandom(16))
tls.sendall(b"GET /ws HTTP/1.1\\r\\nHost: {NAME}\\r\\nUpgrade: websocket\\r\\n"
            b"Connection: Upgrade\\r\\nSec-WebSocket-Version: 13\\r\\n"
            b"Sec-WebSocket-Key: " + key + b"\\r\\n\\r\\n")
stream = tls.makefile("rb")
head = b"".join(iter(stream.readline, b"\\r\\n"))
wanted = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
assert base64.b64encode(wanted) in head, head
for text in (b"one frame", b"another frame"):
    tls.sendall(bytes([0x81, 0x80 | len(text)]) + bytes(4) + text)
    print(stream.read(2 + len(text)))
"""
FETCH = f"""
fetch("{URL}/hello").then(answer => answer.text()).then(console.log)
"""
GRPC = f"""
const http2 = require("node:http2");
const session = http2.connect("https://{H2_NAME}");
session.on("error", error => {{ console.log(error.code); process.exit(1); }});
const stream = session.request({{":method": "POST", ":path": "/v1/echo"}});
stream.on("error", error => {{ console.log(error.code); process.exit(1); }});
stream.on("response", head => {{
    if (head[":status"] !== 200) process.exit(1);
}});
let heard = 0;
stream.on("data", data => {{
    console.log("heard", data.toString());
    if (++heard < 3) stream.write("message " + heard); else stream.end();
}});
stream.on("trailers", last => {{
    console.log("trailer", last["x-sum"]);
    session.close();
}});
stream.write("message 0");
"""
APT = f"""
mkdir -p lists/partial archives/partial etc
echo "deb [arch=amd64 trusted=yes] {URL}/apt stable main" >etc/sources.list
apt() {{
    apt-get -q -o Dir::State::lists="$PWD/lists" -o Dir::Cache="$PWD" \\
        -o Dir::Etc="$PWD/etc" -o Dir::State::status=/dev/null \\
        -o APT::Sandbox::User=root -o Acquire::Retries=0 \\
        -o APT::Update::Error-Mode=any -o Acquire::https::Timeout=60 "$@"
}}
apt update && apt download {PACKAGE} && apt-get --version >&2 &&
    dpkg-deb --fsys-tarfile *.deb | tar xO ./usr/share/world
"""
NPM = f"""
HOME=$PWD npm install --registry={URL}/npm/ --no-audit --no-fund --fetch-retries=0 \\
    --update-notifier=false --prefix=here {PACKAGE} &&
    node here/node_modules/{PACKAGE}/index.js
"""
PIP = f"""
install() {{
    HOME=$PWD "$@" install --disable-pip-version-check --no-cache-dir --retries=0 \\
        --no-deps --no-compile --index-url={URL}/pip/ --target=here {PACKAGE}
}}
if /usr/bin/python3 -c 'import pip' 2>/dev/null; then
    install /usr/bin/python3 -m pip
else
    install /usr/bin/python3 "$(echo /usr/share/python-wheels/pip-*.whl)/pip"
fi && /usr/bin/python3 here/world_package.py
"""
S_CLIENT = f"""
printf 'GET /hello HTTP/1.0\\r\\nHost: {NAME}\\r\\n\\r\\n' |
    openssl s_client -quiet -verify_return_error -ignore_unexpected_eof \\
        -connect {NAME}:443 -servername {NAME}
"""
PUSH = f"""
git init -q . && git -c user.name=w -c user.email=w@example.test commit -q \\
    --allow-empty -m pushed &&
    git push -q {URL}/git/repository.git HEAD:refs/heads/pushed-$$ &&
    echo pushed to the world
"""
# The key must belong to the user and be private.
KEY = """
cp "$FOLDER/ssh_key" key && chmod 600 key
ssh="ssh -i $PWD/key -o BatchMode=yes -o StrictHostKeyChecking=no
     -o UserKnownHostsFile=/dev/null -o ConnectTimeout=60"
"""
HELLO = "hello from the world"

Row = collections.namedtuple(
    "Row", "name, programs, mark, rules, script, kind, server, speed",
    defaults=(WEB, None, USUAL))


def python(script):
    return f"/usr/bin/python3 -c '{script}'"


ROWS = (
    Row("curl", ["curl"], HELLO, ["GET:NAME/hello"],
        f"curl -sS -m 60 {URL}/hello", speed=SHORT),
    Row("curl by HTTP", ["curl"], HELLO, ["GET:NAME/hello"],
        f"curl -sS -m 60 http://{NAME}/hello"),
    Row("curl by HTTP/2", ["curl"], "hello by HTTP/2 version 2",
        ["GET:H2/v1/token"],
        "curl -sS -m 60 -w ' version %{http_version}' -H 'Authorization: hello by HTTP/2'"
        f" https://{H2_NAME}/v1/token",
        server="h2"),
    Row("wget", ["wget"], HELLO, ["GET:NAME/hello"],
        f"wget -qO- --tries=1 --timeout=60 {URL}/hello"),
    Row("http of Python", ["python3"], HELLO, ["GET:NAME/hello"],
        python(PYTHON_HTTP)),
    Row("ssl of Python", ["python3"], HELLO, ["GET:NAME/hello"], python(PYTHON_SSL),
        speed=SHORT),
    Row("fetch of Node", ["node"], HELLO, ["GET:NAME/hello"], f"node -e '{FETCH}'"),
    Row("a stream of events, one by one", ["python3"], "data: two",
        ["GET:NAME/events", "GET:NAME/acknowledge"], python(EVENTS)),
    Row("a WebSocket", ["python3"], "another frame", ["GET:NAME/ws"],
        python(WEBSOCKET)),
    Row("a stream in both directions, as of gRPC", ["node"],
        "heard message 2\ntrailer 27", ["POST:H2/v1/echo"], f"node -e '{GRPC}'",
        server="h2"),
    Row("openssl s_client", ["openssl"], HELLO, ["GET:NAME/hello"], S_CLIENT),
    Row("git clone by HTTPS", ["git"], "git repository of the world",
        ["NAME/git"], f"git clone -q {URL}/git/repository.git here && cat here/file",
        speed=SHORT),
    Row("git push by HTTPS", ["git"], "pushed to the world", ["NAME/git"], PUSH),
    Row("apt", ["apt-get", "dpkg-deb"], "apt package of the world",
        ["GET:NAME/apt"], APT, server="apt", speed=SHORT),
    Row("npm", ["npm"], "npm package of the world", ["GET:NAME/npm"], NPM, speed=SLOW),
    Row("pip", ["python3"], "pip package of the world", ["GET:NAME/pip"], PIP,
        speed=SLOW),
    Row("ssh", ["ssh"], "hello by ssh", [],
        KEY + f"$ssh root@{NAME} echo hello by ssh", SSH, "ssh", SHORT),
    Row("git clone by ssh", ["git", "ssh"], "git repository of the world", [],
        KEY + f"GIT_SSH_COMMAND=$(echo $ssh) git clone -q "
        f"ssh://root@{NAME}$WORLD/repository.git here && cat here/file", SSH, "ssh"),
)

# ---- the columns -------------------------------------------------------------

# speeds: of the rows that it has; machine: whether a machine has it.
Column = collections.namedtuple("Column", "name, policy, passes, speeds, machine",
                                defaults=({SHORT}, False))


def rules_of_rows():
    return sorted({rule.replace("NAME", NAME).replace("H2", H2_NAME)
                   for row in ROWS for rule in row.rules})


COLUMNS = (
    Column("listed", {"allow": [NAME, H2_NAME, NAME + ":22"]}, {WEB, SSH},
           {SHORT, USUAL, SLOW}, True),
    Column("not listed", {"allow": ["other.example.test"]}, set(), {SHORT, USUAL}, True),
    Column("denied", {"allow": ["*.example.test", "*.example.test:22", "deny:" + NAME,
                                "deny:" + H2_NAME]}, set()),
    Column("intercepted", {"allow": ["intercept:" + NAME, "intercept:" + H2_NAME]},
           {WEB}, {SHORT, USUAL, SLOW}, True),
    Column("with rules for its paths", {"allow": rules_of_rows()}, {WEB},
           {SHORT, USUAL}),
    Column("with rules for other paths", {"allow": [
        NAME + "/elsewhere", H2_NAME + "/elsewhere", "PUT:" + NAME]}, set(),
        {SHORT, USUAL, SLOW}, True),
    Column("raw", {"allow": [f"raw:{name}:{port}" for name in (NAME, H2_NAME)
                             for port in (22, 80, 443)]}, {WEB, SSH}),
    Column("listed by address", {"allow": [REGISTRY, H2], "dns": True}, {WEB, SSH}),
)

# Runs rows, two at a time. Arguments: their numbers.
SWEEP = r"""
export FOLDER=$PWD WORLD NODE_EXTRA_CA_CERTS SSL_CERT_FILE
# As an administrator would who has an authority of one's own.
NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}
SSL_CERT_FILE=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
printf '%s\n' "$@" | xargs -P 2 -I {} sh -c '
    work=$(mktemp -d) && cd "$work" &&
    timeout 170 sh "$FOLDER/row-{}.sh" >"$FOLDER/out-{}" 2>&1 </dev/null
    echo $? | tee "$FOLDER/code-{}"
    cd / && rm -rf "$work"'
"""


class Table:
    """Results of all rows under all columns, by begin(place), which starts a
    session and returns its agent."""

    def __init__(self, world, begin, machine=False):
        self.world, self.begin, self.machine = world, begin, machine
        self.every = "STEPBACK_TEST_ALL" in os.environ
        self.place = self.agent = self.found = None
        self.asked, self.requests = {}, {}
        self.problem = None

    def columns(self, row):
        """The columns that a row has."""
        return [column for column in COLUMNS if self.every or (
            row.speed in column.speeds and
            (not self.machine or (column.machine and row.speed == SHORT)))]

    def say(self, command):
        return ok(self.agent.ask("agent.execute", command=command))

    def path(self, name):
        return os.path.join(self.place.share, name)

    def session(self):
        """The agent of the session, which begins with the first call."""
        if self.place is None:
            self.place = Place()
            self.agent = self.begin(self.place)
        if self.agent is None:
            raise Skip("there is no sandbox")
        return self.agent

    def start(self):
        self.session()
        for number, row in enumerate(ROWS):
            with open(self.path(f"row-{number}.sh"), "w", encoding="ascii") as file:
                file.write(row.script)
        with open(self.path("sweep.sh"), "w", encoding="ascii") as file:
            file.write(f"WORLD={self.world.folder}" + SWEEP)
        key = self.world.folder + "/ssh_key"
        if os.path.exists(key):
            with open(key, "rb") as source, open(self.path("ssh_key"), "wb") as file:
                file.write(source.read())
        programs = sorted({program for row in ROWS for program in row.programs})
        self.say("for p in %s; do command -v $p; done >programs; true" %
                 " ".join(programs))
        with open(self.path("programs"), encoding="ascii") as file:
            self.programs = {line.rpartition("/")[2].strip() for line in file}
        with open(self.world.folder + "/servers", encoding="ascii") as file:
            self.lost = file.read().split()

    def lack(self, row):
        """The program or server that is missing for a row, or None."""
        missing = [one for one in row.programs if one not in self.programs]
        if missing:
            return "the sandbox lacks " + missing[0]
        return f"the host lacks a server for {row.server}" \
            if row.server in self.lost else None

    def sweep(self, column):
        ok(self.agent.ask("session.configure_network", network_policy=column.policy))
        before = len(self.world.asked())
        rows = [number for number, row in enumerate(ROWS)
                if not self.lack(row) and column in self.columns(row)]
        if not rows:
            return
        self.say("sh sweep.sh " + " ".join(map(str, rows)))
        for number in rows:
            with open(self.path(f"code-{number}"), encoding="ascii") as code, \
                    open(self.path(f"out-{number}"), errors="replace",
                         encoding="utf-8") as out:
                self.found[ROWS[number].name, column.name] = int(code.read()), \
                    out.read()
            os.unlink(self.path(f"code-{number}"))
            os.unlink(self.path(f"out-{number}"))
        self.asked[column.name] = self.world.asked()[before:]
        self.requests[column.name] = ok(self.agent.ask("network.connections"))[
            "requests"]

    def results(self):
        if self.problem:
            raise AssertionError("the table could not be made: " + self.problem)
        self.session()
        if self.found is None:
            self.found = {}
            self.problem = "see the first test"
            self.start()
            for column in COLUMNS:
                self.sweep(column)
            self.problem = None
        return self.found

    def judge(self, row):
        """Compare a row's results with what each column must do."""
        found = self.results()
        if self.lack(row):
            raise Skip(self.lack(row))
        if not self.columns(row):
            raise Skip("only with STEPBACK_TEST_ALL=1")
        wrong = []
        for column in self.columns(row):
            code, text = found[row.name, column.name]
            passed = code == 0 and row.mark in text
            if passed != (row.kind in column.passes) or \
                    (not passed and row.mark in text):
                wrong.append("%s: exit code %d:\n%s" % (
                    column.name, code, textwrap.indent(text[-2000:], "    ")))
        assert not wrong, "\n".join(wrong)

    def close(self):
        if self.agent:
            equal(self.agent.close(), 0)
        if self.place:
            kill_all(self.place)
            self.place.remove()


# ---- the tests ---------------------------------------------------------------

def judges(table, row):
    def run(_):
        table.judge(row)
    run.__name__ = row.name.replace(" ", "_")
    run.__doc__ = row.name + ": passes where the policy has it, and nowhere else"
    return run


def names_stay_inside(table):
    def run(_):
        table.results()
        for column in ("not listed", "denied"):
            equal((column, table.asked.get(column, [])), (column, []))
    run.__doc__ = "names that a policy refuses are not looked up"
    return run


def certificates_are_the_sandboxs(table):
    def run(_):
        found = table.results()
        row = "ssl of Python"
        contains(found[row, "listed"][1], "issued by world")
        contains(found[row, "intercepted"][1], "issued by Stepback")
    run.__doc__ = "only intercepted clients get a certificate of the sandbox"
    return run


def refusals_have_their_entry(table):
    def run(_):
        table.results()
        column = "with rules for other paths"
        found = {(one["verdict"], one.get("allow")) for one in table.requests[column]}
        contains(found, ("refused", f"GET:{NAME}/hello"))
    run.__doc__ = "the record of a refused request has the entry that allows it"
    return run


def add_tests(table):
    """One test for each row, and those for all."""
    for make in (names_stay_inside, certificates_are_the_sandboxs,
                 refusals_have_their_entry):
        function = make(table)
        function.__name__ = make.__name__
        function.alone = True
        TESTS.append(function)
    for row in ROWS:
        function = judges(table, row)
        function.alone = True
        TESTS.append(function)

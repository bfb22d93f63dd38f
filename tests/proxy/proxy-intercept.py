#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proxy-intercept - TLS between a guest, stepback-proxy and a server.

The program is pass-proxy, whose relays pass all bytes: what is tested is
everything around them. As proxy-splice.py otherwise.
"""
import contextlib
import hashlib
import os
import socket
import ssl
import subprocess
import sys
import threading
import warnings

sys.dont_write_bytecode = True
from proxy_authority import Authority, read  # noqa: E402
from proxy_world import *  # noqa: E402,F403

# Of old versions of TLS, which must be refused.
warnings.simplefilter("ignore", DeprecationWarning)

PASS_PROXY = os.path.join(os.getcwd(), "tests/proxy/pass-proxy")
OTHER_NAME = "other.example.org"
AUTHORITIES = {}


def authority(title):
    """One of the servers' (the proxy trusts it), or the sandbox's."""
    if title not in AUTHORITIES:
        AUTHORITIES[title] = Authority(title)
    return AUTHORITIES[title]


def certify(name):
    made = authority("sandbox")
    return {"chain": read(made.issue(name)) + read(made.certificate),
            "key": read(made.key), "error": None}


# One leaf serves most tests.
def leaf_of_server():
    servers = authority("servers")
    if not hasattr(servers, "leaf"):
        servers.leaf = servers.issue(NAME)
    return servers.leaf


@contextlib.contextmanager
def pass_proxy(world, **options):
    trust = options.pop("trust", None) or authority("servers").certificate
    with open(trust, "rb") as file:
        fd = file.fileno()
        with proxy(world, options.pop("policy", None), program=PASS_PROXY,
                   options=[f"--trust-fd={fd}"], fds=[fd],
                   **{"certify": certify, **options}) as running:
            yield running


# ---- servers ----------------------------------------------------------------

class TlsServer:
    """Serves TLS, and keeps what it sees of each connection."""

    def __init__(self, talk=echo, leaf=None, key=None, protocols=None,
                 **options):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(leaf or leaf_of_server(),
                                     key or authority("servers").key)
        if protocols:
            self.context.set_alpn_protocols(protocols)
        self.context.sni_callback = self.see_name
        self.set_versions(**options)
        self.talk = talk
        self.names, self.protocols, self.errors = [], [], []

    def set_versions(self, highest=None, lowest=None, ciphers=None):
        if ciphers:
            self.context.set_ciphers(ciphers)
        if lowest:
            self.context.minimum_version = lowest
        if highest:
            self.context.maximum_version = highest

    def see_name(self, session, name, _):
        self.names.append(name)

    def __call__(self, connection):
        try:
            session = self.context.wrap_socket(connection, server_side=True)
        except OSError as error:
            self.errors.append(str(error))
            return
        with session:
            self.protocols.append(session.selected_alpn_protocol())
            try:
                self.talk(session)
            except OSError as error:
                self.errors.append(str(error))


# ---- guests -----------------------------------------------------------------

def guest_context(protocols=None, cafile=None):
    context = ssl.create_default_context(
        cafile=cafile or authority("sandbox").certificate)
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


def shake(guest, context=None, name=NAME):
    """A TLS session of the guest, or the error."""
    try:
        return (context or guest_context()).wrap_socket(
            guest, server_hostname=name, suppress_ragged_eofs=False)
    except OSError as error:
        guest.close()
        return error


def expect_alert(running, port, alert, reason, **options):
    """The handshake must fail with an alert, and the record must have the
    reason. Return the record."""
    guest, number = running.connect(port, "http")
    error = shake(guest, **options)
    check(isinstance(error, OSError), f"{reason}: the handshake succeeds")
    if alert:
        check(alert in str(error).lower(), f"{reason}: {error}")
    event = running.ended(number)
    check(reason in (event["reason"] or ""), f"{reason}: {event}")
    return event


REQUEST = f"GET /path HTTP/1.1\r\nHost: {NAME}\r\n\r\n".encode()


def exchange(session, data=REQUEST):
    session.sendall(data)
    equal(read_some(session, len(data)), data, "the echo")


# ---- sessions ---------------------------------------------------------------

def test_both_ends_have_tls(world):
    talk = TlsServer()
    with pass_proxy(world) as running, server(talk) as to:
        for _ in range(2):
            guest, number = running.connect(to.port, "http")
            session = shake(guest)
            issuer = dict(pair[0] for pair in session.getpeercert()["issuer"])
            equal(issuer["commonName"], "sandbox", "the guest's issuer")
            exchange(session)
            check(not session.session.has_ticket, "the guest gets a ticket")
            equal(session.version(), "TLSv1.3", "the version")
            session.close()
            event = running.ended(number)
            equal((event["verdict"], event["reason"]), ("closed", None),
                  "the end")
            check(event["from_guest"] > len(REQUEST) and
                  event["to_guest"] > len(REQUEST), f"bytes: {event}")
        equal(talk.names, [NAME, NAME], "the server's names")
        equal(running.named("event.certificate"), [{"name": NAME}],
              "requests for certificates")
        found = running.named("event.request")
        equal([(entry["path"], entry["verdict"], entry["status"])
               for entry in found], [("/path", "allowed", 200)] * 2, "requests")


def test_the_name_is_compared_without_case(world):
    talk = TlsServer()
    with pass_proxy(world) as running, server(talk) as to:
        guest, _ = running.connect(to.port, "http", "API.Example.org.")
        with shake(guest) as session:
            exchange(session)
        equal(talk.names, [NAME], "the server's names")


def test_tls_1_2_works_at_both_ends(world):
    version = ssl.TLSVersion.TLSv1_2
    context = guest_context()
    context.maximum_version = version
    with pass_proxy(world) as running:
        with server(TlsServer(highest=version)) as to:
            guest, _ = running.connect(to.port, "http")
            with shake(guest, context) as session:
                exchange(session)
                equal(session.version(), "TLSv1.2", "the version")
                check(not session.session.has_ticket, "a ticket")


def test_both_ends_speak_the_same_http(world):
    cases = [
        (["h2", "http/1.1"], ["h2", "http/1.1"], "h2", "h2"),
        (["h2", "http/1.1"], ["http/1.1"], "http/1.1", "http/1.1"),
        (["http/1.1", "acme"], ["h2", "http/1.1"], "http/1.1", "http/1.1"),
        (["h2", "http/1.1"], None, "http/1.1", None),
        (["h2"], ["h2", "http/1.1"], "h2", "h2"),
        (None, ["h2", "http/1.1"], None, "http/1.1"),
        (None, None, None, None),
    ]
    with pass_proxy(world) as running:
        for offered, served, mine, its in cases:
            talk = TlsServer(protocols=served)
            with server(talk) as to:
                guest, number = running.connect(to.port, "http")
                with shake(guest, guest_context(offered)) as session:
                    exchange(session)
                    equal(session.selected_alpn_protocol(), mine,
                          f"{offered}, {served}: the guest's")
                equal(talk.protocols, [its], f"{offered}, {served}: the server's")
                running.ended(number)
        with server(TlsServer()) as to:
            expect_alert(running, to.port, "no application protocol",
                         "a version of HTTP that the guest does not offer",
                         context=guest_context(["h2"]))
            expect_alert(running, to.port, "no application protocol",
                         "no version of HTTP that can be relayed",
                         context=guest_context(["acme"]))


# ---- the server's certificate -----------------------------------------------

def self_signed():
    made = Authority("self")
    return made.certificate, made.path("key"), made


def test_a_server_needs_a_certificate_for_the_name(world):
    servers, other = authority("servers"), Authority("unknown")
    self_leaf, self_key, kept = self_signed()
    cases = [
        (servers.issue(NAME, days=-1), None, "has expired"),
        (servers.issue(OTHER_NAME), None, "is for another name"),
        (servers.issue(NAME, alternative=OTHER_NAME), None,
         "is for another name"),
        (servers.issue(NAME, alternative=""), None, "is for another name"),
        (servers.issue(NAME, alternative="a*.example.org"), None,
         "is for another name"),
        (servers.issue(NAME, alternative="*.org"), None, "is for another name"),
        (servers.issue(NAME, purpose="clientAuth"), None,
         "is not one of a server"),
        (self_leaf, self_key, "is self-signed"),
        (other.issue(NAME), other.key, "is from an authority that the host does not"),
    ]
    with pass_proxy(world) as running:
        for leaf, key, reason in cases:
            talk = TlsServer(leaf=leaf, key=key)
            with server(talk) as to:
                event = expect_alert(
                    running, to.port, "handshake failure",
                    f"the certificate of {NAME} {reason}")
                equal(event["verdict"], "refused", reason)
                wait_for(lambda: talk.errors, "the server's handshake ends")
        equal(running.named("event.certificate"), [], "certificates")
        talk = TlsServer(leaf=servers.issue(NAME, alternative="*.example.org"))
        with server(talk) as to:
            guest, _ = running.connect(to.port, "http")
            with shake(guest) as session:
                exchange(session)
    kept.close()
    other.close()


def test_a_listed_certificate_is_trusted_itself(world):
    made = Authority("list")
    leaf = made.issue(NAME)
    for trust in (leaf, made.certificate):
        with pass_proxy(world, trust=trust) as running, \
                server(TlsServer(leaf=leaf, key=made.key)) as to:
            guest, _ = running.connect(to.port, "http")
            with shake(guest) as session:
                exchange(session)
    made.close()


def test_without_authorities_nothing_is_intercepted(world):
    with proxy(world, program=PASS_PROXY) as running, \
            server(TlsServer()) as to:
        expect_alert(running, to.port, None, "no certificate authorities")


# ---- other failures of the server -------------------------------------------

def test_failures_of_the_server_have_a_reason(world):
    def talk_http(connection):
        connection.recv(1)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    old = TlsServer(highest=ssl.TLSVersion.TLSv1_1,
                    lowest=ssl.TLSVersion.TLSv1, ciphers="ALL:@SECLEVEL=0")
    picky = TlsServer()
    picky.context.verify_mode = ssl.CERT_REQUIRED
    picky.set_versions(highest=ssl.TLSVersion.TLSv1_2)
    cases = [
        (talk_http, "the server does not answer in TLS"),
        (lambda connection: connection.recv(1), "the server"),
        (old, "the server supports neither TLS 1.2 nor TLS 1.3"),
        (picky, "the server"),
    ]
    with pass_proxy(world) as running:
        for talk, reason in cases:
            with server(talk) as to:
                event = expect_alert(running, to.port, "handshake failure",
                                     reason)
                equal(event["verdict"], "closed", reason)
        with server(echo) as to:
            gone = to.port
        expect_alert(running, gone, "handshake failure", "cannot connect")
        running.addresses = []
        running.problem = "no such host"
        expect_alert(running, gone, "", "no such host")


def test_a_closed_server_has_a_reason(world):
    def talk(connection):
        read_some(connection, 5)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(65536)

    with pass_proxy(world) as running, server(talk) as to:
        expect_alert(running, to.port, "handshake failure",
                     "the server closed the connection during the TLS")


# ---- failures of the guest --------------------------------------------------

def test_the_guest_must_trust_the_sandbox(world):
    with pass_proxy(world) as running, server(TlsServer()) as to:
        event = expect_alert(
            running, to.port, "",
            "the guest's program does not trust the sandbox's authority",
            context=guest_context(cafile=authority("servers").certificate))
        equal(event["verdict"], "closed", "the verdict")


def test_the_guest_must_name_the_host(world):
    nameless = guest_context()
    nameless.check_hostname = False
    talk = TlsServer()
    with pass_proxy(world) as running, server(talk) as to:
        event = expect_alert(running, to.port, "access denied",
                             "another server name", name=OTHER_NAME)
        equal((event["verdict"], event["allow"]),
              ("refused", f"{OTHER_NAME}:{to.port}"), "the verdict")
        event = expect_alert(running, to.port, "access denied", "no server name",
                             name=None, context=nameless)
        equal((event["verdict"], event["allow"]), ("refused", None),
              "the verdict")
        equal(talk.names, [], "sessions at the server")


def test_an_old_guest_has_a_reason(world):
    context = guest_context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pass_proxy(world) as running, server(TlsServer()) as to:
        expect_alert(running, to.port, "protocol version",
                     "the guest offers neither TLS 1.2 nor TLS 1.3",
                     context=context)


def test_other_protocols_are_refused(world):
    with pass_proxy(world) as running, server(TlsServer()) as to:
        for data in (b"SSH-2.0-x\r\n", b"\0\1\2\3", b"GET /old\r\n"):
            guest, number = running.connect(to.port, "http")
            guest.sendall(data)
            read_all(guest)
            guest.close()
            equal(running.ended(number)["verdict"], "refused", data)


# ---- certificates of the supervisor -----------------------------------------

def test_a_failed_certificate_is_requested_again(world):
    answers = [{"chain": None, "key": None, "error": "no key"},
               {"chain": "x", "key": "y", "error": None}]

    def certify_late(name):
        return answers.pop(0) if answers else certify(name)

    with pass_proxy(world, certify=certify_late) as running, \
            server(TlsServer()) as to:
        expect_alert(running, to.port, "internal error", "no key")
        # After a second.
        wait_for(lambda: "malformed" in fail_again(running, to.port),
                 "another request")
        wait_for(lambda: fail_again(running, to.port) == "", "a third")


def fail_again(running, port):
    """Shake hands, four times a second: further ends are not reported. Return
    the reason of the failure."""
    time.sleep(0.25)
    guest, number = running.connect(port, "http")
    session = shake(guest)
    if isinstance(session, ssl.SSLSocket):
        exchange(session)
        session.close()
    return running.ended(number)["reason"] or ""


def test_an_old_certificate_is_not_used(world):
    def certify_old(name):
        found = certify(name)
        return {**found, "chain": read(authority("sandbox").issue(name, -1))}

    with pass_proxy(world, certify=certify_old) as running, \
            server(TlsServer()) as to:
        expect_alert(running, to.port, "internal error", "too old")


# ---- bytes ------------------------------------------------------------------

def test_an_end_is_passed_on_as_it_came(world):
    def talk_cleanly(session):
        session.recv(65536)
        session.sendall(b"whole")
        session.unwrap()

    def talk_cut(session):
        session.recv(65536)
        session.sendall(b"cut")
        session.shutdown(socket.SHUT_RDWR)

    with pass_proxy(world) as running:
        for talk, data, clean in ((talk_cleanly, b"whole", True),
                                  (talk_cut, b"cut", False)):
            with server(TlsServer(talk)) as to:
                guest, number = running.connect(to.port, "http")
                session = shake(guest)
                session.sendall(b"GET / ")
                equal(read_some(session, len(data)), data, "the answer")
                try:
                    equal(session.recv(1), b"", "the end")
                    found = True
                except ssl.SSLError as error:
                    check("EOF" in str(error), error)
                    found = False
                equal(found, clean, f"{data}: close_notify")
                session.close()
                running.ended(number)


def test_each_direction_ends_by_itself(world):
    """The guest closes its direction, then gets the answer."""
    def talk(session):
        seen.append(read_all(session))
        session.sendall(b"answer")

    seen = []
    with pass_proxy(world) as running, server(talk) as to:
        guest, _ = running.connect(to.port, "http")
        guest.sendall(REQUEST)
        guest.shutdown(socket.SHUT_WR)
        equal(read_all(guest), (b"answer", False), "the answer")
        equal(seen, [(REQUEST, False)], "what arrives")
        guest.close()
    with pass_proxy(world) as running, server(TlsServer(talk)) as to:
        guest, _ = running.connect(to.port, "http")
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = guest_context().wrap_bio(incoming, outgoing,
                                           server_hostname=NAME)
        shake_bio(session, guest, incoming, outgoing)

        def run(call, *words):
            while True:
                try:
                    found = call(*words)
                except ssl.SSLWantReadError:
                    found = None
                guest.sendall(outgoing.read())
                if found is not None or call == session.unwrap:
                    return found
                incoming.write(guest.recv(65536))

        run(session.write, REQUEST)
        run(session.unwrap)
        equal(run(session.read, 100), b"answer", "the answer")
        guest.close()


def shake_bio(session, guest, incoming, outgoing):
    while True:
        try:
            session.do_handshake()
            guest.sendall(outgoing.read())
            return
        except ssl.SSLWantReadError:
            guest.sendall(outgoing.read())
            incoming.write(guest.recv(65536))


def test_a_slow_guest_stops_the_server(world):
    size, sent = 16 << 20, []
    block = os.urandom(1 << 16)

    def talk(session):
        session.recv(65536)
        for _ in range(size // len(block)):
            session.sendall(block)
            sent.append(len(block))

    with pass_proxy(world) as running, server(TlsServer(talk)) as to:
        before = running.memory()
        guest, _ = running.connect(to.port, "http")
        session = shake(guest)
        session.sendall(REQUEST)
        last = [-1]

        def stands():
            found, last[0] = last[0], len(sent)
            time.sleep(0.1)
            return last[0] > 0 and found == last[0]

        wait_for(stands, "the server waits")
        check(sum(sent) < size, "the server sends all without a reader")
        found = hashlib.sha256()
        for _ in range(size // len(block)):
            found.update(read_some(session, len(block)))
        wanted = hashlib.sha256(block * (size // len(block)))
        equal(found.digest(), wanted.digest(), "the bytes")
        check(running.memory() - before < 4096, "the proxy's memory grows")
        session.close()


def test_a_slow_guest_is_waited_for(world):
    """Its hello comes byte by byte."""
    with pass_proxy(world) as running, server(TlsServer()) as to:
        guest, _ = running.connect(to.port, "http")
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = guest_context().wrap_bio(incoming, outgoing,
                                           server_hostname=NAME)
        with contextlib.suppress(ssl.SSLWantReadError):
            session.do_handshake()
        for byte in outgoing.read():
            guest.sendall(bytes([byte]))
        incoming.write(guest.recv(65536))
        shake_bio(session, guest, incoming, outgoing)
        session.write(REQUEST)
        for byte in outgoing.read():
            guest.sendall(bytes([byte]))
        wait_for(lambda: running.named("event.request"), "the request")
        guest.close()


def test_plain_http_is_relayed(world):
    greeted = []

    def talk(connection):
        with contextlib.suppress(OSError):
            connection.sendall(b"early")
        greeted.append(1)
        echo(connection)

    with pass_proxy(world) as running, server(talk) as to:
        guest, number = running.connect(to.port, "http")
        wait_for(lambda: greeted, "the server's first bytes")
        equal(running.status()["bytes"]["to_guest"], 0, "bytes to the guest")
        guest.sendall(REQUEST)
        equal(read_some(guest, 5 + len(REQUEST)), b"early" + REQUEST, "bytes")
        guest.close()
        equal(running.ended(number)["verdict"], "closed", "the verdict")
        equal(running.named("event.certificate"), [], "certificates")


def test_a_refused_request_is_answered(world):
    with pass_proxy(world) as running, server(TlsServer()) as to:
        guest, number = running.connect(to.port, "http")
        session = shake(guest)
        session.sendall(b"GET /refused HTTP/1.1\r\n\r\n")
        found, _ = read_all(session)
        check(found.startswith(b"HTTP/1.1 403 "), f"the answer: {found}")
        session.close()
        event = running.ended(number)
        equal((event["verdict"], event["reason"], event["allow"]),
              ("refused", "refused in a test", "GET:allowed.example/"),
              "the end")
        equal(running.named("event.request")[0]["verdict"], "refused",
              "the request")


def test_requests_beyond_20_a_second_are_counted(world):
    with pass_proxy(world) as running, server(TlsServer()) as to:
        guest, _ = running.connect(to.port, "http")
        with shake(guest) as session:
            for _ in range(100):
                exchange(session)

        def counted():
            return len(running.named("event.request")) + \
                sum(entry["count"] for entry in
                    running.named("event.requests_untold"))

        wait_for(lambda: counted() == 100, "all requests are counted")


# ---- the policy -------------------------------------------------------------

def policy_for(port, entry="intercept:"):
    return {"allow": [f"{entry}{NAME}:{port}", f"{PUBLIC}/32"]}


def test_the_policy_is_asked_again(world):
    """stepback-net may have been taken over."""
    with pass_proxy(world) as running, server(TlsServer()) as to:
        running.request("configure", {"network_policy": policy_for(to.port)})
        for kind in ("raw", "port", "web", "http"):
            guest, _ = running.connect(to.port, kind)
            with shake(guest) as session:
                exchange(session)
        running.request("configure",
                        {"network_policy": policy_for(to.port, "")})
        guest, number = running.connect(to.port, "raw")
        guest.sendall(b"GET / HTTP/1.1\r\nHost: evil.example.org\r\n\r\n")
        check(read_all(guest)[0].startswith(b"HTTP/1.1 403 "), "port for raw")
        guest.close()
        equal(running.ended(number)["verdict"], "refused", "the verdict")


def test_a_new_policy_ends_what_it_would_intercept(world):
    with pass_proxy(world) as running, server(TlsServer()) as to:
        spliced, number = running.connect(to.port, "web")
        session = shake(spliced, guest_context(
            cafile=authority("servers").certificate))
        exchange(session)
        guest, _ = running.connect(to.port, "http")
        intercepted = shake(guest)
        running.request("configure", {"network_policy": policy_for(to.port)})
        event = running.ended(number)
        equal((event["verdict"], event["reason"]),
              ("refused", "the policy now intercepts the name; connect again"),
              "the end")
        exchange(intercepted)
        session.close()
        running.request("configure", {"network_policy": {"allow": []}})
        check(read_all_or_fail(intercepted), "it goes on")
        intercepted.close()


def read_all_or_fail(session):
    try:
        return read_all(session)[0] == b""
    except OSError:
        return True


# ---- attacks ----------------------------------------------------------------

@contextlib.contextmanager
def guest_port(running, port):
    """A port of the loopback that leads to a new connection's guest."""
    listener = socket.create_server(("127.0.0.1", 0))
    guest, _ = running.connect(port, "http")

    def copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def run():
        connection, _ = listener.accept()
        back = threading.Thread(target=copy, args=(guest, connection))
        back.start()
        copy(connection, guest)
        back.join()
        connection.close()
        guest.close()

    thread = threading.Thread(target=run)
    thread.start()
    yield listener.getsockname()[1]
    thread.join()
    listener.close()


def s_client(port, *words, lines=b""):
    """Run openssl(1)'s client. Return its output until its end."""
    return subprocess.run(
        client_words(port, *words), input=lines, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=PATIENCE, check=False).stdout


def client_words(port, *words):
    return ["openssl", "s_client", "-servername", NAME, "-CAfile",
            authority("sandbox").certificate, "-connect", f"127.0.0.1:{port}",
            *words]


def test_a_guest_cannot_renegotiate(world):
    with pass_proxy(world) as running, server(TlsServer()) as to:
        with guest_port(running, to.port) as port:
            found = s_client(port, "-tls1_2", lines=b"R\nhello\n")
        check(b"no renegotiation" in found, found)
        check(b"Verify return code: 0 (ok)" in found, found)


def test_a_guest_without_a_usable_key_share_is_asked_again(world):
    with pass_proxy(world) as running, server(TlsServer()) as to:
        with guest_port(running, to.port) as port:
            found = s_client(port, "-groups", "X448:P-256", "-msg")
        check(found.count(b">>> TLS 1.3, Handshake [length") >= 2 and
              b"Verify return code: 0 (ok)" in found, found)


def test_early_data_does_not_arrive(world):
    def talk(session):
        received.append(session.recv(65536))
        session.sendall(received[0])

    received = []
    made = authority("sandbox")
    session, early = made.path("session"), made.path("early")
    with open(early, "wb") as file:
        file.write(b"early")
    make_session(made, session)
    with pass_proxy(world) as running, server(TlsServer(talk)) as to:
        with guest_port(running, to.port) as port:
            found = s_client(port, "-sess_in", session, "-early_data", early,
                             "-ign_eof", lines=b"late")
        check(b"Early data was rejected" in found, found)
        equal(received, [b"late"], "bytes at the server")


def make_session(made, path):
    """Write a session to a file, of a server that accepts early data."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with subprocess.Popen(
            ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert",
             made.issue(NAME), "-key", made.key, "-early_data"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL) as running:
        wait_for(lambda: is_open(port), "the server")
        client = subprocess.Popen(client_words(port, "-sess_out", path),
                                  stdin=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: os.path.exists(path) and
                     "END SSL SESSION" in read(path), "a session")
        finally:
            client.kill()
            client.communicate()
            running.kill()


def is_open(port):
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


def test_secrets_are_configured_as_a_whole(world):
    good = {"name": "A", "placeholder": "stepback-abcdefgh",
            "value": "a-value-that-is-long", "hosts": [NAME],
            "headers": ["authorization"]}
    with pass_proxy(world) as running:
        running.request("configure", {"secrets": [good]})
        running.request("configure", {"secrets": []})


# ---- many -------------------------------------------------------------------

def test_idle_sessions_take_little_memory(world):
    """So many that 1,000 are far below the limit."""
    def talk(session):
        session.recv(65536)

    count = 150
    with pass_proxy(world) as running, server(TlsServer(talk)) as to:
        context = guest_context()
        guests = []
        before = running.memory()
        for _ in range(count):
            guest, _ = running.connect(to.port, "http")
            guests.append(shake(guest, context))
        for guest in guests:
            check(isinstance(guest, ssl.SSLSocket), guest)
        equal(running.status()["connections"], count, "connections")
        check(running.memory() - before < 200 * count,
              f"memory: {before}, then {running.memory()} KiB")
        print(f"# {(running.memory() - before) // count} KiB each", flush=True)
        for guest in guests:
            guest.close()


if __name__ == "__main__":
    STATUS = main(globals())
    for used in AUTHORITIES.values():
        used.close()
    sys.exit(STATUS)

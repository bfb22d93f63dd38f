#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proxy-intercept - TLS between a guest, stepback-proxy and a server: who is
accepted, and why not.

As proxy-splice.py otherwise.
"""
import ssl
import sys

sys.dont_write_bytecode = True
from proxy_authority import Authority, read  # noqa: E402
from proxy_tls import *  # noqa: E402,F403


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
              ("refused", None), "the verdict")
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


if __name__ == "__main__":
    run(globals())

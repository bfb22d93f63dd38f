# SPDX-License-Identifier: Apache-2.0
"""Tells whether a program was built with AddressSanitizer."""


def is_sanitized(pid):
    """Return whether a running process has AddressSanitizer, whose memory is too
    much to measure or limit."""
    with open(f"/proc/{pid}/exe", "rb") as program:
        return b"__asan_init" in program.read()

/* SPDX-License-Identifier: Apache-2.0
 *
 * network_method - the methods of HTTP that an entry of a network policy can
 * have: those of IANA's registry, also of WebDAV and its extensions.
 *
 * CONNECT, PRI and TRACE are not among them: the proxy refuses them always.
 * Another capital word in front of a name is a typing error.
 */
#ifndef COMMON_NETWORK_METHOD_H
#define COMMON_NETWORK_METHOD_H

#include <stdbool.h>
#include <stddef.h>

/* Return the number of bytes at the start of the text that a method can
 * have: capital letters and hyphens. */
size_t network_method_span(const char *text);

/* Return whether the text (length bytes) is a method of an entry, in capital
 * letters. */
bool network_method_is_known(const char *text, size_t length);

/* The same for letters in any case. */
bool network_method_is_alike(const char *text, size_t length);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * trust_file - the authorities of servers, for the proxy.
 *
 * The proxy has no access to files, so that it inherits one.
 */
#ifndef AGENT_MACHINE_TRUST_FILE_H
#define AGENT_MACHINE_TRUST_FILE_H

#include <glib.h>

/* Return a sealed file in memory (memfd_create(2)), at its start, with the
 * host's bundle and given, certificates in PEM, or NULL. The caller closes it.
 * On failure return -1 with ERROR_VM_LAUNCH_FAILED. */
int trust_file_open(const char *given, GError **error);

#endif

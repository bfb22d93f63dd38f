/* SPDX-License-Identifier: Apache-2.0
 *
 * template_key - which machines may continue from a template.
 *
 * The key is a hash of all that decides whether QEMU can load the state, and of
 * all that the state has from the host: QEMU's program and command line, the
 * image's files with the shim in them, and the host's processor.
 */
#ifndef AGENT_VM_TEMPLATE_KEY_H
#define AGENT_VM_TEMPLATE_KEY_H

#include "agent/vm/vm_command.h"

/* Return the key of such a machine as a new string that is a file name, or NULL
 * if a file is missing. */
char *template_key_new(const struct vm_config *config);

#endif

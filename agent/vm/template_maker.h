/* SPDX-License-Identifier: Apache-2.0
 *
 * template_maker - make the template of a machine.
 *
 * It boots a machine of its own, without folders, and saves the state once the
 * shim has said hello: the machine has never had anything of a session.
 *
 * Threads: on the main thread.
 */
#ifndef AGENT_VM_TEMPLATE_MAKER_H
#define AGENT_VM_TEMPLATE_MAKER_H

#include "agent/vm/vm_command.h"

/* Make the template of machines with this configuration, unless it exists or
 * another process makes it, and wait for it. Only whether it has a network
 * counts of the network; paths and fds of the running machine do not. Runs the
 * default main loop. Fails with ERROR_IO_ERROR or ERROR_VM_LAUNCH_FAILED. */
gboolean template_maker_run(const struct vm_config *config, GError **error);

/* Start a process that does this in the background at low priority, and
 * outlives this one. */
gboolean template_maker_spawn(const struct vm_config *config, GError **error);

/* Start this program with another verb, the same arguments and a last one
 * (NULL: none). prepare runs in the child, before its exec. */
gboolean template_maker_spawn_as(const char *verb, const char *last,
                                 const struct vm_config *config,
                                 GSpawnChildSetupFunc prepare, gpointer opaque,
                                 GError **error);

/* The arguments of that process, TEMPLATE_MAKER_VERB and others, as a
 * configuration; false if they are malformed. All is borrowed. */
#define TEMPLATE_MAKER_VERB "make-template"
bool template_maker_parse(int argc, char **argv, struct guest_image *ret_image,
                          struct vm_config *ret_config);

#endif

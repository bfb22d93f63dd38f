/* SPDX-License-Identifier: Apache-2.0
 *
 * name_check - names that a step has made and that mean something else outside
 * of the guest.
 *
 *     symlink_outside    a symlink leads out of the working folder: on the host
 *                        to another file than in the guest
 *     case_collision     two names differ by case alone (or by how Unicode
 *                        composes them): to a host that folds case they are one
 *
 * Nothing is refused because of this: folders are the host's, and Linux knows
 * such names apart.
 */
#ifndef AGENT_SESSION_NAME_CHECK_H
#define AGENT_SESSION_NAME_CHECK_H

#include <glib.h>
#include <jansson.h>

/* Look at what was created or renamed, of a report's changes in the
 * folder with this label. A list of {"code","message","paths","count"}: paths
 * are the first ones, count is of all. The work is bounded: of very large
 * folders nothing is said. A new reference. */
json_t *name_check(int root_fd, GPtrArray *changes, const char *label);

#endif

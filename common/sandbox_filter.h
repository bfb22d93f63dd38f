/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_filter - the system call filter of a sandbox.
 */
#ifndef COMMON_SANDBOX_FILTER_H
#define COMMON_SANDBOX_FILTER_H

#include <glib.h>
#include <stdint.h>

#include "common/sandbox_options.h"

struct sandbox;

/* Return what libseccomp does with a system call that has no rule: a SCMP_ACT_
 * value. */
uint32_t sandbox_filter_default(enum sandbox_action action);

/* Filter the system calls of all threads. FALSE and error on failure. */
gboolean sandbox_filter(const struct sandbox *sandbox, GError **error);

#endif

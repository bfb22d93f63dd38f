/* SPDX-License-Identifier: Apache-2.0
 *
 * session_config - what a frontend asks of a session.
 *
 * Read from the payload of session.start (doc/design.md, 5.1) and checked
 * in full before anything is started.
 */
#ifndef AGENT_VM_SESSION_CONFIG_H
#define AGENT_VM_SESSION_CONFIG_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/vm/accel.h"
#include "agent/vm/backend_kind.h"
#include "agent/vm/session_directory.h"
#include "common/network_policy.h"
#include "interceptor/interceptor.h"

enum { SESSION_MEMORY_MIN_MB = 128, SESSION_MEMORY_MAX_MB = 1 << 20 };

struct session_config {
    struct session_directory *directories[SESSION_MAX_DIRECTORIES];
    unsigned n_directories; /* 1 at least */
    enum backend_kind backend;
    struct network_policy network;
    enum ic_outside_policy outside_policy;
    gboolean allow_suid, allow_devices, host_ids; /* of the file servers */

    unsigned memory_mb, boot_timeout_s;
    unsigned cpus; /* 0: as many as suit the accelerator */
    enum accel accel;
    char *kernel, *initrd, *disk; /* NULL: the image's */
    char *image;
    char *kernel_append; /* ends the kernel's command line; not of a payload */

    bool force_share; /* even if share_check.h would refuse */
    bool persistent;  /* the machine keeps its disk */
    bool wipe;        /* the machine's disk: begin with a new one */

    char *agent_command; /* for session_prompt(); NULL: none */
    json_t *limits;      /* as for session_configure(), or NULL */
    json_t *rules;       /* as for session_guard_configure(), or NULL */
};

/* Are these all fields of undo.configure, of safeguard.configure? The undo
 * engine checks what they say. */
gboolean session_config_check_limits(json_t *limits, GError **error);
gboolean session_config_check_rules(json_t *rules, GError **error);

void session_config_free(struct session_config *config);

/* What session_request_parse() begins with: whether the folders may be shared
 * is not checked yet. */
struct session_config *session_config_read(json_t *payload, GError **error);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * confine - see confine.h.
 */
#include "net/confine.h"

#include <seccomp.h>

#include "net/slirp_stack.h"
#include "netbase/confinement.h"

/* slirp buffers at most 256 KiB for each connection. */
enum { MEMORY_MAX = 512 << 20 };

static const int calls[] = {
    /* accept needs a socket that the supervisor has bound and handed over. */
    SCMP_SYS(accept),
    SCMP_SYS(accept4),
    SCMP_SYS(dup3),

    /* Connections to names (name_channel.h): connected to each other only. */
    SCMP_SYS(socketpair),
};

/* slirp binds a socket for each published port, which is replaced by one of the
 * supervisor (slirp_stack.h). So these succeed and do nothing: this process
 * cannot listen. */
static const int pretended[] = {
    SCMP_SYS(bind),
    SCMP_SYS(listen),
};

unsigned confine_files(void)
{
    return confinement_files(SLIRP_STACK_FDS);
}

gboolean confine(enum sandbox_action action, GError **error)
{
    const struct confinement confinement = {
        .action = action,
        .memory = MEMORY_MAX,
        .files = confine_files(),
        .calls = calls,
        .call_count = G_N_ELEMENTS(calls),
        .pretended = pretended,
        .pretended_count = G_N_ELEMENTS(pretended),
        .datagrams = true,
    };

    return confinement_enter(&confinement, error);
}

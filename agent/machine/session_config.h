/* SPDX-License-Identifier: Apache-2.0
 *
 * session_config - the configuration of a session.
 *
 * The command line and the protocols fill it in; session_config_check() must
 * accept it before a session starts.
 */
#ifndef AGENT_MACHINE_SESSION_CONFIG_H
#define AGENT_MACHINE_SESSION_CONFIG_H

#include <glib.h>
#include <stdbool.h>

#include "agent/machine/git_identity.h"
#include "agent/base/port_spec.h"
#include "agent/base/undo_settings.h"
#include "agent/machine/accel.h"
#include "agent/machine/backend_kind.h"
#include "agent/machine/secret.h"
#include "agent/machine/session_directory.h"
#include "common/network_policy.h"
#include "interceptor/interceptor.h"

enum {
    SESSION_MEMORY_MIN_MB = 128,
    SESSION_MEMORY_DEFAULT_MB = 1024,
    SESSION_MEMORY_MAX_MB = 1 << 20,
    SESSION_CPUS_MAX = 255,
};

/* The steps that a process in the guest may list and undo
 * (doc/undo-from-inside.md). */
enum guest_undo {
    GUEST_UNDO_OWN, /* steps that its execution has made */
    GUEST_UNDO_ALL,
    GUEST_UNDO_NONE,
};

/* What separates the guest from the host. */
enum isolation {
    ISOLATION_VM,    /* a virtual machine */
    ISOLATION_LOCAL, /* namespaces of the host's kernel */
};

struct session_config {
    enum isolation isolation;
    struct session_directory *directories[SESSION_MAX_DIRECTORIES];
    unsigned n_directories; /* at least 1 */
    unsigned n_added;       /* how many folders were added later, ever */
    enum backend_kind backend;
    struct network_policy network;
    GArray *ports; /* of struct port_spec: the published ports */
    /* Of char *: folders of the host that MCP clients may copy from and to, as
     * absolute paths without symlinks. */
    GPtrArray *copy_folders;
    enum ic_outside_policy outside_policy;
    gboolean allow_suid, allow_devices, host_ids; /* for the file servers */

    unsigned boot_timeout_s;
    unsigned memory_mb; /* 0: no limit was asked for (session_config_memory) */
    unsigned cpus;      /* 0: depends on the accelerator, or no limit */
    enum accel accel;
    char *kernel, *initrd, *disk; /* absolute; NULL: the image's */
    char *image;
    char *rootfs; /* local isolation: the image whose root file system replaces
                     the host's; or NULL */
    char **session_bus; /* local isolation: session_bus.h; or NULL */
    char *console; /* absolute; where the console's output is kept. NULL: as
                      long as the machine runs */
    char *kernel_append; /* appended to the kernel's command line; or NULL */

    gboolean force_share; /* skip the checks of share_check.h */
    bool no_template;     /* boot, and make no template of the machine */
    bool no_pool;         /* do not take a machine of the pool */
    bool persistent;      /* the machine keeps its disk */
    bool wipe;            /* start with a new persistent disk */

    /* Defaults of all executions, as in struct command. */
    char **env;
    char *cwd, *user;

    char *certificates; /* PEM that the guest trusts (certificates.h); or NULL
                         */
    struct git_identity git; /* for commits in the guest */
    GPtrArray *secrets;      /* secret.h */
    char *upstream_proxy;    /* as for upstream_proxy_new(); or NULL */

    enum guest_undo guest_undo;
    char *agent_command;           /* for prompts; NULL: none */
    struct undo_limits *limits;    /* NULL: the engine's defaults */
    struct safeguard_rules *rules; /* NULL: none */
};

const char *guest_undo_name(enum guest_undo policy);
bool guest_undo_parse(const char *name, enum guest_undo *ret_policy);

const char *isolation_name(enum isolation isolation);
bool isolation_parse(const char *name, enum isolation *ret_isolation);

/* Return how much memory a machine has, in MiB. */
unsigned session_config_memory(const struct session_config *config);

/* Create a configuration with the defaults and no folder. */
struct session_config *session_config_new(void);
void session_config_free(struct session_config *config);

/* Add a folder, parsed as in session_directory_new(). On failure return FALSE
 * with ERROR_TOO_MANY_DIRECTORIES, ERROR_INVALID_FIELD or
 * ERROR_INVALID_DIRECTORY. */
gboolean session_config_share(struct session_config *config,
                              const struct session_share *share,
                              GError **error);

/* Let MCP clients copy from and to a folder of the host, an absolute path. On
 * failure return FALSE with ERROR_INVALID_FIELD or ERROR_INVALID_DIRECTORY. */
enum { SESSION_MAX_COPY_FOLDERS = 8 };
gboolean session_config_allow_copy(struct session_config *config,
                                   const char *path, GError **error);

#endif

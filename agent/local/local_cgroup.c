/* SPDX-License-Identifier: Apache-2.0
 *
 * local_cgroup - see local_cgroup.h.
 */
#include "agent/local/local_cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/local/local_cgroup_home.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"

#define PREFIX "stepback-local-"
#define INNER  "sandbox"

/* As that of stepback-local (local/limits.c). */
#define PIDS_MAX "4096"

enum {
    ATTEMPTS = 5,
    EMPTY_MS = 1000, /* until processes that are killed have ended */
    CPU_PERIOD_US = 100000,
};

struct local_cgroup {
    struct cgroup_home home;
    char name[40];
    int outer, inner; /* directories; -1: none */
};

/* ---- removal ------------------------------------------------------------- */

/* Wait until no process is left. */
static void wait_empty(int outer)
{
    gint64 end = g_get_monotonic_time() + EMPTY_MS * 1000;
    fd_auto int events = openat(outer, "cgroup.events", O_RDONLY | O_CLOEXEC);
    struct pollfd poll_fd = { .fd = events, .events = POLLPRI };
    gint64 left;

    while (events >= 0 && (left = end - g_get_monotonic_time()) > 0) {
        char text[256] = { 0 };

        if (pread(events, text, sizeof(text) - 1, 0) <= 0 ||
            !strstr(text, "populated 1"))
            return;
        poll(&poll_fd, 1, (int)(left / 1000) + 1);
    }
}

/* Kill what is in a cgroup, and remove it. */
static void remove_group(int home, const char *name, int outer)
{
    cgroup_write(outer, "cgroup.kill", "1");
    cgroup_write(outer, "cgroup.freeze", "0");
    wait_empty(outer);
    if ((unlinkat(outer, INNER, AT_REMOVEDIR) < 0 && errno != ENOENT) ||
        unlinkat(home, name, AT_REMOVEDIR) < 0)
        log_debug(LOG_SESSION, "cannot remove the cgroup %s: %s", name,
                  g_strerror(errno));
}

/* Only the owner of a group has its lock. */
static void sweep(int home)
{
    int list = openat(home, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = list >= 0 ? fdopendir(list) : NULL;
    const struct dirent *entry;

    if (!dir) {
        fd_close(&list);
        return;
    }
    while ((entry = readdir(dir))) {
        fd_auto int outer = -1;

        if (!g_str_has_prefix(entry->d_name, PREFIX))
            continue;
        outer = openat(home, entry->d_name,
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (outer >= 0 && flock(outer, LOCK_EX | LOCK_NB) == 0)
            remove_group(home, entry->d_name, outer);
    }
    closedir(dir);
}

void local_cgroup_sweep(void)
{
    struct cgroup_home home = cgroup_home_find();

    if (home.fd >= 0)
        sweep(home.fd);
    fd_close(&home.fd);
}

/* ---- creation ------------------------------------------------------------ */

/* Another start may sweep the group away before it is locked. */
static bool try_make(struct local_cgroup *cgroup)
{
    fd_auto int outer = -1;

    snprintf(cgroup->name, sizeof(cgroup->name), PREFIX "%08x", g_random_int());
    if (mkdirat(cgroup->home.fd, cgroup->name, 0755) < 0)
        return false;
    outer = openat(cgroup->home.fd, cgroup->name,
                   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (outer < 0 || flock(outer, LOCK_EX | LOCK_NB) < 0 ||
        mkdirat(outer, INNER, 0755) < 0)
        return false;
    cgroup->inner = openat(outer, INNER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cgroup->outer = fd_steal(&outer);
    return cgroup->inner >= 0;
}

static void set_limit(struct local_cgroup *cgroup,
                      enum cgroup_controller controller, const char *file,
                      const char *value)
{
    int result = cgroup->home.has[controller]
                     ? cgroup_write(cgroup->outer, file, value)
                     : 0;

    if (!result)
        return;
    log_warn(LOG_SESSION, "cannot set %s of the sandbox's cgroup: %s", file,
             g_strerror(-result));
    cgroup->home.has[controller] = false;
}

static void set_limits(struct local_cgroup *cgroup,
                       const struct session_config *config)
{
    g_autofree char *memory = g_strdup_printf(
        "%" G_GUINT64_FORMAT, (guint64)session_config_memory(config) << 20);
    g_autofree char *cpu = g_strdup_printf(
        "%" G_GUINT64_FORMAT " %d", (guint64)config->cpus * CPU_PERIOD_US,
        CPU_PERIOD_US);

    set_limit(cgroup, CGROUP_MEMORY, "memory.max", memory);
    /* A kernel without swap has no such file. */
    if (faccessat(cgroup->outer, "memory.swap.max", F_OK, 0) == 0)
        set_limit(cgroup, CGROUP_MEMORY, "memory.swap.max", "0");
    set_limit(cgroup, CGROUP_PIDS, "pids.max", PIDS_MAX);
    if (config->cpus > 0)
        set_limit(cgroup, CGROUP_CPU, "cpu.max", cpu);
    cgroup_enable(cgroup->outer, cgroup->home.has);
}

static gboolean check_asked(const struct local_cgroup *cgroup,
                            const struct session_config *config, GError **error)
{
    const struct {
        const char *option;
        bool missing;
    } asked[] = {
        { "--memory",
          config->memory_mb > 0 && !cgroup->home.has[CGROUP_MEMORY] },
        { "--cpus", config->cpus > 0 && !cgroup->home.has[CGROUP_CPU] },
    };
    const char *remedy = NULL;
    const char *reason = cgroup_home_reason(&cgroup->home, &remedy);

    for (size_t i = 0; i < G_N_ELEMENTS(asked); i++) {
        if (!asked[i].missing)
            continue;
        g_set_error(
            error, STEPBACK_ERROR, ERROR_NO_CGROUP,
            "%s: local isolation cannot limit it, as cgroups cannot be "
            "used: %s; %s; or omit the option, or its line in config.ini",
            asked[i].option, reason, remedy);
        return FALSE;
    }
    return TRUE;
}

struct local_cgroup *local_cgroup_new(const struct session_config *config,
                                      GError **error)
{
    struct local_cgroup *cgroup = g_new0(struct local_cgroup, 1);
    bool made = false;

    cgroup->outer = cgroup->inner = -1;
    cgroup->home = cgroup_home_find();
    if (cgroup->home.fd >= 0)
        sweep(cgroup->home.fd);
    for (int i = 0; cgroup->home.fd >= 0 && !made && i < ATTEMPTS; i++)
        made = try_make(cgroup);
    if (made)
        set_limits(cgroup, config);
    else
        memset(cgroup->home.has, 0, sizeof(cgroup->home.has));
    if (check_asked(cgroup, config, error))
        return cgroup;
    local_cgroup_free(cgroup);
    return NULL;
}

void local_cgroup_free(struct local_cgroup *cgroup)
{
    if (!cgroup)
        return;
    if (cgroup->outer >= 0)
        remove_group(cgroup->home.fd, cgroup->name, cgroup->outer);
    fd_close(&cgroup->inner);
    fd_close(&cgroup->outer);
    fd_close(&cgroup->home.fd);
    g_free(cgroup);
}

/* ---- use ----------------------------------------------------------------- */

gboolean local_cgroup_add(const struct local_cgroup *cgroup, pid_t pid,
                          GError **error)
{
    g_autofree char *text = g_strdup_printf("%d", (int)pid);
    int result = cgroup->inner >= 0
                     ? cgroup_write(cgroup->inner, "cgroup.procs", text)
                     : 0;

    /* It has ended, and that is reported. */
    if (result == 0 || result == -ESRCH)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                "cannot move the sandbox into the cgroup %s: %s", cgroup->name,
                g_strerror(-result));
    return FALSE;
}

bool local_cgroup_can_freeze(const struct local_cgroup *cgroup)
{
    return cgroup->outer >= 0 &&
           faccessat(cgroup->outer, "cgroup.freeze", W_OK, AT_EACCESS) == 0;
}

bool local_cgroup_freeze(const struct local_cgroup *cgroup, bool freeze)
{
    int result = cgroup->outer >= 0
                     ? cgroup_write(cgroup->outer, "cgroup.freeze",
                                    freeze ? "1" : "0")
                     : -ENOENT;

    return freeze && result == 0;
}

bool local_cgroup_limits_memory(const struct local_cgroup *cgroup)
{
    return cgroup->home.has[CGROUP_MEMORY];
}

guint64 local_cgroup_oom_kills(const struct local_cgroup *cgroup)
{
    g_autofree char *text = local_cgroup_limits_memory(cgroup)
                                ? cgroup_read(cgroup->outer, "memory.events")
                                : NULL;
    const char *line = text ? strstr(text, "\noom_kill ") : NULL;

    /* Of a host without memory, and not of the sandbox. */
    if (!line || strstr(text, "\noom 0\n"))
        return 0;
    return g_ascii_strtoull(line + strlen("\noom_kill "), NULL, 10);
}

char *local_cgroup_problem(const char **ret_remedy)
{
    static const char *const texts[CGROUP_CONTROLLERS] = {
        [CGROUP_MEMORY] = "memory",
        [CGROUP_CPU] = "processors",
        [CGROUP_PIDS] = "the number of processes",
    };
    struct cgroup_home home = cgroup_home_find();
    g_autoptr(GString) missing = g_string_new(NULL);

    for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
        if (!home.has[i] || home.fd < 0)
            g_string_append_printf(missing, "%s%s", missing->len ? ", " : "",
                                   texts[i]);
    }
    fd_close(&home.fd);
    if (missing->len == 0)
        return NULL;
    return g_strdup_printf("local isolation does not limit %s: %s",
                           missing->str, cgroup_home_reason(&home, ret_remedy));
}

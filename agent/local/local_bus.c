/* SPDX-License-Identifier: Apache-2.0
 *
 * local_bus - see local_bus.h.
 */
#include "agent/local/local_bus.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/child.h"
#include "agent/machine/share_check.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/host_program.h"
#include "common/log.h"
#include "common/own_folder.h"

#define UNIX_PATH "unix:path="
#define GUID      ",guid="

/* From login on, systemd has such a bus. */
#define REMEDY                                                                 \
    "use the bus of a login session, /run/user/UID/bus, or start one: "        \
    "dbus-daemon --session --fork --address=unix:path=FOLDER/bus"

enum {
    LINES_MAX = 20,    /* the sandbox can cause any number of warnings */
    MAX_FILES = 64,    /* two for each connection to the bus */
    MAX_DATA_MB = 256, /* a message has at most 128 MiB */
};

struct local_bus {
    char *program, *socket, *address, *path;
    char **rules;
    struct child *child;
    int ready; /* the proxy ends when no process has it open */
    unsigned lines;
};

/* ---- the bus of the host ------------------------------------------------- */

static gboolean fail(GError **error, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

static gboolean fail(GError **error, const char *format, ...)
{
    g_autofree char *problem = NULL, *valid = NULL;
    va_list arguments;

    va_start(arguments, format);
    problem = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    valid = g_utf8_make_valid(problem, -1); /* paths */
    g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                "--session-bus: %s", valid);
    return FALSE;
}

/* Return the path of an address: a new string; NULL: the address is not one
 * path. Other kinds run programs, reach other hosts, or, as abstract sockets,
 * have no owner that could be checked. */
static char *path_of(const char *address)
{
    const char *end = strchr(address, ',');
    g_autofree char *path = NULL;

    if (!g_str_has_prefix(address, UNIX_PATH "/") || strchr(address, ';') ||
        (end && (!g_str_has_prefix(end, GUID) || strchr(end + 1, ','))))
        return NULL;
    path = g_strndup(address, end ? (size_t)(end - address) : strlen(address));
    return g_uri_unescape_string(path + strlen(UNIX_PATH), NULL);
}

static gboolean find_path(char **ret_path, GError **error)
{
    const char *given = g_getenv("DBUS_SESSION_BUS_ADDRESS");
    const char *runtime = g_getenv("XDG_RUNTIME_DIR");

    if (given && *given) {
        *ret_path = path_of(given);
        return *ret_path ||
               fail(error,
                    "DBUS_SESSION_BUS_ADDRESS: '%s' is not unix:path=PATH, "
                    "whose owner can be checked; " REMEDY,
                    given);
    }
    if (!runtime)
        return fail(error, "there is no session bus, as neither "
                           "DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is "
                           "set; " REMEDY);
    *ret_path = g_build_filename(runtime, "bus", NULL);
    return TRUE;
}

/* Check that only this user can replace the socket and what answers there. The
 * checked path has no symlinks. */
static gboolean check_socket(const char *path, char **ret_checked,
                             GError **error)
{
    g_autofree char *dir = g_path_get_dirname(path);
    g_autofree char *name = g_path_get_basename(path);
    g_autofree char *real = NULL, *problem = NULL;
    fd_auto int fd = own_folder_open(dir, &real, &problem);
    struct stat st;

    if (fd < 0)
        return fail(error, "%s, the folder of the session bus, %s; " REMEDY,
                    dir, problem);
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISSOCK(st.st_mode))
        return fail(error, "there is no session bus at %s; " REMEDY, path);
    if (st.st_uid != geteuid())
        return fail(error,
                    "%s, the session bus, belongs to user %u, not to user %u; "
                    "run stepback as the user of the session",
                    path, (unsigned)st.st_uid, (unsigned)geteuid());
    *ret_checked = g_build_filename(real, name, NULL);
    return TRUE;
}

gboolean local_bus_check_shares(const struct local_bus *bus,
                                const struct session_config *config,
                                GError **error)
{
    return !bus ||
           (share_check_file(config, LOCAL_BUS_PROXY, bus->program, error) &&
            share_check_file(config, "the socket of the session bus",
                             bus->socket, error));
}

gboolean local_bus_find(const struct session_config *config,
                        struct local_bus **ret_bus, GError **error)
{
    g_autofree char *program = NULL, *path = NULL, *checked = NULL;
    g_autofree char *escaped = NULL;

    *ret_bus = NULL;
    if (!config->session_bus)
        return TRUE;
    program = host_program_find(LOCAL_BUS_PROXY);
    if (!program)
        return fail(error, LOCAL_BUS_PROXY " is not installed; install it "
                                           "with: apt-get install "
                                           "xdg-dbus-proxy");
    if (!find_path(&path, error) || !check_socket(path, &checked, error))
        return FALSE;
    escaped = g_uri_escape_string(checked, "/", FALSE);
    *ret_bus = g_new0(struct local_bus, 1);
    **ret_bus = (struct local_bus){
        .program = g_steal_pointer(&program),
        .socket = g_steal_pointer(&checked),
        .address = g_strconcat(UNIX_PATH, escaped, NULL),
        .rules = g_strdupv(config->session_bus),
        .ready = -1,
    };
    if (local_bus_check_shares(*ret_bus, config, error))
        return TRUE;
    g_clear_pointer(ret_bus, local_bus_free);
    return FALSE;
}

void local_bus_free(struct local_bus *bus)
{
    if (!bus)
        return;
    child_free(bus->child);
    fd_close(&bus->ready);
    g_strfreev(bus->rules);
    g_free(bus->program);
    g_free(bus->socket);
    g_free(bus->address);
    g_free(bus->path);
    g_free(bus);
}

/* ---- the proxy ----------------------------------------------------------- */

static void on_line(struct child *child, const char *line, void *opaque)
{
    struct local_bus *bus = opaque;

    if (bus->lines++ < LINES_MAX)
        log_warn(LOG_SESSION, LOCAL_BUS_PROXY ": %.500s", line);
}

static void on_exited(struct child *child, void *opaque)
{
    g_autofree char *end = child_describe_exit(child);

    log_warn(LOG_SESSION, LOCAL_BUS_PROXY " %s; the sandbox has no session bus",
             end);
}

static const struct child_callbacks child_callbacks = {
    .line = on_line,
    .exited = on_exited,
};

/* Of another process: it starts with those of this one. */
static bool set_limits(pid_t pid)
{
    static const struct {
        __rlimit_resource_t resource;
        rlim_t value;
    } limits[] = {
        { RLIMIT_CORE, 0 }, /* it has other programs' messages in memory */
        { RLIMIT_FSIZE, 0 },
        { RLIMIT_NOFILE, MAX_FILES },
        { RLIMIT_DATA, (rlim_t)MAX_DATA_MB << 20 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(limits); i++) {
        struct rlimit limit;

        if (prlimit(pid, limits[i].resource, NULL, &limit) < 0)
            return false;
        limit.rlim_max = MIN(limit.rlim_max, limits[i].value);
        limit.rlim_cur = MIN(limit.rlim_cur, limit.rlim_max);
        if (prlimit(pid, limits[i].resource, &limit, NULL) < 0)
            return false;
    }
    return true;
}

static char **command_line(const struct local_bus *bus, int ready)
{
    GPtrArray *argv = g_ptr_array_new();

    g_ptr_array_add(argv, g_strdup(bus->program));
    g_ptr_array_add(argv, g_strdup_printf("--fd=%d", ready));
    g_ptr_array_add(argv, g_strdup(bus->address));
    g_ptr_array_add(argv, g_strdup(bus->path));
    g_ptr_array_add(argv, g_strdup("--filter"));
    for (char **rule = bus->rules; *rule; rule++) {
        g_ptr_array_add(argv, g_strconcat("--call=", *rule, NULL));
        g_ptr_array_add(argv, g_strconcat("--broadcast=", *rule, NULL));
    }
    g_ptr_array_add(argv, NULL);
    return (char **)g_ptr_array_free(argv, FALSE);
}

gboolean local_bus_start(struct local_bus *bus, const char *path,
                         GError **error)
{
    g_auto(GStrv) argv = NULL;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return fail(error, "cannot make a pipe: %s", g_strerror(errno));
    bus->ready = ends[0];
    bus->path = g_strdup(path);
    argv = command_line(bus, ends[1]);
    bus->child = child_spawn((const char *const *)argv, &ends[1], 1,
                             &child_callbacks, bus, error);
    close(ends[1]);
    /* A process that has ended is reported by stepback-local. */
    return bus->child && (set_limits(child_pid(bus->child)) || errno == ESRCH ||
                          fail(error, "cannot limit " LOCAL_BUS_PROXY ": %s",
                               g_strerror(errno)));
}

pid_t local_bus_pid(const struct local_bus *bus)
{
    return child_pid(bus->child);
}

const char *local_bus_path(const struct local_bus *bus)
{
    return bus ? bus->path : NULL;
}

int local_bus_ready_fd(const struct local_bus *bus)
{
    return bus ? bus->ready : -1;
}

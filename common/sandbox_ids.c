/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_ids - see sandbox.h: users and capabilities.
 *
 * Without root the sandbox is in a user namespace. A process may map only its
 * own id there; more users are mapped by newuidmap(1) and newgidmap(1), which
 * read /etc/subuid and must run outside: a child started earlier waits for a
 * byte, runs them on this process, and exits.
 */
#include "common/sandbox_ids.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/host_environ.h"
#include "common/host_program.h"
#include "common/sandbox_parts.h"

/* ---- maps ---------------------------------------------------------------- */

enum { MAX_RANGES = 8 };

struct id_range {
    unsigned inside, outside, count;
};

struct id_map {
    unsigned length; /* 0: not given */
    struct id_range ranges[MAX_RANGES];
};

struct sandbox_mapper {
    uid_t uid; /* this process's, outside */
    gid_t gid;
    struct id_map users, groups;
    pid_t child; /* 0: not needed */
    int word;    /* a byte starts the child */
};

static bool parse_number(const char *text, unsigned *ret_number)
{
    guint64 number;

    if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32 - 1, &number,
                                    NULL))
        return false;
    *ret_number = (unsigned)number;
    return true;
}

/* Parse ":0:100000:65536:", with any character as the colon. */
static bool parse_range(const char *text, struct id_range *ret_range)
{
    char separator[2] = { text[0] };
    g_auto(GStrv) parts = g_strsplit(text, separator, -1);

    return separator[0] && g_strv_length(parts) == 5 && !*parts[4] &&
           parse_number(parts[1], &ret_range->inside) &&
           parse_number(parts[2], &ret_range->outside) &&
           parse_number(parts[3], &ret_range->count) && ret_range->count > 0;
}

static gboolean parse_map(const char *text, const char *option,
                          struct id_map *ret_map, GError **error)
{
    g_auto(GStrv) ranges = g_strsplit(text ? text : "", ",", -1);
    bool ok = true;

    for (char **range = ranges; ok && *range; range++)
        ok = ret_map->length < MAX_RANGES &&
             parse_range(*range, &ret_map->ranges[ret_map->length++]);
    if (ok)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "%s: '%s' is not a map; use :INSIDE:OUTSIDE:COUNT:, or up to "
                "%d of these separated by commas",
                option, text, MAX_RANGES);
    return FALSE;
}

bool sandbox_map_renumbers(const char *text)
{
    struct id_map map = { 0 };

    if (!text || !parse_map(text, "", &map, NULL))
        return false;
    for (unsigned i = 0; i < map.length; i++) {
        if (map.ranges[i].inside != map.ranges[i].outside)
            return true;
    }
    return false;
}

static bool has_root(const struct id_map *map)
{
    for (unsigned i = 0; i < map->length; i++) {
        if (map->ranges[i].inside == 0)
            return true;
    }
    return false;
}

static bool has_outside(const struct id_map *map, unsigned id)
{
    for (unsigned i = 0; i < map->length; i++) {
        const struct id_range *range = &map->ranges[i];

        if (id >= range->outside && id - range->outside < range->count)
            return true;
    }
    return false;
}

gboolean sandbox_check_map(const char *option, const char *text, unsigned own,
                           GError **error)
{
    struct id_map map = { 0 };

    if (!text)
        return TRUE;
    if (!parse_map(text, option, &map, error))
        return FALSE;
    if (has_root(&map) || has_outside(&map, own))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "%s=%s maps neither 0 inside nor %u outside; the daemon "
                "would act as the overflow user",
                option, text, own);
    return FALSE;
}

/* Return whether the map is empty or maps only this process's id: no outside
 * help is needed. */
static bool maps_only_self(const struct id_map *map, unsigned own)
{
    return map->length == 0 || (map->length == 1 && map->ranges[0].count == 1 &&
                                map->ranges[0].outside == own);
}

/* ---- newuidmap ----------------------------------------------------------- */

/* The child's exit status tells which tool failed, and how. */
enum { USERS_FAILED = 1, GROUPS_FAILED = 2, NOT_FOUND = 127 };

static int run_tool(const char *tool, pid_t pid, const struct id_map *map)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *program = host_program_find(tool);
    g_auto(GStrv) env = host_environ_new(NULL);
    int status;
    pid_t child;

    if (!program)
        return NOT_FOUND;

    g_ptr_array_add(argv, g_strdup(tool));
    g_ptr_array_add(argv, g_strdup_printf("%d", (int)pid));
    for (unsigned i = 0; i < map->length; i++) {
        const struct id_range *range = &map->ranges[i];

        g_ptr_array_add(argv, g_strdup_printf("%u", range->inside));
        g_ptr_array_add(argv, g_strdup_printf("%u", range->outside));
        g_ptr_array_add(argv, g_strdup_printf("%u", range->count));
    }
    g_ptr_array_add(argv, NULL);
    child = fork();
    if (child == 0) {
        execve(program, (char **)argv->pdata, env);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void map_from_outside(const struct sandbox_mapper *mapper, int word)
{
    pid_t parent = getppid();
    char byte;
    int rc = 0;

    if (read(word, &byte, 1) != 1) /* the parent gave up */
        _exit(0);
    if (!maps_only_self(&mapper->users, mapper->uid))
        rc = run_tool("newuidmap", parent, &mapper->users);
    if (rc != 0)
        _exit(rc == NOT_FOUND ? NOT_FOUND : USERS_FAILED);
    if (!maps_only_self(&mapper->groups, mapper->gid))
        rc = run_tool("newgidmap", parent, &mapper->groups);
    _exit(rc == 0 ? 0 : rc == NOT_FOUND ? NOT_FOUND : GROUPS_FAILED);
}

static gboolean start_child(struct sandbox_mapper *mapper, GError **error)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return sandbox_fail(error, "pipe");
    mapper->child = fork();
    if (mapper->child == 0) {
        close(ends[1]);
        map_from_outside(mapper, ends[0]);
    }
    close(ends[0]);
    mapper->word = ends[1];
    return mapper->child > 0 || sandbox_fail(error, "fork");
}

struct sandbox_mapper *sandbox_mapper_new(const struct sandbox_options *options,
                                          GError **error)
{
    struct sandbox_mapper *mapper = g_new0(struct sandbox_mapper, 1);
    gboolean ok = parse_map(options->uid_map, "--uid-map", &mapper->users,
                            error) &&
                  parse_map(options->gid_map, "--gid-map", &mapper->groups,
                            error);

    mapper->word = -1;
    mapper->uid = geteuid();
    mapper->gid = getegid();
    if (ok && (!maps_only_self(&mapper->users, mapper->uid) ||
               !maps_only_self(&mapper->groups, mapper->gid)))
        ok = start_child(mapper, error);
    if (!ok)
        g_clear_pointer(&mapper, sandbox_mapper_free);
    return mapper;
}

/* ---- mapping our own id -------------------------------------------------- */

static gboolean write_file(const char *path, const char *text, GError **error)
{
    fd_auto int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text))
        return TRUE;
    return sandbox_fail(error, path);
}

static gboolean map_ourselves(const char *path, const struct id_map *map,
                              unsigned own, GError **error)
{
    unsigned inside = map->length > 0 ? map->ranges[0].inside : own;
    g_autofree char *line = g_strdup_printf("%u %u 1", inside, own);

    return write_file(path, line, error);
}

/* Become root if it is mapped. An unmapped process is the overflow user, and
 * cannot create files. */
static gboolean become_root(const struct sandbox_mapper *mapper, GError **error)
{
    bool may_set = !maps_only_self(&mapper->groups,
                                   mapper->gid); /* see below */

    if (has_root(&mapper->groups) &&
        ((may_set && setgroups(0, NULL) < 0) || setresgid(0, 0, 0) < 0))
        return sandbox_fail(error, "group 0");
    if (has_root(&mapper->users) && setresuid(0, 0, 0) < 0)
        return sandbox_fail(error, "user 0");
    return TRUE;
}

static gboolean wait_for_child(struct sandbox_mapper *mapper, GError **error)
{
    int status = 0;
    ssize_t n = write(mapper->word, "", 1);

    while (waitpid(mapper->child, &status, 0) < 0 && errno == EINTR)
        ;
    mapper->child = 0;
    if (n == 1 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND
                    ? "--uid-map and --gid-map require newuidmap and newgidmap "
                      "(Debian: the package uidmap)"
                    : "sandbox: cannot map the users; /etc/subuid and "
                      "/etc/subgid list the ones that you may map");
    return FALSE;
}

gboolean sandbox_mapper_run(struct sandbox_mapper *mapper, GError **error)
{
    if (mapper->child > 0 && !wait_for_child(mapper, error))
        return FALSE;
    if (maps_only_self(&mapper->users, mapper->uid) &&
        !map_ourselves("/proc/self/uid_map", &mapper->users, mapper->uid,
                       error))
        return FALSE;
    /* user_namespaces(7): a process that maps its own group must give up
     * setgroups(2). */
    if (maps_only_self(&mapper->groups, mapper->gid) &&
        (!write_file("/proc/self/setgroups", "deny", error) ||
         !map_ourselves("/proc/self/gid_map", &mapper->groups, mapper->gid,
                        error)))
        return FALSE;
    return become_root(mapper, error);
}

void sandbox_mapper_free(struct sandbox_mapper *mapper)
{
    if (!mapper)
        return;
    fd_close(&mapper->word);
    if (mapper->child > 0)
        waitpid(mapper->child, NULL, 0);
    g_free(mapper);
}

/* ---- capabilities -------------------------------------------------------- */

/* Capabilities that a file server for several users needs. */
static const int kept[] = {
    CAP_CHOWN,        /* chown(2) for the client */
    CAP_DAC_OVERRIDE, /* the client's kernel has checked the user's
                       * permissions */
    CAP_FOWNER,       /* chmod(2), times, attributes of other users' files */
    CAP_FSETID,       /* set-group-ID bits for groups we are not in */
    CAP_SETGID,       /* create as the client's user */
    CAP_SETUID,       /* likewise */
    CAP_MKNOD,        /* device nodes */
    CAP_SETFCAP,      /* set and restore security.capability */
};

/* Return the capability of "+name" or "-name"; -1 for other text. */
static int parse_change(const char *text)
{
    return text[0] == '+' || text[0] == '-' ? capng_name_to_capability(text + 1)
                                            : -1;
}

static gboolean refuse_change(const char *text, GError **error)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "--modcaps: '%s' is not a change; use e.g. +sys_admin:-mknod, "
                "with names of capabilities(7) without CAP_",
                text);
    return FALSE;
}

gboolean sandbox_check_modcaps(const char *modcaps, GError **error)
{
    g_auto(GStrv) changes = g_strsplit(modcaps ? modcaps : "", ":", -1);

    for (char **change = changes; *change; change++) {
        if (**change && parse_change(*change) < 0)
            return refuse_change(*change, error);
    }
    return TRUE;
}

static gboolean modify(const char *text, GError **error)
{
    int capability = parse_change(text);

    return (capability >= 0 &&
            capng_update(text[0] == '+' ? CAPNG_ADD : CAPNG_DROP,
                         CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
                         (unsigned)capability) == 0) ||
           refuse_change(text, error);
}

gboolean sandbox_drop_capabilities(const char *modcaps, bool file_handles,
                                   GError **error)
{
    g_auto(GStrv) changes = g_strsplit(modcaps ? modcaps : "", ":", -1);
    capng_select_t what;

    if (capng_get_caps_process() != 0)
        return sandbox_fail(error, "capabilities");
    if (capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_NONE)
        return TRUE;
    /* Only root may reduce the bounding set. */
    what = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP)
               ? CAPNG_SELECT_BOTH
               : CAPNG_SELECT_CAPS;
    file_handles = file_handles &&
                   capng_have_capability(CAPNG_PERMITTED, CAP_DAC_READ_SEARCH);
    capng_clear(CAPNG_SELECT_BOTH);
    for (size_t i = 0; i < G_N_ELEMENTS(kept); i++)
        capng_update(CAPNG_ADD,
                     CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
                     (unsigned)kept[i]);
    if (file_handles) /* open_by_handle_at(2) */
        capng_update(CAPNG_ADD,
                     CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
                     CAP_DAC_READ_SEARCH);
    for (char **change = changes; *change; change++) {
        if (**change && !modify(*change, error))
            return FALSE;
    }
    return capng_apply(what) == 0 || sandbox_fail(error, "capabilities");
}

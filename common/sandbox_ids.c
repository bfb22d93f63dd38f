/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_ids - see sandbox.h: users and capabilities.
 *
 * Without root the sandbox is in a user namespace. The caller may map itself
 * there, to one id; more users are mapped for it by newuidmap(1) and
 * newgidmap(1), which look into /etc/subuid and have to run outside: a child
 * that was made before waits for the word, runs them on us, and ends.
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
    uid_t uid; /* ours, outside */
    gid_t gid;
    struct id_map users, groups;
    pid_t child; /* 0: none is needed */
    int word;    /* a byte lets the child go */
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

/* ":0:100000:65536:", with any character for the colons. */
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
                "%s is :INSIDE:OUTSIDE:COUNT:, or up to %d of these with "
                "commas, and not \"%s\"",
                option, MAX_RANGES, text);
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
                "%s=%s has neither 0 inside nor %u outside, and the daemon "
                "would be nobody",
                option, text, own);
    return FALSE;
}

/* Nothing given, or us alone: no help from outside is needed. */
static bool is_own(const struct id_map *map, unsigned own)
{
    return map->length == 0 || (map->length == 1 && map->ranges[0].count == 1 &&
                                map->ranges[0].outside == own);
}

/* ---- newuidmap ----------------------------------------------------------- */

/* The child's exit status says which tool failed, and how. */
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
    if (!is_own(&mapper->users, mapper->uid))
        rc = run_tool("newuidmap", parent, &mapper->users);
    if (rc != 0)
        _exit(rc == NOT_FOUND ? NOT_FOUND : USERS_FAILED);
    if (!is_own(&mapper->groups, mapper->gid))
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
    if (ok && (!is_own(&mapper->users, mapper->uid) ||
               !is_own(&mapper->groups, mapper->gid)))
        ok = start_child(mapper, error);
    if (!ok)
        g_clear_pointer(&mapper, sandbox_mapper_free);
    return mapper;
}

/* ---- our own map --------------------------------------------------------- */

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

/* Who is not in the map is nobody, and can make nothing. */
static gboolean become_root(const struct sandbox_mapper *mapper, GError **error)
{
    bool may_set = !is_own(&mapper->groups, mapper->gid); /* see below */

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
                    ? "--uid-map and --gid-map need newuidmap and newgidmap "
                      "(Debian: the package uidmap)"
                    : "sandbox: the users cannot be mapped; /etc/subuid and "
                      "/etc/subgid say which ones are yours");
    return FALSE;
}

gboolean sandbox_mapper_run(struct sandbox_mapper *mapper, GError **error)
{
    if (mapper->child > 0 && !wait_for_child(mapper, error))
        return FALSE;
    if (is_own(&mapper->users, mapper->uid) &&
        !map_ourselves("/proc/self/uid_map", &mapper->users, mapper->uid,
                       error))
        return FALSE;
    /* user_namespaces(7): who maps a group by itself gives up setgroups(2). */
    if (is_own(&mapper->groups, mapper->gid) &&
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

/* What a file server for several users needs, and each one's reason. */
static const int kept[] = {
    CAP_CHOWN,        /* chown(2) for the client */
    CAP_DAC_OVERRIDE, /* the client's kernel has checked its user's rights */
    CAP_FOWNER,       /* chmod(2), times, attributes of others' files */
    CAP_FSETID,       /* set-group-ID bits that are not for our groups */
    CAP_SETGID,       /* create as the client's user */
    CAP_SETUID,       /* the same */
    CAP_MKNOD,        /* device nodes */
    CAP_SETFCAP,      /* security.capability, and putting it back */
};

/* "+name" or "-name"; -1: neither. */
static int parse_change(const char *text)
{
    return text[0] == '+' || text[0] == '-' ? capng_name_to_capability(text + 1)
                                            : -1;
}

static gboolean refuse_change(const char *text, GError **error)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "--modcaps is a list like +sys_admin:-mknod, of "
                "capabilities(7) without their CAP_, and \"%s\" is no part of "
                "one",
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
    /* The bounding set is for root to cut. */
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

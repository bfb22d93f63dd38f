/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_env - see cli_env.h.
 */
#include "agent/cli/cli_env.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/command.h"
#include "agent/machine/share_check.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/host_environ.h"

#define NAME_CHARACTERS G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_"

enum { FILE_MAX = 1 << 20 };

static gboolean fail(GError **error, const char *path, const char *problem)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, "--env-file %s: %s",
                path, problem);
    return FALSE;
}

const char *cli_env_problem(const char *entry)
{
    size_t len = strcspn(entry, "=");

    if (len == 0)
        return "the variable has no name; write NAME=VALUE";
    if (g_ascii_isdigit(*entry) || strspn(entry, NAME_CHARACTERS) != len)
        return "the variable's name must have letters, digits and _ only, and "
               "not begin with a digit; write NAME=VALUE";
    return NULL;
}

/* Replace *env by one with this entry. */
static void add(char ***env, const char *entry)
{
    char **before = *env;
    const char *value = strchr(entry, '=') ? NULL : host_environ_given(entry);
    g_autofree char *both = value ? g_strconcat(entry, "=", value, NULL) : NULL;
    char *const one[] = { both ? both : (char *)entry, NULL };

    if (!strchr(one[0], '='))
        return;
    *env = command_merge_env(before, one);
    g_strfreev(before);
}

/* ---- files --------------------------------------------------------------- */

/* Check an open file that the guest can replace: it could be a link to a file
 * of the host, or a FIFO. */
static gboolean check_shared(int fd, const char *path,
                             const char *const *folders, GError **error)
{
    g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
    g_autofree char *real = g_file_read_link(link, NULL);
    struct stat st;

    if (!real || !share_check_find(folders, real))
        return fail(error, path,
                    "is in a folder that the guest can write, and a link out "
                    "of it; name the file itself");
    return (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) ||
           fail(error, path, "not a regular file");
}

static char *read_all(int fd, const char *path, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    char part[16384];
    ssize_t got;

    while ((got = read(fd, part, sizeof(part))) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || text->len + (size_t)got > FILE_MAX) {
            fail(error, path, got < 0 ? g_strerror(errno) : "more than 1 MiB");
            return NULL;
        }
        g_string_append_len(text, part, got);
    }
    if (memchr(text->str, '\0', text->len)) {
        fail(error, path, "it contains a NUL byte; a value cannot have one");
        return NULL;
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Open and read a file. It may be a pipe: <(command) of a shell. */
static char *read_file(const char *path, bool shared,
                       const char *const *folders, GError **error)
{
    fd_auto int fd = open(path,
                          O_RDONLY | O_CLOEXEC | (shared ? O_NONBLOCK : 0));

    if (fd < 0) {
        fail(error, path, g_strerror(errno));
        return NULL;
    }
    if (shared && !check_shared(fd, path, folders, error))
        return NULL;
    return read_all(fd, path, error);
}

static gboolean check_line(const char *line, const char *path, unsigned number,
                           bool shared, GError **error)
{
    const char *problem = cli_env_problem(line);

    if (problem)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "--env-file %s: line %u: %s", path, number, problem);
    else if (shared && !strchr(line, '='))
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "--env-file %s: line %u would pass on %.100s of this host, "
                    "but the guest can write this file; use -e %.100s",
                    path, number, line, line);
    else
        return TRUE;
    return FALSE;
}

/* Lines as Docker's: no quoting; empty lines and those with # are skipped. */
static gboolean add_file(char ***env, const char *path,
                         const char *const *folders, GError **error)
{
    bool shared = share_check_find(folders, path) != NULL;
    g_autofree char *text = read_file(path, shared, folders, error);
    g_auto(GStrv) lines = text ? g_strsplit(text, "\n", -1) : NULL;

    for (char **line = lines; line && *line; line++) {
        g_strchomp(*line);
        if (**line == '\0' || **line == '#')
            continue;
        if (!check_line(*line, path, (unsigned)(line - lines) + 1, shared,
                        error))
            return FALSE;
        add(env, *line);
    }
    return lines != NULL;
}

char **cli_env_read(char **files, char **entries, const char *const *folders,
                    GError **error)
{
    g_auto(GStrv) env = g_new0(char *, 1);

    for (; files && *files; files++) {
        if (!add_file(&env, *files, folders, error))
            return NULL;
    }
    for (; entries && *entries; entries++) {
        const char *problem = cli_env_problem(*entries);

        if (problem) {
            g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, "-e %s: %s",
                        *entries, problem);
            return NULL;
        }
        add(&env, *entries);
    }
    return g_steal_pointer(&env);
}

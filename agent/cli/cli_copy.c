/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_copy - see cli_copy.h.
 */
#include "agent/cli/cli_copy.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/sandbox/sandbox_name.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/json_bytes.h"
#include "copy/tree_pack.h"
#include "copy/tree_unpack.h"

enum {
    CHUNK = 256 * 1024,
    /* The parser of a stream needs little, but a map of holes can be as long
     * as its sender likes. */
    MEMORY_MAX = 256 << 20,
};

/* ---- places -------------------------------------------------------------- */

static bool is_host_path(const char *place)
{
    return *place == '/' || *place == '.' || !strchr(place, ':');
}

static gboolean fail(GError **error, const char *format, const char *place)
{
    g_autofree char *text = g_strdup_printf("%s: %s", place, format);

    g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, text);
    return FALSE;
}

static gboolean parse_guest(struct copy_plan *plan, const char *place,
                            GError **error)
{
    size_t len = strcspn(place, ":");
    g_autofree char *name = g_strndup(place, len);
    const char *path = place + len + 1;

    if (!sandbox_name_is_valid(name))
        return fail(error,
                    "not a sandbox name before ':'; write ./ before the name "
                    "of a file on the host",
                    place);
    if (!*path)
        return fail(error,
                    "no path after ':'; write one, such as /root, or / for "
                    "the root directory",
                    place);
    plan->sandbox = g_steal_pointer(&name);
    /* As with docker cp, relative to the root directory. */
    plan->guest_path = *path == '/' ? g_strdup(path)
                                    : g_strconcat("/", path, NULL);
    return TRUE;
}

static gboolean parse_host(struct copy_plan *plan, const char *place,
                           GError **error)
{
    if (!*place)
        return fail(error, "the path is empty", "''");
    plan->stream = strcmp(place, "-") == 0;
    plan->host_path = plan->stream ? NULL : g_strdup(place);
    return TRUE;
}

struct copy_plan *cli_copy_parse(const char *from, const char *to,
                                 const struct copy_options *options,
                                 GError **error)
{
    struct copy_plan *plan = g_new0(struct copy_plan, 1);
    bool good = false;

    plan->options = *options;
    plan->in = is_host_path(from);
    if (plan->in == is_host_path(to))
        fail(error,
             plan->in
                 ? "one of the two must be NAME:PATH, a path in a sandbox; "
                   "'stepback ps' lists the names"
                 : "copies between two sandboxes are not supported; copy "
                   "to the host first",
             to);
    else
        good = parse_host(plan, plan->in ? from : to, error) &&
               parse_guest(plan, plan->in ? to : from, error);
    if (good)
        return plan;
    cli_copy_free(plan);
    return NULL;
}

void cli_copy_free(struct copy_plan *plan)
{
    if (!plan)
        return;
    g_free(plan->sandbox);
    g_free(plan->guest_path);
    g_free(plan->host_path);
    free(plan->top);
    g_free(plan);
}

const char *cli_copy_request(const struct copy_plan *plan, json_t **ret_payload)
{
    json_t *path = json_bytes_path(plan->guest_path);

    if (plan->in)
        *ret_payload = json_pack("{s:o, s:b, s:b}", "path", path, "archive",
                                 plan->stream, "keep_owner",
                                 plan->options.archive);
    else
        *ret_payload = json_pack("{s:o, s:b}", "path", path, "follow",
                                 plan->options.follow);
    return plan->in ? "file.copy_in" : "file.copy_out";
}

/* ---- the stream ---------------------------------------------------------- */

/* Copy bytes until the end of file. */
static bool pump(int from, int to, struct copy_error *error)
{
    g_autofree char *chunk = g_malloc(CHUNK);

    for (;;) {
        ssize_t got = read(from, chunk, CHUNK);
        int result;

        if (got == 0)
            return true;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return copy_fail(error, "cannot read the stream: %s",
                             g_strerror(errno));
        result = fd_write_all(to, chunk, (size_t)got);
        if (result) {
            copy_fail(error, "cannot write the stream: %s",
                      g_strerror(-result));
            error->stream = to != STDOUT_FILENO;
            return false;
        }
    }
}

static bool open_source(const struct copy_plan *plan, struct tree_pack *pack,
                        struct copy_error *error)
{
    if (!tree_pack_open(pack, plan->host_path, plan->options.follow, error))
        return false;
    if (plan->top) {
        free(pack->top);
        pack->top = strdup(plan->top);
    }
    return pack->top || copy_fail(error, "out of memory");
}

static bool open_target(const struct copy_plan *plan,
                        struct tree_unpack *unpack,
                        const struct unpack_options *options,
                        struct copy_error *error)
{
    if (plan->dir_fd > 0)
        return tree_unpack_open_at(unpack, plan->dir_fd, plan->host_path,
                                   options, error);
    return tree_unpack_open(unpack, plan->host_path, options, error);
}

static bool send_tree(const struct copy_plan *plan, int fd,
                      struct copy_result *ret_result, struct copy_error *error)
{
    struct tree_pack pack;
    bool good = open_source(plan, &pack, error) &&
                tree_pack_write(&pack, fd, ret_result, error);

    tree_pack_free(&pack);
    return good;
}

static bool receive_tree(const struct copy_plan *plan, int fd,
                         struct copy_result *ret_result,
                         struct copy_error *error)
{
    char *top = tree_pack_top(plan->guest_path);
    bool root = geteuid() == 0;
    const struct unpack_options options = {
        .top = top && strcmp(top, ".") != 0 ? top : NULL,
        .keep_owner = plan->options.archive && root,
        .special = plan->options.allow_special && plan->options.archive && root,
    };
    struct tree_unpack unpack;
    bool good = open_target(plan, &unpack, &options, error) &&
                tree_unpack_read(&unpack, fd, ret_result, error);

    tree_unpack_free(&unpack);
    free(top);
    return good;
}

static bool move_stream(const struct copy_plan *plan, int fd,
                        struct copy_result *ret_result,
                        struct copy_error *error)
{
    if (plan->stream)
        return plan->in ? pump(STDIN_FILENO, fd, error)
                        : pump(fd, STDOUT_FILENO, error);
    return (plan->in ? send_tree : receive_tree)(plan, fd, ret_result, error);
}

/* Limit further allocations to MEMORY_MAX. Return the old limit. */
static struct rlimit limit_memory(void)
{
    g_autofree char *text = NULL;
    struct rlimit old, limit;
    unsigned long pages = 0;

    getrlimit(RLIMIT_DATA, &old);
    limit = old;
    if (g_file_get_contents("/proc/self/statm", &text, NULL, NULL) &&
        sscanf(text, "%*u %*u %*u %*u %*u %lu", &pages) == 1)
        limit.rlim_cur = MIN(old.rlim_cur,
                             (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) +
                                 MEMORY_MAX);
    setrlimit(RLIMIT_DATA, &limit);
    return old;
}

gboolean cli_copy_check(const struct copy_plan *plan, GError **error)
{
    const struct unpack_options options = { 0 };
    struct tree_unpack unpack;
    struct tree_pack pack;
    struct copy_error reason;
    bool good = true;

    if (plan->stream && !plan->in && isatty(STDOUT_FILENO)) {
        good = copy_fail(&reason, "standard output is a terminal; redirect it "
                                  "to a file or a pipe");
    } else if (!plan->stream && plan->in) {
        good = open_source(plan, &pack, &reason);
        tree_pack_free(&pack);
    } else if (!plan->stream) {
        good = open_target(plan, &unpack, &options, &reason);
        tree_unpack_free(&unpack);
    }
    if (!good)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_IO_ERROR, reason.text);
    return good;
}

gboolean cli_copy_run(const struct copy_plan *plan, int fd,
                      struct copy_result *ret_result, GError **error)
{
    /* Names are UTF-8 in pax archives, whatever the user's locale. */
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
    struct rlimit old = limit_memory();
    struct copy_error reason;
    bool good;

    *ret_result = (struct copy_result){ 0 };
    good = move_stream(plan, fd, ret_result, &reason);
    setrlimit(RLIMIT_DATA, &old);
    if (utf8) {
        uselocale(before);
        freelocale(utf8);
    }
    /* Without the end of input the guest treats the stream as broken. */
    if (good && plan->in && shutdown(fd, SHUT_WR) < 0)
        good = copy_fail(&reason, "cannot end the stream: %s",
                         g_strerror(errno));
    if (!good)
        g_set_error_literal(error, STEPBACK_ERROR,
                            reason.stream ? ERROR_CANCELLED : ERROR_IO_ERROR,
                            reason.text);
    return good;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * fileserver - a minimal file server with undo, as a starting point.
 *
 *     cc fileserver.c $(pkg-config --cflags --libs libstepback-interceptor)
 *     ./a.out FOLDER LOG-FOLDER
 *
 * A line on stdin is a request, and a separate step; a line on stdout reports
 * the result.
 *
 * It serves one user, the one that runs it, and checks only that user's
 * permissions. A server for several users must check permissions itself; the
 * library does not.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <stepback/interceptor.h>

#define REQUESTS "put PATH TEXT | rm PATH | mv FROM TO | mkdir PATH | undo"

static struct ic_cred user = { .umask = 022 }; /* owner of new files */

/* Resolve a path to its directory (a new reference) and the last name. It walks
 * one name at a time, never through a symlink or "..": no path escapes. */
static int find(struct ic *ic, char *path, struct ic_inode **ret_dir,
                char **ret_name)
{
    struct ic_inode *at = ic_inode_ref(ic_root(ic));
    int rc = 0;

    for (char *slash; rc == 0 && (slash = strchr(path, '/'));
         path = slash + 1) {
        struct ic_inode *up = at;

        *slash = '\0';
        rc = ic_lookup(ic, up, path, &at, NULL);
        ic_inode_unref(up);
    }
    *ret_dir = at;
    *ret_name = path;
    return rc;
}

static int put(struct ic *ic, struct ic_inode *dir, char *name, char *text)
{
    struct iovec iov = { text, strlen(text) };
    struct ic_inode *file;
    ssize_t n;
    int fd, rc = ic_create(ic, &user, dir, name, O_WRONLY | O_TRUNC, 0644,
                           &file, NULL, &fd);

    if (rc < 0)
        return rc;
    n = ic_pwritev(ic, file, fd, &iov, 1, 0, 0, false);
    close(fd);
    ic_inode_unref(file);
    return n < 0 ? (int)n : (size_t)n < iov.iov_len ? -EIO : 0;
}

/* Return 0 or -errno, as the calls that change the share do; -EBADRQC if the
 * request is not one of REQUESTS. */
static int carry_out(struct ic *ic, const char *verb, char *path, char *rest)
{
    struct ic_inode *dir, *other;
    char *name, *new_name;
    int rc = path ? find(ic, path, &dir, &name) : -EBADRQC;

    if (rc < 0)
        return rc;
    if (strcmp(verb, "put") == 0 && rest) {
        rc = put(ic, dir, name, rest);
    } else if (strcmp(verb, "rm") == 0) {
        rc = ic_unlinkat(ic, dir, name, 0);
    } else if (strcmp(verb, "mkdir") == 0) {
        rc = ic_mkdirat(ic, &user, dir, name, 0755, &other, NULL);
        if (rc == 0)
            ic_inode_unref(other);
    } else if (strcmp(verb, "mv") == 0 && rest) {
        rc = find(ic, rest, &other, &new_name);
        if (rc == 0) {
            rc = ic_renameat2(ic, dir, name, other, new_name, 0);
            ic_inode_unref(other);
        }
    } else {
        rc = -EBADRQC;
    }
    ic_inode_unref(dir);
    return rc;
}

/* Run a request in a step: commit on success, abort on failure. */
static gboolean serve(struct ic *ic, char *line, GError **error)
{
    gint64 id = ic_last_step_id(ic) + 1;
    g_autofree char *command = g_strdup(line);
    char *verb = strtok(line, " "), *path = strtok(NULL, " ");
    int rc;

    if (g_strcmp0(verb, "undo") == 0)
        return ic_rollback(ic, 1, false, NULL, error);
    if (!ic_step_open(ic, id, IC_STEP_API, command, error))
        return FALSE;
    rc = carry_out(ic, verb ? verb : "", path, strtok(NULL, ""));
    if (rc == 0)
        return ic_step_close(ic, id, 0, 0, 0, NULL, error);
    if (ic_step_abort(ic, id, error))
        g_set_error_literal(error, G_FILE_ERROR, 0,
                            rc == -EBADRQC ? "unknown request; use " REQUESTS
                                           : g_strerror(-rc));
    return FALSE;
}

/* The request determines the modes, and each held inode costs an fd. */
static void prepare(void)
{
    struct rlimit files;

    umask(0);
    user.uid = geteuid();
    user.gid = getegid();
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

int main(int argc, char **argv)
{
    struct ic_options options = { 0 };
    g_autoptr(GError) error = NULL;
    char line[4096];
    struct ic *ic;

    if (argc == 3) {
        options.share = argv[1];
        options.undo_dir = argv[2];
    }
    prepare();
    ic = argc == 3 ? ic_open_share(&options, &error) : NULL;
    if (!ic) {
        fprintf(stderr, "%s\n",
                error ? error->message : "usage: fileserver FOLDER LOG-FOLDER");
        return 1;
    }
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (serve(ic, line, &error))
            printf("ok\n");
        else if (g_error_matches(error, IC_ERROR, IC_ERROR_NOTHING_TO_UNDO))
            printf("nothing to undo\n");
        else
            printf("error: %s\n", error->message);
        fflush(stdout); /* stdout may be a pipe whose reader waits */
        g_clear_error(&error);
    }
    ic_close(ic);
    return 0;
}

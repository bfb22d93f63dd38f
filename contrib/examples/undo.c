/* SPDX-License-Identifier: Apache-2.0
 *
 * undo - a minimal use of the library: a step, its changes, undo and redo.
 *
 *     cc undo.c $(pkg-config --cflags --libs libstepback-interceptor)
 *     ./a.out FOLDER LOG-FOLDER
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <stepback/interceptor.h>

/* Serve a client's request: write a new file. Return 0 or -errno. */
static int serve_client(struct ic *ic)
{
    struct ic_cred me = { geteuid(), getegid(), 022 };
    struct iovec text = { "hello\n", 6 };
    struct ic_inode *note;
    int fd, rc = ic_create(ic, &me, ic_root(ic), "note", O_WRONLY | O_EXCL,
                           0644, &note, NULL, &fd);

    if (rc < 0)
        return rc;
    rc = (int)ic_pwritev(ic, note, fd, &text, 1, 0, 0, false);
    close(fd);
    ic_inode_unref(note);
    return MIN(rc, 0);
}

static void print_change(gpointer data, gpointer kinds)
{
    const struct ic_change *change = data;

    printf("%c %s\n", ((const char *)kinds)[change->type], change->path);
}

int main(int argc, char **argv)
{
    struct ic_options options = { .share = argv[1] };
    struct ic_rollback_result *result = NULL;
    struct ic_step_info *info = NULL;
    GError *error = NULL;
    struct ic *ic;

    if (argc != 3) {
        fprintf(stderr, "usage: %s FOLDER LOG-FOLDER\n", argv[0]);
        return 2;
    }
    options.undo_dir = argv[2];
    umask(0); /* the client determines the modes */
    ic = ic_open_share(&options, &error);
    if (ic &&
        ic_step_open(ic, ic_last_step_id(ic) + 1, IC_STEP_COMMAND,
                     "take a note", &error) &&
        ic_step_close(ic, ic_last_step_id(ic), -serve_client(ic), 0, 0, &info,
                      &error)) {
        g_ptr_array_foreach(info->changes, print_change, "CMDRA"); /* C note */
        if (info->undoable && ic_rollback(ic, 1, false, NULL, &error))
            ic_redo(ic, 1, false, &result, &error); /* the note is back */
    }
    ic_rollback_result_free(result);
    ic_step_info_free(info);
    ic_close(ic);
    if (error)
        fprintf(stderr, "%s\n", error->message);
    return error ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * world_local - see world_local.h.
 */
#include "tests/lib/world_local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/oracle.h"
#include "tests/lib/world_mount.h"

int world_local_mount(struct world *w)
{
    int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    char options[160];

    g_assert_cmpint(device, >=, 0);
    snprintf(options, sizeof(options),
             "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,"
             "default_permissions,subtype=stepback",
             device);
    g_assert_cmpint(mount("stepback", w->mount, "fuse", 0, options), ==, 0);
    return device;
}

/* A test may have files open: then the mount stays, without a name. */
void world_local_unmount(struct world *w)
{
    if (umount2(w->mount, 0) < 0)
        umount2(w->mount, MNT_DETACH);
}

/* ---- what the kernel has cached ------------------------------------------ */

struct view {
    struct world *w;
    const char *type; /* of the request */
};

static GPtrArray *look(const struct view *v)
{
    g_autofree char *trouble = NULL;
    GPtrArray *lines = oracle_snapshot(v->w->mount, &trouble);

    if (!lines) {
        g_test_message("%s: the mount: %s", v->type, trouble);
        g_test_fail();
    }
    return lines;
}

/* Remember the paths of a snapshot, without those that the oracle cuts. */
static void remember(GHashTable *seen, GPtrArray *lines)
{
    for (guint i = 0; i < lines->len; i++) {
        const char *line = g_ptr_array_index(lines, i);

        if (line[0] != '(') {
            g_autofree char *shown = g_strndup(line, strcspn(line, " "));

            g_hash_table_add(seen, g_strcompress(shown));
        }
    }
}

static int look_up(const char *top, const char *path, struct stat *ret_st)
{
    g_autofree char *full = g_build_filename(top, path, NULL);

    return lstat(full, ret_st) < 0 ? errno : 0;
}

/* Read the tree through the mount, and look each known name up, which may be
 * missing. */
static void warm(const struct view *v)
{
    struct mounted *m = v->w->state;
    g_autoptr(GPtrArray) lines = look(v);
    GHashTableIter iter;
    gpointer path;
    struct stat st;

    if (!m->seen)
        m->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (lines)
        remember(m->seen, lines);
    g_hash_table_iter_init(&iter, m->seen);
    while (g_hash_table_iter_next(&iter, &path, NULL))
        look_up(v->w->mount, path, &st);
}

/* By name, without the directory's listing. */
static void compare_names(const struct view *v)
{
    struct mounted *m = v->w->state;
    struct stat inside = { 0 }, outside = { 0 };
    GHashTableIter iter;
    gpointer path;

    if (!m->seen)
        return;
    g_hash_table_iter_init(&iter, m->seen);
    while (g_hash_table_iter_next(&iter, &path, NULL)) {
        int wanted = look_up(v->w->share, path, &outside);
        int found = look_up(v->w->mount, path, &inside);

        if (found == wanted &&
            (found != 0 || (inside.st_mode == outside.st_mode &&
                            inside.st_ino == outside.st_ino)))
            continue;
        g_test_message("%s: %s: %s in the folder (inode %ju), %s at the mount "
                       "(inode %ju)",
                       v->type, (char *)path, g_strerror(wanted),
                       (uintmax_t)outside.st_ino, g_strerror(found),
                       (uintmax_t)inside.st_ino);
        g_test_fail();
    }
}

static void compare(const struct view *v)
{
    g_autoptr(GPtrArray) outside = NULL, inside = NULL;
    g_autofree char *diff = NULL;

    compare_names(v);
    outside = world_snapshot(v->w);
    inside = look(v);
    diff = inside ? oracle_diff(outside, inside) : NULL;
    if (!diff)
        return;
    g_test_message("%s: the mount differs (- folder, + mount):\n%s", v->type,
                   diff);
    g_test_fail();
}

/* ---- the backend --------------------------------------------------------- */

static json_t *local_request(struct world *w, const char *type, json_t *payload,
                             GError **error)
{
    static const char *const restoring[] = { "rollback", "redo", "step.abort",
                                             NULL };
    const struct view v = { w, type };
    bool restores = g_strv_contains(restoring, type);
    json_t *answer;

    if (restores)
        warm(&v);
    answer = mount_request(w, type, payload, error);
    if (restores || strcmp(type, "step.open") == 0)
        compare(&v);
    return answer;
}

const struct world_backend world_local = {
    .name = "local",
    .request = local_request,
    WORLD_MOUNT_OPERATIONS,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * search - see search.h.
 */
#include "interceptor/capture/search.h"

#include <errno.h>
#include <stdbool.h>

#include "interceptor/sys/sys.h"
#include "interceptor/sys/tree_walk.h"

struct search {
    GHashTable *wanted;
    search_found *found;
    void *opaque;
};

/* 0 would continue the walk. */
enum { ALL_FOUND = -EEXIST };

GHashTable *search_set_new(void)
{
    return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

void search_set_add(GHashTable *set, uint64_t ino)
{
    g_hash_table_add(set, g_memdup2(&ino, sizeof(ino)));
}

/* Try a wanted name. Returns 0 or -errno. */
static int try_name(struct search *s, int dirfd, const char *name)
{
    struct stat st;
    uint64_t ino;
    int rc = sys_stat_name(dirfd, name, &st);

    if (rc < 0)
        return rc == -ENOENT || rc == -EACCES ? 0 : rc;
    ino = st.st_ino;
    if (S_ISDIR(st.st_mode) || !g_hash_table_contains(s->wanted, &ino))
        return 0;
    rc = s->found(dirfd, name, ino, s->opaque);
    if (rc == 0)
        g_hash_table_remove(s->wanted, &ino);
    return rc == -ENOENT ? 0 : rc;
}

static int look_at(int dirfd, const struct dirent *entry, void *opaque)
{
    struct search *s = opaque;
    uint64_t ino = entry->d_ino;
    int rc;

    if (g_hash_table_contains(s->wanted, &ino)) {
        rc = try_name(s, dirfd, entry->d_name);
        if (rc < 0)
            return rc;
        if (g_hash_table_size(s->wanted) == 0)
            return ALL_FOUND;
    }
    return entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN ? TREE_ENTER
                                                                  : TREE_SKIP;
}

int search_files(int top, GHashTable *wanted, search_found *found, void *opaque)
{
    struct search s = { wanted, found, opaque };
    int rc = g_hash_table_size(wanted) > 0 ? tree_walk(top, look_at, NULL, &s)
                                           : 0;

    return rc == ALL_FOUND ? 0 : rc;
}

int search_file(int top, uint64_t ino, search_found *found, void *opaque)
{
    g_autoptr(GHashTable) wanted = search_set_new();
    int rc;

    search_set_add(wanted, ino);
    rc = search_files(top, wanted, found, opaque);
    return rc == 0 && g_hash_table_size(wanted) > 0 ? -ENOENT : rc;
}

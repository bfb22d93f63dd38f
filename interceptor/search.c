/* SPDX-License-Identifier: Apache-2.0
 *
 * search - see search.h.
 */
#include "interceptor/search.h"

#include <errno.h>
#include <stdbool.h>

#include "interceptor/sys.h"
#include "interceptor/tree_walk.h"

struct search {
    uint64_t ino;
    search_found *found;
    void *opaque;
};

/* 0 would go on. */
enum { FOUND = -EEXIST };

static int look_at(int dirfd, const struct dirent *entry, void *opaque)
{
    const struct search *s = opaque;
    struct stat st;
    int rc;

    if (entry->d_ino == s->ino) {
        rc = sys_stat_name(dirfd, entry->d_name, &st);
        if (rc < 0 && rc != -ENOENT && rc != -EACCES)
            return rc;
        if (rc == 0 && st.st_ino == s->ino && !S_ISDIR(st.st_mode)) {
            rc = s->found(dirfd, entry->d_name, s->opaque);
            return rc == 0 ? FOUND : rc == -ENOENT ? TREE_SKIP : rc;
        }
    }
    return entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN ? TREE_ENTER
                                                                  : TREE_SKIP;
}

int search_file(int top, uint64_t ino, search_found *found, void *opaque)
{
    struct search s = { ino, found, opaque };
    int rc = tree_walk(top, look_at, NULL, &s);

    return rc == FOUND ? 0 : rc == 0 ? -ENOENT : rc;
}

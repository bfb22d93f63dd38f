/* SPDX-License-Identifier: Apache-2.0
 *
 * overlay_collect - see overlay_collect.h.
 */
#include "p9/overlay/overlay_collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/proc_fd.h"
#include "p9/overlay/overlay_remove.h"

enum {
    MAX_DEPTH = 500, /* open at a time */
    TEXT_SIZE = 65536,
    MARK_SIZE = 8,    /* base64 of the first 6 bytes of each reference */
    ENCODED_SIZE = 24 /* base64 of a whole reference */
};

#define LOG_VERSION "1\n"
#define RECORDS     ".jsonl"

struct search {
    struct overlay *overlay;
    GHashTable *needed; /* owned int64_t * */
    char mark[MARK_SIZE + 1];
    GPtrArray *open; /* owned DIR *, each inside the one before */
    bool in_log;
};

static void take(struct search *search, const void *reference, size_t size)
{
    int64_t id;

    if (overlay_read_reference(search->overlay, reference, size, &id))
        g_hash_table_add(search->needed, g_memdup2(&id, sizeof(id)));
}

/* ---- records ------------------------------------------------------------- */

/* Collect references from records, where they are base64: the row's number
 * contains 0 bytes. */
static void take_from_text(struct search *search, const char *text, size_t size)
{
    const char *end = text + size, *at = text;

    while ((at = memmem(at, (size_t)(end - at), search->mark, MARK_SIZE))) {
        char encoded[ENCODED_SIZE + 1] = "";
        gsize len = 0;

        if (end - at < ENCODED_SIZE)
            return;
        memcpy(encoded, at, ENCODED_SIZE);
        g_base64_decode_inplace(encoded, &len);
        take(search, encoded, len);
        at++;
    }
}

static int read_records(struct search *search, int dirfd, const char *name)
{
    fd_auto int fd = openat(dirfd, name,
                            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    g_autofree char *text = g_malloc(TEXT_SIZE);
    size_t have = 0;
    ssize_t n;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    while ((n = read(fd, text + have, TEXT_SIZE - have)) > 0) {
        size_t kept;

        have += (size_t)n;
        take_from_text(search, text, have);
        kept = MIN(have, ENCODED_SIZE - 1);
        memmove(text, text + have - kept, kept);
        have = kept;
    }
    return n < 0 ? -errno : 0;
}

/* ---- inodes -------------------------------------------------------------- */

static int read_reference(struct search *search, const char *path)
{
    char reference[OVERLAY_REFERENCE_SIZE];
    ssize_t n = lgetxattr(path, OVERLAY_XATTR, reference, sizeof(reference));

    if (n < 0)
        return errno == ENODATA || errno == ENOTSUP || errno == ERANGE ||
                       errno == ENOENT
                   ? 0
                   : -errno;
    take(search, reference, (size_t)n);
    return 0;
}

static int enter(struct search *search, int dirfd, const char *name)
{
    int fd = openat(dirfd, name,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    dir = search->open->len < MAX_DEPTH ? fdopendir(fd) : NULL;
    if (!dir) {
        close(fd);
        return -EMFILE;
    }
    g_ptr_array_add(search->open, dir);
    return 0;
}

static unsigned char entry_type(int dirfd, const struct dirent *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type;
    return fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0
               ? IFTODT(st.st_mode)
               : DT_UNKNOWN;
}

static int look_at(struct search *search, DIR *dir, const struct dirent *entry)
{
    char path[sizeof(struct proc_fd_path) + 1 + NAME_MAX + 1];
    const char *name = entry->d_name;
    int fd = dirfd(dir), r;
    unsigned char type;

    /* A subdirectory was checked from its parent. */
    if (strcmp(name, "..") == 0 ||
        (strcmp(name, ".") == 0 && search->open->len > 1))
        return 0;
    type = entry_type(fd, entry);
    if (type != DT_REG && type != DT_DIR)
        return 0; /* cannot have the attribute */
    g_snprintf(path, sizeof(path), "%s/%s", proc_fd_path(fd).text, name);
    r = read_reference(search, path);
    if (r < 0 || strcmp(name, ".") == 0)
        return r;
    if (type == DT_DIR)
        return enter(search, fd, name);
    return search->in_log && strstr(name, RECORDS)
               ? read_records(search, fd, name)
               : 0;
}

static int look_below(struct search *search, int dirfd, const char *top)
{
    int r = enter(search, dirfd, top);

    while (r == 0 && search->open->len > 0) {
        DIR *dir = g_ptr_array_index(search->open, search->open->len - 1);
        const struct dirent *entry;

        errno = 0;
        entry = readdir(dir);
        if (entry)
            r = look_at(search, dir, entry);
        else if (errno != 0)
            r = -errno;
        else
            g_ptr_array_set_size(search->open, (int)search->open->len - 1);
    }
    return r;
}

/* ---- the whole search ---------------------------------------------------- */

static bool knows_log(int fd)
{
    fd_auto int version = openat(fd, "version", O_RDONLY | O_CLOEXEC);
    char text[sizeof(LOG_VERSION)] = "";

    return version >= 0 && read(version, text, sizeof(text) - 1) > 0 &&
           strcmp(text, LOG_VERSION) == 0;
}

static int look_at_log(struct search *search, const char *undo_dir)
{
    fd_auto int fd = open(undo_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (!knows_log(fd))
        return -EPROTONOSUPPORT;
    search->in_log = true;
    return look_below(search, fd, ".");
}

static void close_dir(gpointer dir)
{
    closedir(dir);
}

static void make_mark(struct search *search)
{
    struct overlay_reference any = overlay_make_reference(search->overlay, 0);
    g_autofree char *mark = g_base64_encode(any.bytes, 6);

    g_strlcpy(search->mark, mark, sizeof(search->mark));
}

void overlay_collect(struct overlay *overlay, int share_fd,
                     const char *undo_dir)
{
    g_autoptr(GHashTable) needed = g_hash_table_new_full(
        g_int64_hash, g_int64_equal, g_free, NULL);
    g_autoptr(GPtrArray) open = g_ptr_array_new_with_free_func(close_dir);
    struct search search = { .overlay = overlay,
                             .needed = needed,
                             .open = open };
    unsigned removed = 0;
    struct stat st;
    int r;

    if (fstat(share_fd, &st) < 0 || !overlay_is_of(overlay, st.st_ino) ||
        !overlay_has_grown(overlay))
        return;
    make_mark(&search);
    r = look_below(&search, share_fd, ".");
    if (r == 0)
        r = look_at_log(&search, undo_dir);
    if (r == 0)
        r = overlay_remove_unneeded(overlay, needed, &removed);
    if (r < 0)
        log_info(LOG_FS_BACKEND, "overlay: no rows removed: %s",
                 g_strerror(-r));
    else
        log_info(LOG_FS_BACKEND, "overlay: %u rows removed, %u in use", removed,
                 g_hash_table_size(needed));
}

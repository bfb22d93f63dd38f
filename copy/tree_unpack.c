/* SPDX-License-Identifier: Apache-2.0
 *
 * tree_unpack - see tree_unpack.h.
 */
#include "copy/tree_unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log_name.h"
#include "copy/entry_name.h"
#include "copy/new_file.h"
#include "copy/stale_files.h"
#include "copy/target_dir.h"

enum { BLOCK = 256 * 1024, TOP_MAX = 256 };

#define IS_SPECIAL                                                             \
    "a device, a FIFO or a socket is there; remove it, or name another place"

struct unpacker {
    struct tree_unpack *target;
    struct new_file_rules rules;
    struct archive *archive;
    struct archive_entry *entry;
    struct target_dirs dirs;
    struct copy_result *result;
    struct copy_error *error;
    int fd;
    bool any;          /* an entry was read */
    bool ended;        /* the fd is at its end */
    char top[TOP_MAX]; /* the renamed entry's own name; "": the whole stream */
    bool is_file;      /* the renamed entry is not a directory */
    char *block;
    char clean[ENTRY_NAME_MAX]; /* the entry's name in the stream, */
    char name[ENTRY_NAME_MAX];  /* and below the base */
    char source[ENTRY_NAME_MAX];
};

static bool fail_entry(struct unpacker *u, int number)
{
    bool blocked = number == ELOOP || number == EXDEV;

    return copy_fail_at(u->error, u->target->target, u->is_file ? "" : u->name,
                        blocked ? "a symbolic link is in the way"
                                : strerror(number));
}

/* ---- names --------------------------------------------------------------- */

/* Require the top name that the caller expects. */
static bool check_top(struct unpacker *u)
{
    const char *top = u->target->options.top;

    if (!top || (strncmp(u->clean, top, strlen(top)) == 0 &&
                 entry_name_is_below(u->clean, top)))
        return true;
    return copy_fail(u->error, "%s: the stream has an entry outside of %s",
                     u->clean, top);
}

/* Map a clean name of the stream to a name below the base. */
static bool map_name(struct unpacker *u, const char *clean, char *out)
{
    if (!u->target->rename || (!*u->top && !u->is_file)) {
        memmove(out, clean, strlen(clean) + 1);
        return true;
    }
    if (!entry_name_is_below(clean, u->top))
        return copy_fail(u->error, "%s: the stream has an entry outside of %s",
                         clean, u->top);
    if (u->is_file) {
        strcpy(out, u->target->rename);
        return clean[strlen(u->top)] == '\0' ||
               copy_fail(u->error, "%s: %s", clean, strerror(ENOTDIR));
    }
    clean += strlen(u->top);
    clean += *clean == '/';
    memmove(out, clean, strlen(clean) + 1);
    return true;
}

/* Create the target directory, which then confines the copy. own: the entry is
 * the directory's. */
static bool make_target(struct unpacker *u, bool own)
{
    struct tree_unpack *target = u->target;
    int fd = -1, result;

    if (own)
        result = target_dirs_make(&u->dirs, target->base, target->rename, "",
                                  u->entry);
    else
        result = mkdirat(target->base, target->rename, 0777) < 0 ? -errno : 0;
    if (result == 0)
        fd = openat(target->base, target->rename,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return copy_fail(u->error, "%s: %s", target->target,
                         strerror(result ? -result : errno));
    close(target->base);
    target->base = u->dirs.base = fd;
    return true;
}

/* Apply the target's rules to the first entry. */
static bool begin(struct unpacker *u)
{
    struct tree_unpack *target = u->target;
    size_t len = entry_name_top(u->clean);
    bool own = archive_entry_filetype(u->entry) == AE_IFDIR &&
               u->clean[len] == '\0';
    /* The tree's own entry may be missing. */
    bool is_directory = own || u->clean[len] == '/';

    u->any = true;
    if (!target->rename)
        return true;
    if (len >= sizeof(u->top))
        return fail_entry(u, ENAMETOOLONG);
    memcpy(u->top, u->clean, len);
    u->is_file = !is_directory;
    if (u->is_file && target->slash)
        return copy_fail(u->error, "%s: no such directory", target->target);
    if (is_directory && target->replaces)
        return copy_fail(u->error, "%s: a directory cannot replace a file",
                         target->target);
    return u->is_file || make_target(u, own);
}

static bool take_name(struct unpacker *u)
{
    const char *name = archive_entry_pathname(u->entry);

    if (!name || !entry_name_clean(name, u->clean))
        return copy_fail(u->error, "%.200s: the name leads out of the target",
                         name ? name : "an entry");
    if (!check_top(u) || (!u->any && !begin(u)))
        return false;
    return map_name(u, u->clean, u->name);
}

/* ---- entries ------------------------------------------------------------- */

/* Split a name; return the fd of its directory, or -1. */
static int enter_parent(struct unpacker *u, char *name, const char **ret_leaf)
{
    char *slash = strrchr(name, '/');
    int fd;

    *ret_leaf = slash ? slash + 1 : name;
    if (slash)
        *slash = '\0';
    fd = target_dirs_enter(&u->dirs, slash ? name : "");
    if (slash)
        *slash = '/';
    return fd;
}

static bool write_at(struct unpacker *u, int fd, const char *data, size_t len,
                     la_int64_t offset)
{
    while (len > 0) {
        ssize_t put = pwrite(fd, data, len, offset);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return fail_entry(u, errno);
        data += put;
        len -= (size_t)put;
        offset += put;
    }
    return true;
}

static bool fail_stream(struct unpacker *u)
{
    const char *text = archive_error_string(u->archive);

    copy_fail(u->error, "the tar stream is damaged: %s",
              text ? text : "no reason given");
    u->error->stream = true;
    return false;
}

/* Write the data; holes stay holes. */
static bool write_content(struct unpacker *u, int fd)
{
    const void *data;
    la_int64_t offset;
    size_t len;
    int status;

    while ((status = archive_read_data_block(u->archive, &data, &len,
                                             &offset)) == ARCHIVE_OK) {
        if (!write_at(u, fd, data, len, offset))
            return false;
    }
    if (status != ARCHIVE_EOF)
        return fail_stream(u);
    return ftruncate(fd, archive_entry_size(u->entry)) == 0 ||
           fail_entry(u, errno);
}

static bool publish(struct unpacker *u, struct new_file *file, const char *leaf)
{
    int result = new_file_publish(file, leaf);

    if (result == -EEXIST)
        return copy_fail(u->error, "%s: " IS_SPECIAL, u->clean);
    return result == 0 || fail_entry(u, -result);
}

static bool take_link(struct unpacker *u, int dir_fd, const char *leaf)
{
    const char *target = archive_entry_hardlink(u->entry), *from;
    struct new_file file;
    int from_dir, result;
    bool good;

    if (!entry_name_clean(target, u->source) || !*u->source)
        return copy_fail(u->error, "%s: its link leads out of the target",
                         u->clean);
    /* In place: a mapped name is never longer. */
    if (!map_name(u, u->source, u->source))
        return false;
    /* The file of a log would have a second name, outside it. */
    if (log_name_is_in(u->source))
        return copy_fail(u->error, "%s: its link leads into an undo log",
                         u->clean);
    dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
    from_dir = enter_parent(u, u->source, &from);
    result = dir_fd < 0 || from_dir < 0
                 ? -errno
                 : new_file_link(&file, dir_fd, from_dir, from);
    good = result == 0 ? publish(u, &file, leaf) : fail_entry(u, -result);
    if (dir_fd >= 0)
        close(dir_fd);
    return good;
}

static bool take_file(struct unpacker *u, int dir_fd, const char *leaf)
{
    struct new_file file;
    int result = new_file_create(&file, dir_fd, u->entry);

    if (result)
        return fail_entry(u, -result);
    if (file.fd >= 0 && !write_content(u, file.fd)) {
        new_file_discard(&file);
        return false;
    }
    result = new_file_finish(&file, u->entry, &u->rules);
    if (result) {
        new_file_discard(&file);
        return fail_entry(u, -result);
    }
    return publish(u, &file, leaf);
}

/* An undo log that came with a copy would be obeyed on the host. */
static bool is_refused(const struct unpacker *u)
{
    mode_t type = archive_entry_filetype(u->entry);

    return ((type == AE_IFCHR || type == AE_IFBLK) && !u->rules.special) ||
           log_name_is_in(u->name);
}

static bool take_entry(struct unpacker *u)
{
    const char *leaf;
    int dir_fd, result;

    if (!take_name(u) || !target_dirs_leave(&u->dirs, u->name, u->error))
        return false;
    if (is_refused(u)) {
        u->result->skipped++;
        return true;
    }
    u->result->entries++;
    if (!*u->name)
        return archive_entry_filetype(u->entry) == AE_IFDIR ||
               fail_entry(u, EISDIR);
    dir_fd = enter_parent(u, u->name, &leaf);
    if (dir_fd < 0)
        return fail_entry(u, errno);
    if (archive_entry_hardlink(u->entry))
        return take_link(u, dir_fd, leaf);
    if (archive_entry_filetype(u->entry) != AE_IFDIR)
        return take_file(u, dir_fd, leaf);
    result = target_dirs_make(&u->dirs, dir_fd, leaf, u->name, u->entry);
    return result == 0 || fail_entry(u, -result);
}

/* ---- the stream ---------------------------------------------------------- */

static la_ssize_t on_read(struct archive *archive, void *data,
                          const void **ret_block)
{
    struct unpacker *u = data;
    ssize_t got;

    do {
        got = read(u->fd, u->block, BLOCK);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        archive_set_error(archive, errno, "cannot read it: %s",
                          strerror(errno));
    u->ended = got == 0;
    *ret_block = u->block;
    return got;
}

/* Read what follows the end mark, so that the writer does not fail. */
static void drain(struct unpacker *u)
{
    const void *block;

    while (!u->ended && on_read(u->archive, u, &block) >= 0)
        continue;
}

static bool finish_directory(int fd, struct archive_entry *entry,
                             const char *name, void *opaque)
{
    const struct unpacker *u = opaque;
    int result = new_file_finish_fd(fd, entry, &u->rules);

    errno = -result;
    return result == 0;
}

static bool open_stream(struct unpacker *u)
{
    u->archive = archive_read_new();
    u->block = malloc(BLOCK);
    if (!u->archive || !u->block)
        return copy_fail(u->error, "out of memory");
    if (archive_read_support_format_tar(u->archive) ||
        archive_read_open(u->archive, u, NULL, on_read, NULL))
        return fail_stream(u);
    return true;
}

static bool take_all(struct unpacker *u)
{
    int status;

    while ((status = archive_read_next_header(u->archive, &u->entry)) !=
           ARCHIVE_EOF) {
        if (status < ARCHIVE_WARN)
            return fail_stream(u);
        if (!take_entry(u))
            return false;
    }
    /* libarchive accepts a stream that ends between two entries. */
    if (u->ended)
        return copy_fail_stream(u->error, "the tar stream ends early");
    if (!u->any && u->target->rename)
        return copy_fail_stream(u->error, "the tar stream is empty");
    return target_dirs_leave(&u->dirs, NULL, u->error);
}

bool tree_unpack_read(struct tree_unpack *unpack, int fd,
                      struct copy_result *ret_result, struct copy_error *error)
{
    struct unpacker *u = calloc(1, sizeof(*u));
    bool good;

    *ret_result = (struct copy_result){ 0 };
    if (!u)
        return copy_fail(error, "out of memory");
    u->target = unpack;
    u->rules.keep_owner = unpack->options.keep_owner;
    u->rules.special = unpack->options.special;
    u->dirs.base = unpack->base;
    u->dirs.target = unpack->target;
    u->dirs.trusted = unpack->options.trusted;
    u->dirs.finish = finish_directory;
    u->dirs.opaque = u;
    u->result = ret_result;
    u->error = error;
    u->fd = fd;
    stale_files_remove(unpack->base);
    good = open_stream(u) && take_all(u);
    if (good)
        drain(u);
    target_dirs_clear(&u->dirs);
    archive_read_free(u->archive);
    free(u->block);
    free(u);
    return good;
}

/* ---- the target ---------------------------------------------------------- */

/* Open the directory of a target that is to be created or replaced. */
static bool open_parent(struct tree_unpack *unpack, const char *path,
                        struct copy_error *error)
{
    char *copy = strdup(path), *slash;

    for (size_t len = copy ? strlen(copy) : 0; len > 1 && copy[len - 1] == '/';
         len--)
        copy[len - 1] = '\0';
    slash = copy ? strrchr(copy, '/') : NULL;
    unpack->rename = copy ? strdup(slash ? slash + 1 : copy) : NULL;
    if (!unpack->rename) {
        free(copy);
        return copy_fail(error, "out of memory");
    }
    if (slash)
        slash[slash == copy] = '\0';
    unpack->base = open(slash ? copy : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (unpack->base < 0)
        copy_fail(error, "%s: %s", slash ? copy : ".", strerror(errno));
    free(copy);
    return unpack->base >= 0;
}

bool tree_unpack_open(struct tree_unpack *unpack, const char *path,
                      const struct unpack_options *options,
                      struct copy_error *error)
{
    size_t len = strlen(path);
    struct stat st;
    char *real;
    bool good;

    *unpack = (struct tree_unpack){ .options = *options, .base = -1 };
    unpack->target = strdup(path);
    unpack->slash = len > 0 && path[len - 1] == '/';
    if (!unpack->target)
        return copy_fail(error, "out of memory");
    if (stat(path, &st) < 0) {
        if (errno != ENOENT || options->archive)
            return copy_fail(error, "%s: %s", path, strerror(errno));
        return open_parent(unpack, path, error);
    }
    if (S_ISDIR(st.st_mode)) {
        unpack->base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return unpack->base >= 0 ||
               copy_fail(error, "%s: %s", path, strerror(errno));
    }
    if (options->archive)
        return copy_fail(error, "%s: %s", path, strerror(ENOTDIR));
    if (!S_ISREG(st.st_mode))
        return copy_fail(error, "%s: " IS_SPECIAL, path);
    /* Replace the file, not a link to it. */
    unpack->replaces = true;
    real = realpath(path, NULL);
    good = real ? open_parent(unpack, real, error)
                : copy_fail(error, "%s: %s", path, strerror(errno));
    free(real);
    return good;
}

bool tree_unpack_open_at(struct tree_unpack *unpack, int dir_fd,
                         const char *name, const struct unpack_options *options,
                         struct copy_error *error)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct stat st;

    *unpack = (struct tree_unpack){ .options = *options, .base = -1 };
    unpack->target = strdup(name);
    if (!unpack->target)
        return copy_fail(error, "out of memory");
    unpack->base = openat(dir_fd, name, flags);
    if (unpack->base >= 0)
        return true;
    unpack->replaces = fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (unpack->replaces && S_ISDIR(st.st_mode))
        return copy_fail(error, "%s: %s", name, strerror(EACCES));
    if (unpack->replaces && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return copy_fail(error, "%s: " IS_SPECIAL, name);
    unpack->rename = strdup(name);
    unpack->base = openat(dir_fd, ".", flags);
    return (unpack->rename && unpack->base >= 0) ||
           copy_fail(error, "%s: %s", name, strerror(errno));
}

void tree_unpack_free(struct tree_unpack *unpack)
{
    if (unpack->base >= 0)
        close(unpack->base);
    free(unpack->rename);
    free(unpack->target);
    *unpack = (struct tree_unpack){ .base = -1 };
}

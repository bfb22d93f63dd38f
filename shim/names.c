/* SPDX-License-Identifier: Apache-2.0
 *
 * names - see names.h.
 */
#include "shim/names.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "shim/wire_json.h"

enum {
    FUSE_ROOT = 1,
    /* FILEID_INO64_GEN of the kernel's include/linux/exportfs.h */
    HANDLE_TYPE = 0x81,
    HANDLE_WORDS = 3,
};

/* The folder of the last element. */
struct last {
    uint64_t node; /* 0: none */
    int fd;        /* -1: the kernel does not have it */
};

/* Nodes are never reused, so their generation is 0. Return 0 and an O_PATH fd,
 * or in its place -1 if the kernel does not have the node; or -errno. */
static int open_node(int mount, uint64_t node, int *ret_fd)
{
    union {
        struct file_handle head;
        char room[sizeof(struct file_handle) + HANDLE_WORDS * sizeof(uint32_t)];
    } handle = { .head = { .handle_bytes = HANDLE_WORDS * sizeof(uint32_t),
                           .handle_type = HANDLE_TYPE } };
    const uint32_t words[HANDLE_WORDS] = { (uint32_t)(node >> 32),
                                           (uint32_t)node, 0 };

    memcpy(handle.head.f_handle, words, sizeof(words));
    *ret_fd = node == FUSE_ROOT
                  ? openat(mount, ".", O_PATH | O_DIRECTORY | O_CLOEXEC)
                  : open_by_handle_at(mount, &handle.head, O_PATH | O_CLOEXEC);
    return *ret_fd >= 0 || errno == ESTALE || errno == ENOENT ? 0 : -errno;
}

/* Return whether the kernel could not ask the server, after an error. */
static bool is_undone(int error)
{
    return error == ENOMEM || error == EINTR || error == EIO;
}

/* linkat(2) looks the new name up at the server, whatever the kernel keeps of
 * it. It then fails: "/" is a folder, and of another mount. */
static int look_up(int dir, const char *name)
{
    if (!*name || strchr(name, '/') ||
        linkat(AT_FDCWD, "/", dir, name, 0) == 0 || !is_undone(errno))
        return 0;
    return -errno;
}

static int get_attributes(int mount, uint64_t node)
{
    struct statx unused;
    int fd, result = open_node(mount, node, &fd);

    if (fd < 0)
        return result;
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS,
              &unused) < 0 &&
        is_undone(errno))
        result = -errno;
    close(fd);
    return result;
}

static void close_last(struct last *last)
{
    if (last->node != 0 && last->fd >= 0)
        close(last->fd);
    *last = (struct last){ .fd = -1 };
}

static int enter(int mount, struct last *last, uint64_t node)
{
    int result;

    if (last->node == node)
        return 0;
    close_last(last);
    result = open_node(mount, node, &last->fd);
    if (result == 0)
        last->node = node;
    return result;
}

static uint64_t number_at(const json_t *element, size_t i)
{
    return (uint64_t)json_integer_value(json_array_get(element, i));
}

static int refresh_name(int mount, struct last *last, const json_t *element)
{
    bool is_base64 = json_is_true(json_array_get(element, 2));
    uint64_t node = number_at(element, 3);
    int result = enter(mount, last, number_at(element, 0));
    json_t *name;

    if (result < 0 || last->fd < 0)
        return result;
    name = is_base64 ? wire_decode(json_array_get(element, 1))
                     : json_incref(json_array_get(element, 1));
    if (wire_is_text(name))
        result = look_up(last->fd, json_string_value(name));
    json_decref(name);
    return result == 0 && node != 0 ? get_attributes(mount, node) : result;
}

static int refresh_all(int mount, const json_t *names)
{
    struct last last = { .fd = -1 };
    const json_t *element;
    int result = 0;
    size_t i;

    json_array_foreach(names, i, element)
    {
        if (json_array_size(element) == 1)
            result = get_attributes(mount, number_at(element, 0));
        else
            result = refresh_name(mount, &last, element);
        if (result < 0)
            break;
    }
    close_last(&last);
    return result;
}

static void drop_unused(void)
{
    int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    /* Without it, all names follow one by one, slowly. */
    if (write(fd, "2", 1) != 1)
        errno = 0;
    close(fd);
}

int names_refresh(const char *path, bool unused, const json_t *names)
{
    int mount = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result;
    struct statfs fs;

    if (mount < 0)
        return -errno;
    if (fstatfs(mount, &fs) < 0 || fs.f_type != FUSE_SUPER_MAGIC) {
        close(mount);
        return -ENODEV; /* something is mounted over it */
    }
    if (unused)
        drop_unused();
    result = refresh_all(mount, names);
    close(mount);
    return result;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * names - see names.h.
 */
#include "shim/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/wire_json.h"

enum {
    FUSE_ROOT = 1,
    /* FILEID_INO64_GEN of the kernel's include/linux/exportfs.h */
    HANDLE_TYPE = 0x81,
    HANDLE_WORDS = 3,
};

/* Nodes are never reused, so their generation is 0. Return an O_PATH fd, or -1
 * if the kernel does not have the node. */
static int open_node(int mount, uint64_t node)
{
    union {
        struct file_handle head;
        char room[sizeof(struct file_handle) + HANDLE_WORDS * sizeof(uint32_t)];
    } handle = { .head = { .handle_bytes = HANDLE_WORDS * sizeof(uint32_t),
                           .handle_type = HANDLE_TYPE } };
    const uint32_t words[HANDLE_WORDS] = { (uint32_t)(node >> 32),
                                           (uint32_t)node, 0 };

    memcpy(handle.head.f_handle, words, sizeof(words));
    return node == FUSE_ROOT
               ? openat(mount, ".", O_PATH | O_DIRECTORY | O_CLOEXEC)
               : open_by_handle_at(mount, &handle.head, O_PATH | O_CLOEXEC);
}

/* linkat(2) looks the new name up at the server, whatever the kernel keeps of
 * it. It then fails: "/" is a folder, and of another mount. */
static void look_up(int dir, const char *name)
{
    if (*name && !strchr(name, '/'))
        linkat(AT_FDCWD, "/", dir, name, 0);
}

static void get_attributes(int node)
{
    struct statx unused;

    statx(node, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS,
          &unused);
}

static void refresh(int mount, const json_t *element)
{
    json_t *name = json_incref(json_array_get(element, 1));
    int node = open_node(
        mount, (uint64_t)json_integer_value(json_array_get(element, 0)));

    if (json_array_size(element) > 2) {
        json_decref(name);
        name = wire_decode(json_array_get(element, 1));
    }
    if (node >= 0 && json_array_size(element) == 1)
        get_attributes(node);
    else if (node >= 0 && wire_is_text(name))
        look_up(node, json_string_value(name));
    json_decref(name);
    if (node >= 0)
        close(node);
}

static void drop_unused(void)
{
    int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    /* Without it, the names follow one by one. */
    if (write(fd, "2", 1) != 1)
        errno = 0;
    close(fd);
}

int names_refresh(const char *path, bool unused, const json_t *names)
{
    int mount = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const json_t *element;
    size_t i;

    if (mount < 0)
        return -errno;
    if (unused)
        drop_unused();
    json_array_foreach(names, i, element) refresh(mount, element);
    close(mount);
    return 0;
}

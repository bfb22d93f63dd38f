/* SPDX-License-Identifier: Apache-2.0
 *
 * port_node - see port_node.h.
 */
#include "shim/port_node.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYS_PORTS "/sys/class/virtio-ports"

enum { MAX_NAME = 128 };

/* Return whether the port of this entry of SYS_PORTS (dir) has the name. */
static bool has_name(int dir, const char *entry, const char *name)
{
    char path[300], text[MAX_NAME + 2] = "";
    size_t len = strlen(name);
    ssize_t got;
    int fd;

    snprintf(path, sizeof(path), "%s/name", entry);
    fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    got = read(fd, text, sizeof(text) - 1);
    close(fd);
    return got == (ssize_t)len + 1 && memcmp(text, name, len) == 0 &&
           text[len] == '\n';
}

/* Find the port's device node, e.g. "/dev/vport0p1". Uses getdents64() because
 * opendir() allocates. */
static int find_node(const char *name, char *node, size_t size)
{
    _Alignas(struct dirent64) char entries[1024];
    int dir = open(SYS_PORTS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = -ENOENT;
    ssize_t got;

    if (dir < 0)
        return -ENOENT;
    while (result && (got = getdents64(dir, entries, sizeof(entries))) > 0) {
        const struct dirent64 *entry;

        for (ssize_t at = 0; result && at < got; at += entry->d_reclen) {
            entry = (const struct dirent64 *)(entries + at);
            if (has_name(dir, entry->d_name, name)) {
                snprintf(node, size, "/dev/%s", entry->d_name);
                result = 0;
            }
        }
    }
    close(dir);
    return result;
}

static int open_node(const char *path)
{
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

    return fd < 0 ? -errno : fd;
}

int port_node_open(const char *name)
{
    char path[sizeof(PORT_NODE_FOLDER) + MAX_NAME], node[300];
    int fd;

    if (strlen(name) > MAX_NAME)
        return -ENAMETOOLONG;
    snprintf(path, sizeof(path), PORT_NODE_FOLDER "%s", name);
    fd = open_node(path);
    if (fd == -ENOENT) {
        int result = find_node(name, node, sizeof(node));

        fd = result ? result : open_node(node);
    }
    if (fd >= 0)
        fchmod(fd, 0600);
    return fd;
}

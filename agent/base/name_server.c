/* SPDX-License-Identifier: Apache-2.0
 *
 * name_server - see name_server.h.
 */
#include "agent/base/name_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

#define RESOLV_CONF "/etc/resolv.conf"

enum { MAX_SIZE = 64 << 10 };

/* Follows symlinks: resolv.conf often is one. Returns NULL if it cannot be
 * read. */
static char *read_file(void)
{
    fd_auto int fd = open(RESOLV_CONF, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    g_autofree char *text = g_malloc0(MAX_SIZE + 1);

    if (fd < 0 || read(fd, text, MAX_SIZE) < 0)
        return NULL;
    return g_steal_pointer(&text);
}

/* Return the address in a "nameserver 1.2.3.4" line, or NULL. */
static const char *get_address(char *line)
{
    static const char key[] = "nameserver";
    char *address;

    if (!g_str_has_prefix(line, key) || !g_ascii_isspace(line[sizeof(key) - 1]))
        return NULL;
    address = g_strstrip(line + sizeof(key));
    address[strcspn(address, " \t")] = '\0';
    return address;
}

char *name_server_find(void)
{
    g_autofree char *text = read_file();
    g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
    bool found = false;

    for (char **line = lines; *line; line++) {
        const char *address = get_address(*line);
        struct in_addr parsed;

        if (address && inet_pton(AF_INET, address, &parsed) == 1)
            return g_strdup(address);
        found = found || address;
    }
    return found ? NULL : g_strdup("127.0.0.1");
}

bool name_server_changed(struct stat *seen)
{
    struct stat now = { 0 };
    bool changed;

    if (stat(RESOLV_CONF, &now) < 0)
        memset(&now, 0, sizeof(now));
    changed = now.st_dev != seen->st_dev || now.st_ino != seen->st_ino ||
              now.st_size != seen->st_size ||
              now.st_mtim.tv_sec != seen->st_mtim.tv_sec ||
              now.st_mtim.tv_nsec != seen->st_mtim.tv_nsec;
    *seen = now;
    return changed;
}

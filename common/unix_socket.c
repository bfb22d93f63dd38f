/* SPDX-License-Identifier: Apache-2.0
 *
 * unix_socket - see unix_socket.h.
 */
#include "common/unix_socket.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"

static bool is_socket(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

void unix_socket_remove(const char *path)
{
    if (is_socket(path))
        unlink(path);
}

/* A socket whose owner died refuses. The owner of another one must not notice:
 * a server of one client would take us for that, and end when we leave. So the
 * question is one of the wrong type, which only a living socket finds. */
static bool is_in_use(const struct sockaddr_un *address)
{
    fd_auto int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    return fd >= 0 && (connect(fd, (const struct sockaddr *)address,
                               sizeof(*address)) == 0 ||
                       errno == EPROTOTYPE);
}

gboolean unix_socket_find_group(const char *group, gid_t *ret_gid,
                                GError **error)
{
    const struct group *entry = getgrnam(group);

    if (!entry) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "there is no group %s", group);
        return FALSE;
    }
    if (ret_gid)
        *ret_gid = entry->gr_gid;
    return TRUE;
}

gboolean unix_socket_share(const char *path, const char *group, GError **error)
{
    gid_t gid;

    if (!unix_socket_find_group(group, &gid, error))
        return FALSE;
    if (chown(path, (uid_t)-1, gid) == 0 && chmod(path, 0660) == 0)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                "cannot give socket %s to group %s: %s", path, group,
                g_strerror(errno));
    return FALSE;
}

static int fail(GError **error, const char *path)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                "cannot listen on socket %s: %s", path, g_strerror(errno));
    return -1;
}

int unix_socket_listen(const char *path, GError **error)
{
    fd_auto int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (fd < 0)
        return fail(error, path);
    /* Linux would choose a name that nobody knows for one without a name. */
    if (!*path) {
        errno = ENOENT;
        return fail(error, path);
    }
    if (strlen(path) >= sizeof(address.sun_path)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "cannot listen on socket %s: its path has %zu bytes, and "
                    "a Unix socket's has %zu at most; choose a shorter one",
                    path, strlen(path), sizeof(address.sun_path) - 1);
        return -1;
    }
    strcpy(address.sun_path, path);
    if (is_socket(path)) {
        if (is_in_use(&address)) {
            g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                        "another process listens on socket %s", path);
            return -1;
        }
        unlink(path);
    } else if (g_file_test(path, G_FILE_TEST_EXISTS)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "cannot listen on socket %s: something else than a socket "
                    "is there",
                    path);
        return -1;
    }
    /* On Linux bind() makes the file with the socket's own mode: so it never
     * exists with a wider one, whatever the umask is. */
    if (fchmod(fd, 0600) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, 16) != 0)
        return fail(error, path);
    return fd_steal(&fd);
}

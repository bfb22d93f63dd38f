/* SPDX-License-Identifier: Apache-2.0
 *
 * bus - see bus.h.
 */
#include "local/bus.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "local/namespaces.h"
#include "local/report.h"

void bus_await(const char *path, int ready)
{
    ssize_t n;
    char byte;

    do {
        n = read(ready, &byte, 1);
    } while (n < 0 && errno == EINTR);
    if (n == 0)
        errno = EPIPE;
    if (n != 1)
        report_failure(LOCAL_FAILED, "xdg-dbus-proxy has ended");
    close(ready);
    /* The path is in a folder of the supervisor's alone. */
    if (chmod(path, 0600) < 0)
        report_failure(LOCAL_FAILED, "%s", path);
}

void bus_mount(int tree)
{
    int fd = open(LOCAL_BUS, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        report_failure(LOCAL_FAILED, "%s", LOCAL_BUS);
    fd_close(&fd);
    namespaces_mount_tree(tree, LOCAL_BUS);
}

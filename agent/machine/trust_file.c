/* SPDX-License-Identifier: Apache-2.0
 *
 * trust_file - see trust_file.h.
 */
#include "agent/machine/trust_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/machine/guest_trust.h"
#include "common/errors.h"
#include "common/fd.h"

static bool put(int fd, const char *text)
{
    size_t length = strlen(text), done = 0;

    while (done < length) {
        ssize_t n = write(fd, text + done, length - done);

        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

int trust_file_open(const char *given, GError **error)
{
    fd_auto int fd = memfd_create("trust", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    g_autofree char *bundle = guest_trust_host_bundle();

    if (fd < 0 || !put(fd, bundle) || !put(fd, "\n") ||
        !put(fd, given ? given : "") || lseek(fd, 0, SEEK_SET) < 0 ||
        fcntl(fd, F_ADD_SEALS,
              F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                    "cannot make a file of certificates for the network's "
                    "proxy: %s",
                    g_strerror(errno));
        return -1;
    }
    return fd_steal(&fd);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * local_hosts - see local_hosts.h.
 */
#include "agent/local/local_hosts.h"

#include <fcntl.h>
#include <glib.h>

#include "common/fd.h"

#define LOOPBACK "127.0.0.1 localhost\n::1 localhost ip6-localhost\n"

/* With both families no query leaves for the name server. */
#define OWN_NAME "127.0.1.1 " LOCAL_HOST_NAME "\n::1 " LOCAL_HOST_NAME "\n"

enum { MAX_HOSTS = 1 << 20 };

char *local_hosts_text(const char *path)
{
    g_autofree char *hosts = NULL;

    if (!path || fd_read_file(AT_FDCWD, path, MAX_HOSTS, &hosts, NULL) < 0)
        return g_strdup(LOOPBACK OWN_NAME);
    return g_strconcat(hosts, "\n" OWN_NAME, NULL);
}

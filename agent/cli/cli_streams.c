/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_streams - see cli_streams.h.
 */
#include "agent/cli/cli_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/fd.h"

static int duplicate(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

bool cli_streams_take(struct cli_streams *streams)
{
    for (int i = STDIN_FILENO; i <= STDOUT_FILENO; i++) {
        streams->kept[i] = duplicate(i);
        streams->flags[i] = fcntl(i, F_GETFL);
    }
    streams->in = duplicate(STDIN_FILENO);
    streams->out = duplicate(STDOUT_FILENO);
    if (streams->out >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    return streams->in >= 0 && streams->out >= 0;
}

void cli_streams_give_back(struct cli_streams *streams)
{
    for (int i = STDIN_FILENO; i <= STDOUT_FILENO; i++) {
        if (streams->kept[i] >= 0 && streams->flags[i] >= 0)
            fcntl(streams->kept[i], F_SETFL, streams->flags[i]);
        fd_close(&streams->kept[i]);
    }
}

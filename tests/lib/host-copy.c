/* SPDX-License-Identifier: Apache-2.0
 *
 * host-copy - the host's side of a copy, over the socket of a transfer.
 *
 *     host-copy SOCKET [-a] [-L] [--allow-special] FROM TO
 *
 * Prints the API request instead if SOCKET is "-".
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/cli/cli_copy.h"

static int connect_to(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    perror("host-copy");
    return -1;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    struct copy_options options = { 0 };
    struct copy_result result;
    struct copy_plan *plan;
    json_t *payload;
    int fd, at = 2;

    signal(SIGPIPE, SIG_IGN);
    for (; at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
        options.archive |= strcmp(argv[at], "-a") == 0;
        options.follow |= strcmp(argv[at], "-L") == 0;
        options.allow_special |= strcmp(argv[at], "--allow-special") == 0;
    }
    if (at != argc - 2)
        return 2;
    plan = cli_copy_parse(argv[at], argv[at + 1], &options, &error);
    if (plan && strcmp(argv[1], "-") == 0) {
        const char *type = cli_copy_request(plan, &payload);

        json_dumpf(json_pack("[s, o]", type, payload), stdout, 0);
        return 0;
    }
    fd = plan ? connect_to(argv[1]) : -1;
    if (fd >= 0 && cli_copy_run(plan, fd, &result, &error)) {
        /* The guest's end: the supervisor closes the connection. */
        if (plan->in && read(fd, &(char){ 0 }, 1) != 0)
            return 1;
        fprintf(stderr, "%ju entries, %ju skipped\n", (uintmax_t)result.entries,
                (uintmax_t)result.skipped);
        return 0;
    }
    if (error)
        fprintf(stderr, "%s\n", error->message);
    return 1;
}

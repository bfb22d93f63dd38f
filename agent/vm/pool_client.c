/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_client - see pool_client.h.
 */
#include "agent/vm/pool_client.h"

#include <errno.h>
#include <glib-unix.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/vm/pool_link.h"
#include "agent/vm/pool_wire.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/fd_message.h"
#include "common/own_folder.h"
#include "common/unix_socket.h"

enum { REASON_MAX = 60 }; /* each byte takes up to 6 in JSON */

char *pool_client_path(void)
{
    const char *runtime = g_getenv("XDG_RUNTIME_DIR");
    g_autofree char *dir = NULL, *real = NULL, *problem = NULL;
    fd_auto int fd = -1;

    if (!runtime || !g_path_is_absolute(runtime))
        return NULL;
    dir = g_build_filename(runtime, "stepback", POOL_DIR, NULL);
    fd = own_folder_open(dir, &real, &problem);
    return fd < 0 ? NULL : g_build_filename(real, POOL_SOCKET, NULL);
}

static void set_error(GError **error, const char *problem)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                "the pool of machines: %s", problem);
}

/* ---- the connection ------------------------------------------------------ */

/* Let a peer that hangs not block the caller. */
static void limit_time(int fd)
{
    const struct timeval limit = { .tv_sec = POOL_CLIENT_MS / 1000 };

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/* Return the connection; -1 without an error: no pool runs. */
static int connect_to(GError **error)
{
    g_autofree char *path = pool_client_path();
    struct ucred peer;
    socklen_t len = sizeof(peer);
    fd_auto int fd = path ? unix_socket_connect(path, SOCK_NONBLOCK) : -1;

    if (fd < 0)
        return -1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
        peer.uid != geteuid()) {
        set_error(error, "another user's process serves it");
        return -1;
    }
    g_unix_set_fd_nonblocking(fd, FALSE, NULL);
    limit_time(fd);
    return fd_steal(&fd);
}

static json_t *read_answer(int fd, int *ret_fd)
{
    g_autofree char *text = g_malloc(POOL_ANSWER_MAX);
    fd_auto int passed = -1;
    struct fd_room room = { &passed, 1, 0 };
    size_t len = 0;
    json_t *answer;
    ssize_t n;

    do {
        n = fd_message_receive(fd, text + len, POOL_ANSWER_MAX - len, 0, &room);
        len += n > 0 ? (size_t)n : 0;
    } while (n == -EINTR || (n > 0 && len < POOL_ANSWER_MAX));
    answer = n == 0 ? json_loadb(text, len, 0, NULL) : NULL;
    *ret_fd = fd_steal(&passed);
    return answer;
}

/* Send a request (taken). Return the answer; NULL without an error: no pool
 * runs. */
static json_t *ask(json_t *request, int *ret_fd, GError **error)
{
    fd_auto int fd = connect_to(error);
    char *text = json_dumps(request, JSON_COMPACT);
    g_autofree char *line = g_strconcat(text, "\n", NULL);
    json_t *answer = NULL;

    *ret_fd = -1;
    if (fd >= 0 && fd_write_all(fd, line, strlen(line)) == 0) {
        answer = read_answer(fd, ret_fd);
        if (!answer)
            set_error(error, "it does not answer; end it with: stepback pool "
                             "--size=0");
    }
    free(text);
    json_decref(request);
    return answer;
}

/* ---- requests ------------------------------------------------------------ */

/* Take the connections out of the link's queue, where they have waited. */
static bool open_link(int link, bool network, struct vm_parts *ret_parts)
{
    struct pool_message message;
    unsigned wanted = network ? POOL_FDS : POOL_FD_NETWORK;

    limit_time(link);
    if (pool_link_receive(link, &message) != 1)
        return false;
    if (message.type != POOL_READY || message.n_fds != wanted) {
        pool_message_close(&message);
        return false;
    }
    *ret_parts = (struct vm_parts){
        .link = link,
        .control = message.fds[POOL_FD_CONTROL],
        .bulk = message.fds[POOL_FD_BULK],
        .monitor = message.fds[POOL_FD_MONITOR],
        .network = message.fds[POOL_FD_NETWORK],
        .holder = message.a,
        .qemu = message.b,
    };
    return true;
}

bool pool_client_take(const char *key, bool network, struct vm_parts *ret_parts,
                      GError **error)
{
    fd_auto int link = -1;
    json_t *answer = ask(json_pack("{s:s, s:s}", "request", "take", "key", key),
                         &link, error);
    bool taken = answer && json_is_true(json_object_get(answer, "taken"));

    json_decref(answer);
    if (!taken)
        return false;
    if (link >= 0 && open_link(link, network, ret_parts)) {
        fd_steal(&link);
        return true;
    }
    set_error(error, "the machine has ended");
    return false;
}

void pool_client_report(const char *reason)
{
    g_autofree char *text = g_strndup(reason, REASON_MAX);
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    fd_auto int none = -1;

    json_decref(
        ask(json_pack("{s:s, s:s}", "request", "failed", "reason", valid),
            &none, NULL));
}

json_t *pool_client_status(GError **error)
{
    fd_auto int none = -1;

    return ask(json_pack("{s:s}", "request", "status"), &none, error);
}

bool pool_client_end(GError **error)
{
    static const char line[] = "{\"request\":\"end\"}\n";
    fd_auto int fd = connect_to(error);
    char byte;

    if (fd < 0 || fd_write_all(fd, line, strlen(line)) != 0)
        return false;
    if (recv(fd, &byte, 1, 0) == 0)
        return true;
    set_error(error, "it does not end");
    return false;
}

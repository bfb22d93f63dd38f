/* SPDX-License-Identifier: Apache-2.0
 *
 * intake - see intake.h.
 */
#include "proxy/intake.h"

#include <errno.h>
#include <glib-unix.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/fd_message.h"
#include "common/log.h"
#include "common/message.h"
#include "common/network_name.h"

/* Messages between two looks at everything else. */
enum { MESSAGE_MAX = 1024, AT_ONCE = 32 };

struct intake {
    int fd;
    guint source;
    struct connections *connections;
    void (*closed)(void *opaque);
    void *opaque;
};

static gboolean invalid(GError **error, const char *text)
{
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, text);
    return FALSE;
}

static gboolean parse_check(const char *text, enum guest_check_kind *ret_kind,
                            GError **error)
{
    /* The proxy's own policy decides how to check what is allowed. */
    if (strcmp(text, "ask") == 0)
        *ret_kind = GUEST_CHECK_RAW;
    else if (strcmp(text, "http") == 0)
        *ret_kind = GUEST_CHECK_INTERCEPT;
    else if (strcmp(text, "web") == 0)
        *ret_kind = GUEST_CHECK_WEB;
    else if (strcmp(text, "port") == 0)
        *ret_kind = GUEST_CHECK_PORT;
    else if (strcmp(text, "raw") == 0)
        *ret_kind = GUEST_CHECK_RAW;
    else
        return invalid(error, "unknown check");
    return TRUE;
}

static gboolean parse(json_t *message, struct connection_target *target,
                      GError **error)
{
    const char *name, *check;
    gint64 port;

    if (!message_get_int(message, "id", 0, G_MAXINT64 - 1, &target->id,
                         error) ||
        !message_get_string(message, "name", &name, error) ||
        !message_get_int(message, "port", 1, G_MAXUINT16, &port, error) ||
        !message_get_string(message, "check", &check, error) ||
        !parse_check(check, &target->kind, error))
        return FALSE;
    if (!network_name_normalize(name, target->name))
        return invalid(error, "the name is malformed");
    target->port = (unsigned)port;
    return TRUE;
}

/* Other files could have no readiness, or block. */
static gboolean check_socket(int fd, GError **error)
{
    int domain = 0, type = 0;
    socklen_t length = sizeof(int);

    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) < 0 ||
        domain != AF_UNIX || type != SOCK_STREAM ||
        !g_unix_set_fd_nonblocking(fd, TRUE, NULL))
        return invalid(error, "it has no stream socket");
    return TRUE;
}

static void take(struct intake *intake, const char *text, size_t length, int fd)
{
    fd_auto int guest = fd;
    struct connection_target target = { 0 };
    g_autoptr(GError) error = NULL;
    json_t *message = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);

    if (check_socket(guest, &error) && parse(message, &target, &error))
        connections_add(intake->connections, &target, fd_steal(&guest));
    else
        log_warn(LOG_SESSION, "a new connection is ignored: %s",
                 error->message);
    json_decref(message);
}

/* Return the length of a message, 0 at the end, or -errno. */
static ssize_t receive(struct intake *intake)
{
    char text[MESSAGE_MAX];
    int fds[2] = { -1, -1 };
    struct fd_room room = { fds, G_N_ELEMENTS(fds), 0 };
    ssize_t n = fd_message_receive(intake->fd, text, sizeof(text),
                                   MSG_DONTWAIT | MSG_TRUNC, &room);

    if (n > 0)
        take(intake, text, (size_t)n > sizeof(text) ? 0 : (size_t)n,
             room.count == 1 ? fd_steal(&fds[0]) : -1);
    fd_close(&fds[0]);
    fd_close(&fds[1]);
    return n;
}

static gboolean on_readable(int fd, GIOCondition condition, gpointer data)
{
    struct intake *intake = data;
    ssize_t n = 1;

    for (int i = 0; i < AT_ONCE && n > 0; i++)
        n = receive(intake);
    if (n > 0 || n == -EAGAIN || n == -EINTR)
        return G_SOURCE_CONTINUE;
    intake->source = 0;
    intake->closed(intake->opaque);
    return G_SOURCE_REMOVE;
}

struct intake *intake_new(int fd, struct connections *connections,
                          void (*closed)(void *opaque), void *opaque)
{
    struct intake *intake = g_new0(struct intake, 1);

    intake->fd = fd;
    intake->connections = connections;
    intake->closed = closed;
    intake->opaque = opaque;
    intake->source = g_unix_fd_add(fd, G_IO_IN | G_IO_HUP | G_IO_ERR,
                                   on_readable, intake);
    return intake;
}

void intake_free(struct intake *intake)
{
    if (!intake)
        return;
    if (intake->source)
        g_source_remove(intake->source);
    fd_close(&intake->fd);
    g_free(intake);
}

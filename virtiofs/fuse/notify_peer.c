/* SPDX-License-Identifier: Apache-2.0
 *
 * notify_peer - see notify_peer.h.
 *
 * Notifications need no repetition, as those over /dev/fuse do. A lookup in the
 * guest holds its kernel's lock of the folder, unlike a notification; and when
 * a reply from before a change is processed late, the kernel sees by the number
 * of the attributes' version that it has newer ones.
 */
#include "virtiofs/fuse/notify_peer.h"

#include <errno.h>
#include <glib.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "virtiofs/fuse/notifier.h"

enum {
    LINE_NAMES = 512, /* names in a line; one has at most 255 bytes */
    /* With more, what the guest does not use is dropped first: its kernel does
     * that faster, and a name in a folder that it has dropped costs little. */
    MANY = 2048,
    LINE_MAX_IN = 256,
};

struct notify_peer {
    struct fuse_server *server;
    int fd;
    struct notifier *notifier;
    GThread *reader;
    GMutex lock; /* guards the following members */
    GCond change;
    json_int_t told;
    bool keeps, closed;
    /* Of the notifier's thread. */
    json_int_t sent;
    bool given_up;
    json_t *names;
};

/* ---- to the program ------------------------------------------------------ */

static bool send_line(struct notify_peer *peer, json_t *line)
{
    g_autofree char *text = json_dumps(line, JSON_COMPACT);
    g_autofree char *whole = g_strconcat(text, "\n", NULL);

    json_decref(line);
    return fd_write_all(peer->fd, whole, strlen(whole)) == 0;
}

/* The lock is held. */
static bool wait_told(struct notify_peer *peer)
{
    gint64 until = g_get_monotonic_time() +
                   NOTIFIER_PATIENCE_MS * G_TIME_SPAN_MILLISECOND;

    while (!peer->closed && peer->told < peer->sent) {
        if (!g_cond_wait_until(&peer->change, &peer->lock, until))
            return false;
    }
    return true;
}

/* A guest's root can stop the shim's processes. That must not delay each undo.
 */
static void give_up(struct notify_peer *peer)
{
    peer->given_up = true;
    fuse_server_keep_long(peer->server, false);
    log_warn(LOG_FS_BACKEND,
             "the guest does not look at changed names; its programs may see "
             "the old state for a minute, and it keeps no more names");
}

/* Return whether the guest may have kept names for long. */
static bool is_needed(struct notify_peer *peer)
{
    bool keeps;

    g_mutex_lock(&peer->lock);
    keeps = peer->keeps;
    g_mutex_unlock(&peer->lock);
    return keeps && !peer->given_up;
}

/* Send the collected names, and wait until the guest has looked at them. */
static void flush(struct notify_peer *peer, bool unused)
{
    json_t *line = json_pack("{s:I, s:b, s:o}", "id", peer->sent + 1, "unused",
                             (int)unused, "names", peer->names);
    bool ok;

    peer->names = json_array();
    if (!is_needed(peer)) {
        json_decref(line);
        return;
    }
    peer->sent++;
    ok = send_line(peer, line);
    g_mutex_lock(&peer->lock);
    ok = !ok || wait_told(peer);
    g_mutex_unlock(&peer->lock);
    if (!ok)
        give_up(peer);
}

static void begin(size_t n, void *opaque)
{
    if (n > MANY)
        flush(opaque, true);
}

static void add(struct notify_peer *peer, json_t *name)
{
    json_array_append_new(peer->names, name);
    if (json_array_size(peer->names) >= LINE_NAMES)
        flush(peer, false);
}

static json_t *pack_name(uint64_t dir, const char *name)
{
    g_autofree char *base64 = NULL;

    if (g_utf8_validate(name, -1, NULL))
        return json_pack("[I, s]", (json_int_t)dir, name);
    base64 = g_base64_encode((const guchar *)name, strlen(name));
    return json_pack("[I, s, i]", (json_int_t)dir, base64, 1);
}

static void add_item(const struct notifier_item *item, bool again, void *opaque)
{
    if (item->name)
        add(opaque, pack_name(item->dir, item->name));
    if (item->inode != 0 && !item->removed)
        add(opaque, json_pack("[I]", (json_int_t)item->inode));
}

static void end(void *opaque)
{
    struct notify_peer *peer = opaque;

    if (json_array_size(peer->names) > 0)
        flush(peer, false);
}

static void note_closed(struct notify_peer *peer)
{
    fuse_server_keep_long(peer->server, false);
    g_mutex_lock(&peer->lock);
    peer->closed = true;
    g_cond_broadcast(&peer->change);
    g_mutex_unlock(&peer->lock);
}

/* The reader then calls note_closed(). */
static void stop(void *opaque)
{
    struct notify_peer *peer = opaque;

    shutdown(peer->fd, SHUT_RDWR);
}

static const struct notifier_way way = {
    .begin = begin,
    .item = add_item,
    .end = end,
    .stop = stop,
};

/* ---- from the program ---------------------------------------------------- */

static void take_line(struct notify_peer *peer, const char *text, size_t len)
{
    json_t *line = json_loadb(text, len, 0, NULL);
    const json_t *told = json_object_get(line, "told");

    g_mutex_lock(&peer->lock);
    if (told)
        peer->told = json_integer_value(told);
    if (json_is_true(json_object_get(line, "keep"))) {
        peer->keeps = true;
        fuse_server_keep_long(peer->server, true);
    }
    g_cond_broadcast(&peer->change);
    g_mutex_unlock(&peer->lock);
    json_decref(line);
}

/* Take the complete lines; return the length of the rest, which moves to the
 * start. */
static size_t take_lines(struct notify_peer *peer, char *text, size_t len)
{
    char *line = text, *newline;

    while ((newline = memchr(line, '\n', len))) {
        take_line(peer, line, (size_t)(newline - line));
        len -= (size_t)(newline + 1 - line);
        line = newline + 1;
    }
    memmove(text, line, len);
    return len;
}

static gpointer run_reader(gpointer opaque)
{
    struct notify_peer *peer = opaque;
    char text[LINE_MAX_IN];
    size_t len = 0;

    while (len < sizeof(text)) {
        ssize_t got = read(peer->fd, text + len, sizeof(text) - len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        len = take_lines(peer, text, len + (size_t)got);
    }
    note_closed(peer);
    return NULL;
}

/* ---- life ---------------------------------------------------------------- */

static bool start(struct notify_peer *peer, int *ret_rc)
{
    peer->notifier = notifier_new(&way, peer, peer->server, ret_rc);
    if (!peer->notifier)
        return false;
    peer->reader = g_thread_try_new("notify-reader", run_reader, peer, NULL);
    if (peer->reader)
        return true;
    *ret_rc = -EAGAIN;
    notifier_stop(peer->notifier);
    return false;
}

struct notify_peer *notify_peer_new(struct fuse_server *server, int fd,
                                    int *ret_rc)
{
    struct notify_peer *peer = g_new0(struct notify_peer, 1);

    peer->server = server;
    peer->fd = fd;
    peer->names = json_array();
    g_mutex_init(&peer->lock);
    g_cond_init(&peer->change);
    if (!start(peer, ret_rc)) {
        notify_peer_free(peer);
        return NULL;
    }
    fuse_server_set_teller(server, notifier_tell, peer->notifier);
    return peer;
}

void notify_peer_stop(struct notify_peer *peer)
{
    notifier_stop(peer->notifier);
    g_thread_join(peer->reader);
}

void notify_peer_free(struct notify_peer *peer)
{
    if (!peer)
        return;
    notifier_free(peer->notifier);
    json_decref(peer->names);
    g_mutex_clear(&peer->lock);
    g_cond_clear(&peer->change);
    close(peer->fd);
    g_free(peer);
}

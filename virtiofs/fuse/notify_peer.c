/* SPDX-License-Identifier: Apache-2.0
 *
 * notify_peer - see notify_peer.h.
 *
 * Notifications need no repetition, as those over /dev/fuse do. A lookup in the
 * guest holds its kernel's lock of the folder, unlike a notification, and so
 * comes after the first lookup of the inode. When a later reply from before a
 * change is processed after it, the kernel sees by the number of the
 * attributes' version that it has newer ones. So each inode is looked up by its
 * name, too.
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
#include "virtiofs/fuse/notify_place.h"

enum {
    LINE_NAMES = 512, /* names in a line; one has at most 255 bytes */
    /* With more, what the guest does not use is dropped first: its kernel does
     * that faster, and skips the names of a folder that it has dropped. */
    MANY = 2048,
    MAX_MISSED = 65536,
    MAX_LATE = 10, /* times that a guest is late */
    LINE_MAX_IN = 256,
};

struct notify_peer {
    struct fuse_server *server;
    int fd;
    struct notifier *notifier;
    GThread *reader;
    GMutex lock; /* guards the following members */
    GCond change;
    json_int_t sent, told;
    bool keeps, paused, failed, closed;
    bool given_up; /* a line was not answered in time */
    bool returned; /* it was, later, so the guest must look at everything */
    unsigned n_late;
    /* Of the notifier's thread. */
    gint64 until;   /* g_get_monotonic_time(), for the line */
    bool is_all;    /* the batch has everything */
    bool is_return; /* and it is the first since the guest has returned */
    bool warned;
    GArray *places;     /* of struct notify_place, of the batch */
    GHashTable *missed; /* a set of struct notify_place, for when it returns */
};

/* ---- to the program ------------------------------------------------------ */

static bool send_line(struct notify_peer *peer, json_t *line)
{
    g_autofree char *text = json_dumps(line, JSON_COMPACT);
    g_autofree char *whole = g_strconcat(text, "\n", NULL);

    json_decref(line);
    return fd_write_all(peer->fd, whole, strlen(whole)) == 0;
}

/* For the next line. */
static void start_patience(struct notify_peer *peer)
{
    peer->until = g_get_monotonic_time() +
                  NOTIFIER_PATIENCE_MS * G_TIME_SPAN_MILLISECOND;
}

/* Return false, and expect no more, if the guest takes too long. The lock is
 * held. */
static bool wait_told(struct notify_peer *peer)
{
    while (!peer->closed && !peer->failed && peer->told < peer->sent) {
        if (peer->paused) {
            g_cond_wait(&peer->change, &peer->lock);
            start_patience(peer);
        } else if (!g_cond_wait_until(&peer->change, &peer->lock,
                                      peer->until) &&
                   peer->told < peer->sent) {
            peer->given_up = true;
            peer->n_late++;
            return false;
        }
    }
    return true;
}

/* A guest's root can stop the shim's processes, and a guest be very slow. Only
 * MAX_LATE lines wait for that. */
static void give_up(struct notify_peer *peer)
{
    fuse_server_keep_long(peer->server, false);
    log_at(peer->warned ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN, LOG_FS_BACKEND,
           "the guest does not look at changed names; until it does, or for "
           "%d minutes, its programs may see the old state",
           FUSE_LEASE_LONG_S / 60);
    peer->warned = true;
}

/* The guest has looked at everything since it has returned. */
static void keep_again(struct notify_peer *peer)
{
    g_mutex_lock(&peer->lock);
    if (!peer->given_up && !peer->failed && !peer->closed) {
        fuse_server_keep_long(peer->server, true);
        g_hash_table_remove_all(peer->missed);
        peer->returned = false;
    }
    g_mutex_unlock(&peer->lock);
}

/* The guest cannot look at names, or no longer at all that it has to. */
static void fail(struct notify_peer *peer)
{
    g_mutex_lock(&peer->lock);
    peer->failed = true;
    fuse_server_keep_long(peer->server, false);
    g_mutex_unlock(&peer->lock);
}

enum answers { NEVER, LATER, NOW };

/* Return whether the guest looks at names. */
static enum answers answers(struct notify_peer *peer)
{
    enum answers answers;

    g_mutex_lock(&peer->lock);
    if (!peer->keeps || peer->failed || peer->closed)
        answers = NEVER;
    else
        answers = peer->given_up ? LATER : NOW;
    g_mutex_unlock(&peer->lock);
    return answers;
}

static bool is_last_name(struct notify_peer *peer,
                         const struct notify_place *place)
{
    uint64_t dir;
    g_autofree char *name = fuse_server_last_name(peer->server, place->inode,
                                                  &dir);

    return name && dir == place->dir && g_strcmp0(name, place->name) == 0;
}

/* Keep a place that was not sent until the guest returns, except what it has to
 * look at then in any case. */
static void miss_place(struct notify_peer *peer, struct notify_place *place)
{
    if (peer->is_all && is_last_name(peer, place))
        return;
    if (g_hash_table_size(peer->missed) < MAX_MISSED) {
        g_hash_table_add(peer->missed, g_memdup2(place, sizeof(*place)));
        place->name = NULL;
        return;
    }
    g_hash_table_remove_all(peer->missed);
    fail(peer);
}

/* Send names (taken), and wait until the guest has looked at them. */
static void send_names(struct notify_peer *peer, bool unused, json_t *names)
{
    json_t *line = json_pack("{s:I, s:b, s:o}", "id", peer->sent + 1, "unused",
                             (int)unused, "names", names);
    bool ok;

    if (answers(peer) != NOW) {
        json_decref(line);
        return;
    }
    g_mutex_lock(&peer->lock);
    peer->sent++;
    g_mutex_unlock(&peer->lock);
    start_patience(peer);
    ok = send_line(peer, line);
    if (!ok) {
        fail(peer);
        return;
    }
    g_mutex_lock(&peer->lock);
    ok = wait_told(peer);
    g_mutex_unlock(&peer->lock);
    if (!ok)
        give_up(peer);
}

static void begin(size_t n, void *opaque)
{
    struct notify_peer *peer = opaque;

    g_array_set_size(peer->places, 0);
    peer->is_all = n == SIZE_MAX;
    g_mutex_lock(&peer->lock);
    peer->is_return = peer->is_all && peer->returned;
    g_mutex_unlock(&peer->lock);
    if (n > MANY)
        send_names(peer, true, json_array());
}

static void add_item(const struct notifier_item *item, bool again, void *opaque)
{
    struct notify_peer *peer = opaque;
    struct notify_place place = { .dir = item->dir,
                                  .inode = item->removed ? 0 : item->inode };

    if (answers(peer) == NEVER)
        return;
    place.name = g_strdup(item->name);
    if (!place.name)
        place.name = fuse_server_last_name(peer->server, place.inode,
                                           &place.dir);
    if (!place.name)
        place.dir = 0;
    g_array_append_val(peer->places, place);
}

static void add_missed(struct notify_peer *peer)
{
    GHashTableIter iter;
    gpointer key;

    g_hash_table_iter_init(&iter, peer->missed);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        struct notify_place place = *(const struct notify_place *)key;

        place.name = g_strdup(place.name);
        g_array_append_val(peer->places, place);
    }
}

/* Send the places, or as many as the guest looks at in time; return how many.
 */
static guint send_places(struct notify_peer *peer)
{
    json_t *names = json_array();
    guint i;

    g_array_sort(peer->places, notify_place_compare);
    for (i = 0; i < peer->places->len && answers(peer) == NOW; i++) {
        json_array_append_new(
            names, notify_place_pack(
                       &g_array_index(peer->places, struct notify_place, i)));
        if (json_array_size(names) < LINE_NAMES)
            continue;
        send_names(peer, false, names);
        names = json_array();
    }
    if (json_array_size(names) > 0)
        send_names(peer, false, names);
    else
        json_decref(names);
    return i;
}

static void end(void *opaque)
{
    struct notify_peer *peer = opaque;

    guint n_sent;

    if (peer->is_return)
        add_missed(peer);
    n_sent = send_places(peer);
    if (peer->is_return && n_sent == peer->places->len)
        keep_again(peer);
    for (guint i = n_sent; i < peer->places->len; i++)
        miss_place(peer, &g_array_index(peer->places, struct notify_place, i));
    g_array_set_size(peer->places, 0);
}

static void note_closed(struct notify_peer *peer)
{
    g_mutex_lock(&peer->lock);
    peer->closed = true;
    fuse_server_keep_long(peer->server, false);
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

static void tell(const struct ic_stale *list, size_t n, bool wait, void *opaque)
{
    notifier_tell(list, n, wait, ((struct notify_peer *)opaque)->notifier);
}

static bool is_busy(void *opaque)
{
    return notifier_is_busy(((struct notify_peer *)opaque)->notifier);
}

static const struct fuse_lease_teller teller = { tell, is_busy };

/* ---- from the program ---------------------------------------------------- */

/* Return whether the guest has answered too late. The lock is held. */
static bool has_returned(struct notify_peer *peer)
{
    if (!peer->given_up || peer->failed || peer->told < peer->sent ||
        peer->n_late > MAX_LATE)
        return false;
    peer->given_up = false;
    peer->returned = true;
    return true;
}

static void take_line(struct notify_peer *peer, const char *text, size_t len)
{
    static const struct ic_stale everything = { .all = true };
    json_t *line = json_loadb(text, len, 0, NULL);
    const json_t *told = json_object_get(line, "told");
    const json_t *paused = json_object_get(line, "paused");
    bool returned;

    g_mutex_lock(&peer->lock);
    if (told)
        peer->told = json_integer_value(told);
    if (json_object_get(line, "failed")) {
        peer->failed = true;
        fuse_server_keep_long(peer->server, false);
    }
    if (paused)
        peer->paused = json_is_true(paused);
    if (json_object_get(line, "keep") && !peer->keeps && !peer->failed) {
        peer->keeps = true;
        fuse_server_keep_long(peer->server, true);
    }
    returned = told && has_returned(peer);
    g_cond_broadcast(&peer->change);
    g_mutex_unlock(&peer->lock);
    if (returned)
        notifier_tell(&everything, 1, false, peer->notifier);
    if (paused)
        notifier_pause(peer->notifier, json_is_true(paused));
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
    peer->places = notify_place_array();
    peer->missed = notify_place_set();
    g_mutex_init(&peer->lock);
    g_cond_init(&peer->change);
    if (!start(peer, ret_rc)) {
        notify_peer_free(peer);
        return NULL;
    }
    fuse_server_set_teller(server, &teller, peer);
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
    g_array_unref(peer->places);
    g_hash_table_unref(peer->missed);
    g_mutex_clear(&peer->lock);
    g_cond_clear(&peer->change);
    close(peer->fd);
    g_free(peer);
}

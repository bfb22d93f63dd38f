/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost-user-told-test - a guest that is notified of changes keeps names for
 * long.
 *
 * The test plays the guest's kernel, and the program at --notify-fd.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/virtiofs/guest_steps.h"
#include "virtiofs/fuse/fuse_config.h"
#include "virtiofs/fuse/fuse_sweep.h"

enum {
    LONG_S = FUSE_LEASE_LONG_S,
    MANY = 3000, /* more than are looked at one by one */
    TOLD_MS = 300,
    PAUSE_MS = 8000,  /* less than an undo waits */
    ACTIVE_MS = 4000, /* more than changes are refused after an undo */
    PATIENCE_MS = 20000,
    POLL_US = 20000,
};

/* The program: a thread that answers each line after TOLD_MS. */
struct peer {
    struct guest *guest;
    int fd;
    bool silent;
    GThread *thread;
    GMutex lock;
    json_t *lines; /* received */
};

static void answer(struct peer *peer, json_t *line)
{
    g_autofree char *text = NULL;

    g_mutex_lock(&peer->lock);
    json_array_append(peer->lines, line);
    g_mutex_unlock(&peer->lock);
    if (peer->silent)
        return;
    g_usleep(TOLD_MS * 1000);
    text = g_strdup_printf("{\"told\":%" JSON_INTEGER_FORMAT "}\n",
                           json_integer_value(json_object_get(line, "id")));
    /* EPIPE: end_peer() came meanwhile. */
    g_assert_true(send(peer->fd, text, strlen(text), MSG_NOSIGNAL) > 0 ||
                  errno == EPIPE);
}

static gpointer run_peer(gpointer opaque)
{
    struct peer *peer = opaque;
    FILE *file = fdopen(dup(peer->fd), "r");
    char *text = NULL;
    size_t size = 0;

    while (getline(&text, &size, file) > 0) {
        json_t *line = json_loads(text, 0, NULL);

        g_assert_nonnull(line);
        answer(peer, line);
        json_decref(line);
    }
    free(text);
    fclose(file);
    return NULL;
}

static struct peer *new_peer(bool silent)
{
    struct peer *peer = g_new0(struct peer, 1);
    g_autofree char *option = NULL;
    const char *arguments[] = { "--cache=lease", NULL, NULL };
    int ends[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), ==, 0);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    arguments[1] = option = g_strdup_printf("--notify-fd=%d", ends[1]);
    peer->guest = guest_new_with(arguments);
    close(ends[1]);
    peer->fd = ends[0];
    peer->silent = silent;
    peer->lines = json_array();
    g_mutex_init(&peer->lock);
    peer->thread = g_thread_new("peer", run_peer, peer);
    return peer;
}

static void end_peer(struct peer *peer)
{
    if (!peer->thread)
        return;
    shutdown(peer->fd, SHUT_RDWR);
    g_thread_join(g_steal_pointer(&peer->thread));
    close(peer->fd);
}

static void free_peer(struct peer *peer)
{
    end_peer(peer);
    guest_free(peer->guest);
    json_decref(peer->lines);
    g_mutex_clear(&peer->lock);
    g_free(peer);
}

static void say(struct peer *peer, const char *line)
{
    g_assert_cmpint(write(peer->fd, line, strlen(line)), ==, strlen(line));
}

static void start_to_keep(struct peer *peer)
{
    say(peer, "{\"keep\":true}\n");
}

/* Return whether a line had this name: its folder, NAME, and whether that is
 * base64. */
static bool was_told(struct peer *peer, const char *name)
{
    json_t *wanted = json_loads(name, 0, NULL), *line, *element;
    bool found = false;
    size_t i, j;

    g_mutex_lock(&peer->lock);
    json_array_foreach(peer->lines, i, line)
        json_array_foreach(json_object_get(line, "names"), j, element)
    {
        json_t *start = json_copy(element);

        json_array_remove(start, 3);
        found = found || json_equal(start, wanted);
        json_decref(start);
    }
    g_mutex_unlock(&peer->lock);
    json_decref(wanted);
    return found;
}

static void forget_lines(struct peer *peer)
{
    g_mutex_lock(&peer->lock);
    json_array_clear(peer->lines);
    g_mutex_unlock(&peer->lock);
}

/* Return whether the guest had to drop what it does not use. */
static bool was_to_drop(struct peer *peer)
{
    bool found = false;
    json_t *line;
    size_t i;

    g_mutex_lock(&peer->lock);
    json_array_foreach(peer->lines, i, line)
        found = found || json_is_true(json_object_get(line, "unused"));
    g_mutex_unlock(&peer->lock);
    return found;
}

static struct fuse_entry_out look_up(struct peer *peer, const char *name)
{
    struct fuse_entry_out entry;

    OK(fuse_client_lookup(peer->guest->client, FUSE_ROOT_ID, name, &entry));
    return entry;
}

static uint64_t seconds_of(struct peer *peer, const char *name)
{
    return look_up(peer, name).entry_valid;
}

/* A file that has just changed is kept for long only after a moment. */
static void wait_kept(struct peer *peer, const char *name, uint64_t seconds)
{
    gint64 end = g_get_monotonic_time() + PATIENCE_MS * 1000;

    while (seconds_of(peer, name) != seconds) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(POLL_US);
    }
}

static void make(struct peer *peer, const char *name)
{
    uint64_t node, fh;

    OK(fuse_client_create(peer->guest->client, FUSE_ROOT_ID, name, O_RDWR,
                          &node, &fh));
    OK(fuse_client_release(peer->guest->client, FUSE_RELEASE, node, fh));
}

static uint32_t opendir_flags(struct peer *peer)
{
    const struct fuse_open_in in = { 0 };
    const struct iovec args[] = { PIECE(in) };
    const struct fuse_open_out *out;
    uint32_t flags;

    OK(fuse_client_call(peer->guest->client, FUSE_QUEUE, FUSE_OPENDIR,
                        FUSE_ROOT_ID, args, 1, sizeof(*out),
                        (const void **)&out, NULL));
    flags = out->open_flags;
    OK(fuse_client_release(peer->guest->client, FUSE_RELEASEDIR, FUSE_ROOT_ID,
                           out->fh));
    return flags;
}

/* Wait until the guest may use the list of names that it has read. */
static void wait_list_kept(struct peer *peer)
{
    gint64 end = g_get_monotonic_time() + PATIENCE_MS * 1000;

    while (!(opendir_flags(peer) & FOPEN_KEEP_CACHE)) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(POLL_US);
    }
}

static void wait_told(struct peer *peer, const char *name, int seconds)
{
    gint64 end = g_get_monotonic_time() + seconds * G_TIME_SPAN_SECOND;

    while (!was_told(peer, name)) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(POLL_US);
    }
}

static void wait_attributes_kept(struct peer *peer, const char *name)
{
    gint64 end = g_get_monotonic_time() + PATIENCE_MS * 1000;

    while (look_up(peer, name).attr_valid != LONG_S) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(POLL_US);
    }
}

/* A step that makes a file, and undo. Return how long the undo took. */
static gint64 undo_of_file(struct peer *peer, const char *name)
{
    gint64 start;

    guest_step_open(peer->guest, 1);
    make(peer, name);
    guest_step_close(peer->guest, 1);
    start = g_get_monotonic_time();
    guest_undo(peer->guest);
    return (g_get_monotonic_time() - start) / 1000;
}

/* ---- cases --------------------------------------------------------------- */

static void undo_waits(void)
{
    struct peer *peer = new_peer(false);

    g_assert_cmpuint(seconds_of(peer, "victim"), ==, 0);
    start_to_keep(peer);
    wait_kept(peer, "victim", LONG_S);
    g_assert_cmpint(undo_of_file(peer, "a"), >=, TOLD_MS);
    g_assert_true(was_told(peer, "[1,\"a\",false]"));
    free_peer(peer);
}

static void odd_name(void)
{
    struct peer *peer = new_peer(false);

    start_to_keep(peer);
    undo_of_file(peer, "\xff\xfe");
    g_assert_true(was_told(peer, "[1,\"//4=\",true]"));
    free_peer(peer);
}

static void many_names(void)
{
    struct peer *peer = new_peer(false);

    start_to_keep(peer);
    guest_step_open(peer->guest, 1);
    for (int i = 0; i < MANY; i++) {
        g_autofree char *name = g_strdup_printf("f%d", i);

        make(peer, name);
    }
    guest_step_close(peer->guest, 1);
    guest_undo(peer->guest);
    g_assert_true(was_to_drop(peer));
    g_assert_true(was_told(peer, "[1,\"f0\",false]"));
    free_peer(peer);
}

static void after_its_end(void)
{
    struct peer *peer = new_peer(false);

    start_to_keep(peer);
    wait_kept(peer, "victim", LONG_S);
    end_peer(peer);
    wait_kept(peer, "victim", 0);
    g_assert_cmpint(undo_of_file(peer, "a"), <, PATIENCE_MS);
    free_peer(peer);
}

/* An undo of a denied change comes while the guest is paused. Then each change
 * is refused once, until the guest has looked. */
static void while_paused(void)
{
    struct peer *peer = new_peer(true);
    struct fuse_entry_out entry;
    uint64_t fh;

    start_to_keep(peer);
    wait_kept(peer, "victim", LONG_S);
    OK(fuse_client_lookup(peer->guest->client, FUSE_ROOT_ID, "victim", &entry));
    say(peer, "{\"paused\":true}\n");
    g_assert_cmpint(undo_of_file(peer, "a"), <, PAUSE_MS);
    for (int i = 0; i < ACTIVE_MS * 1000 / POLL_US; i++) {
        seconds_of(peer, "victim");
        g_usleep(POLL_US);
    }
    STALE(fuse_client_open(peer->guest->client, entry.nodeid, O_RDWR, 0, &fh));
    say(peer, "{\"paused\":false}\n{\"told\":99}\n");
    wait_kept(peer, "victim", LONG_S);
    free_peer(peer);
}

static void that_fails(void)
{
    struct peer *peer = new_peer(true);

    start_to_keep(peer);
    wait_kept(peer, "victim", LONG_S);
    say(peer, "{\"failed\":1}\n");
    g_assert_cmpint(undo_of_file(peer, "a"), <, PAUSE_MS);
    wait_kept(peer, "victim", 0);
    free_peer(peer);
}

/* A guest that does not answer delays one undo, and then keeps no more. */
static void without_answer(void)
{
    struct peer *peer = new_peer(true);

    start_to_keep(peer);
    wait_kept(peer, "victim", LONG_S);
    g_assert_cmpint(undo_of_file(peer, "a"), <, PATIENCE_MS);
    wait_kept(peer, "victim", 0);
    free_peer(peer);
}

/* When it answers after all, it looks at everything, and keeps it again; also
 * at what has changed meanwhile, even if the name is no longer known. */
static void with_a_late_answer(void)
{
    struct peer *peer = new_peer(true);
    g_autofree char *victim = client_host_path(peer->guest->client, "victim");
    g_autofree char *moved = client_host_path(peer->guest->client, "moved");

    start_to_keep(peer);
    wait_kept(peer, "victim", LONG_S);
    undo_of_file(peer, "a");
    wait_kept(peer, "victim", 0);
    g_assert_cmpint(rename(victim, moved), ==, 0);
    seconds_of(peer, "moved");
    g_usleep(2 * TOLD_MS * 1000); /* for the watcher */
    forget_lines(peer);
    peer->silent = false;
    say(peer, "{\"told\":1}\n");
    wait_kept(peer, "moved", LONG_S);
    g_assert_true(was_told(peer, "[1,\"a\",false]"));
    g_assert_true(was_told(peer, "[1,\"victim\",false]"));
    g_assert_true(was_told(peer, "[1,\"moved\",false]"));
    free_peer(peer);
}

/* No event comes of a write by mmap(2) until the file is closed. */
static void without_a_report(void)
{
    struct peer *peer = new_peer(false);
    g_autofree char *victim = client_host_path(peer->guest->client, "victim");
    int fd = open(victim, O_RDWR | O_CLOEXEC);
    char *page = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    g_assert_true(page != MAP_FAILED);
    start_to_keep(peer);
    wait_attributes_kept(peer, "victim");
    g_usleep(2 * TOLD_MS * 1000); /* for lines of the file's creation */
    forget_lines(peer);
    *page ^= 1;
    g_usleep(TOLD_MS * 1000);
    g_assert_false(was_told(peer, "[1,\"victim\",false]"));
    wait_told(peer, "[1,\"victim\",false]", 2 * FUSE_SWEEP_S);
    munmap(page, 1);
    close(fd);
    free_peer(peer);
}

static void list_of_names(void)
{
    struct peer *peer = new_peer(false);
    g_autofree char *new = client_host_path(peer->guest->client, "new");

    g_assert_cmpuint(opendir_flags(peer), ==, 0);
    start_to_keep(peer);
    wait_list_kept(peer);
    g_assert_true(g_file_set_contents(new, "x", 1, NULL)); /* by the host */
    g_assert_cmpuint(opendir_flags(peer), ==, FOPEN_CACHE_DIR);
    wait_list_kept(peer);
    guest_step_open(peer->guest, 1);
    make(peer, "a");
    guest_step_close(peer->guest, 1);
    g_assert_cmpuint(opendir_flags(peer), ==, FOPEN_CACHE_DIR);
    wait_list_kept(peer);
    guest_undo(peer->guest);
    g_assert_cmpuint(opendir_flags(peer), ==, FOPEN_CACHE_DIR);
    end_peer(peer);
    wait_kept(peer, "victim", 0);
    g_assert_cmpuint(opendir_flags(peer), ==, 0);
    free_peer(peer);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/told/undo-waits", undo_waits);
    g_test_add_func("/told/odd-name", odd_name);
    g_test_add_func("/told/many-names", many_names);
    g_test_add_func("/told/after-its-end", after_its_end);
    g_test_add_func("/told/while-paused", while_paused);
    g_test_add_func("/told/that-fails", that_fails);
    g_test_add_func("/told/without-answer", without_answer);
    g_test_add_func("/told/with-a-late-answer", with_a_late_answer);
    g_test_add_func("/told/without-a-report", without_a_report);
    g_test_add_func("/told/list-of-names", list_of_names);
    return g_test_run();
}

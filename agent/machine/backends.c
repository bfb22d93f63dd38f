/* SPDX-License-Identifier: Apache-2.0
 *
 * backends - see backends.h.
 */
#include "agent/machine/backends.h"

#include "agent/machine/backend.h"
#include "common/errors.h"

/* One folder's daemon. The object outlives its process, because commands hold
 * pointers into it. */
struct member {
    struct backends *all;
    unsigned index;
    struct backend *backend;
    bool runs, ready, undo;
    bool told;    /* asked to end */
    bool leaving; /* its end is expected */
    /* The request to add or to remove it. */
    backends_done done;
    void *opaque;
    GError *error; /* of the failed request */
    guint source;  /* of on_gone() */
};

struct backends {
    struct member *members[SESSION_MAX_DIRECTORIES];
    unsigned count;
    bool stopping; /* all of them */
    const struct backends_callbacks *callbacks;
    void *opaque;
};

static void member_free(struct member *member)
{
    g_clear_handle_id(&member->source, g_source_remove);
    backend_free(member->backend);
    g_clear_error(&member->error);
    g_free(member);
}

/* Remove the folder and answer the request. Not in a callback of the backend,
 * which is freed here. */
static gboolean on_gone(gpointer data)
{
    struct member *member = data;
    struct backends *all = member->all;
    g_autoptr(GError) error = g_steal_pointer(&member->error);
    backends_done done = member->done;
    void *opaque = member->opaque;

    member->source = 0;
    all->count--;
    for (unsigned i = member->index; i < all->count; i++) {
        all->members[i] = all->members[i + 1];
        all->members[i]->index = i;
    }
    member_free(member);
    done(error, opaque);
    return G_SOURCE_REMOVE;
}

static void on_ready(struct backend *backend, void *opaque)
{
    struct member *member = opaque;
    struct backends *all = member->all;

    member->ready = true;
    member->undo = backend_has_undo(backend);
    if (member->done) { /* of backends_add() */
        g_steal_pointer (&member->done)(NULL, member->opaque);
        return;
    }
    for (unsigned i = 0; i < all->count; i++) {
        if (!all->members[i]->ready)
            return;
    }
    all->callbacks->ready(all->opaque);
}

static void on_event(struct backend *backend, const char *type, json_t *payload,
                     void *opaque)
{
    struct member *member = opaque;

    member->all->callbacks->event(member->index, type, payload,
                                  member->all->opaque);
}

static void on_refresh(struct backend *backend, gint64 id, json_t *message,
                       void *opaque)
{
    struct member *member = opaque;

    member->all->callbacks->refresh(member->index, id, message,
                                    member->all->opaque);
}

static void on_ended(struct backend *backend, const GError *error, bool clean,
                     void *opaque)
{
    struct member *member = opaque;

    member->runs = false;
    if (member->all->stopping || (!member->leaving && !member->done)) {
        member->all->callbacks->ended(error, clean, member->all->opaque);
        return;
    }
    if (!member->leaving) /* backends_add() has failed */
        member->error = g_error_copy(error);
    if (member->done)
        member->source = g_idle_add(on_gone, member);
}

static const struct backend_callbacks backend_callbacks = {
    .ready = on_ready,
    .event = on_event,
    .refresh = on_refresh,
    .ended = on_ended,
};

/* added: to a running session. Then the folder must still be the one that was
 * checked; at a start its path counts. */
static gboolean start(struct member *member, bool added,
                      const struct session_config *config,
                      const struct launch *launch, const char *log_level,
                      GError **error)
{
    const struct session_directory *directory =
        config->directories[member->index];
    const struct backend_config backend_config = {
        .kind = config->backend,
        .program = launch->daemon,
        .shared_dir = directory->path,
        .share_dev = added ? directory->dev : 0,
        .share_ino = added ? directory->ino : 0,
        .undo_dir = directory->undo_dir,
        .read_only = directory->read_only,
        .allow_suid = config->allow_suid,
        .allow_devices = config->allow_devices,
        .host_ids = config->host_ids,
        .outside_policy = config->outside_policy,
        .fs_socket = launch->fs_sockets[member->index],
        .fuse_fd = launch->fuse_fds[member->index],
        .holds_signals = launch->holds_signals,
        .slow_requests = launch->slow_requests,
        .control_socket = launch->control_sockets[member->index],
        .log_level = log_level,
        .timeout_ms = config->boot_timeout_s * 1000,
    };

    member->backend = backend_new(&backend_config, &backend_callbacks, member,
                                  error);
    member->runs = member->backend != NULL;
    return member->runs;
}

/* Start the daemon of the next folder. */
static struct member *start_next(struct backends *backends, bool added,
                                 const struct session_config *config,
                                 const struct launch *launch,
                                 const char *log_level, GError **error)
{
    struct member *member = g_new0(struct member, 1);

    member->all = backends;
    member->index = backends->count;
    if (!start(member, added, config, launch, log_level, error)) {
        member_free(member);
        return NULL;
    }
    return backends->members[backends->count++] = member;
}

struct backends *backends_new(const struct session_config *config,
                              const struct launch *launch,
                              const char *log_level,
                              const struct backends_callbacks *callbacks,
                              void *opaque, GError **error)
{
    struct backends *backends = g_new0(struct backends, 1);

    backends->callbacks = callbacks;
    backends->opaque = opaque;
    while (backends->count < config->n_directories) {
        if (!start_next(backends, false, config, launch, log_level, error)) {
            backends_free(backends);
            return NULL;
        }
    }
    return backends;
}

gboolean backends_add(struct backends *backends,
                      const struct session_config *config,
                      const struct launch *launch, const char *log_level,
                      backends_done done, void *opaque, GError **error)
{
    struct member *member = start_next(backends, true, config, launch,
                                       log_level, error);

    if (!member)
        return FALSE;
    member->done = done;
    member->opaque = opaque;
    return TRUE;
}

void backends_note_used(struct backends *backends, unsigned index)
{
    backend_note_used(backends->members[index]->backend);
}

void backends_expect_end(struct backends *backends, unsigned index)
{
    backends->members[index]->leaving = true;
}

void backends_expect_no_end(struct backends *backends, unsigned index)
{
    struct member *member = backends->members[index];
    g_autoptr(GError)
        error = g_error_new_literal(STEPBACK_ERROR, ERROR_BACKEND_FAILED,
                                    "the file system daemon has ended");

    member->leaving = false;
    if (!member->runs)
        backends->callbacks->ended(error, false, backends->opaque);
}

void backends_remove(struct backends *backends, unsigned index,
                     backends_done done, void *opaque)
{
    struct member *member = backends->members[index];

    member->done = done;
    member->opaque = opaque;
    if (!member->runs)
        member->source = g_idle_add(on_gone, member);
    else if (!member->told)
        backend_stop(member->backend);
    member->told = true;
}

void backends_free(struct backends *backends)
{
    if (!backends)
        return;
    while (backends->count > 0)
        member_free(backends->members[--backends->count]);
    g_free(backends);
}

void backends_stop(struct backends *backends)
{
    backends->stopping = true;
    for (unsigned i = 0; i < backends->count; i++) {
        struct member *member = backends->members[i];

        /* Only once: a second call would restart the grace period. */
        if (member->runs && !member->told)
            backend_stop(member->backend);
        member->told = true;
    }
}

void backends_kill(struct backends *backends)
{
    backends->stopping = true;
    for (unsigned i = 0; i < backends->count; i++) {
        if (backends->members[i]->runs)
            backend_kill(backends->members[i]->backend);
    }
}

bool backends_run(const struct backends *backends)
{
    for (unsigned i = 0; backends && i < backends->count; i++) {
        if (backends->members[i]->runs)
            return true;
    }
    return false;
}

struct control_link *backends_link(struct backends *backends, unsigned index)
{
    return backend_link(backends->members[index]->backend);
}

void backends_close_links(struct backends *backends)
{
    for (unsigned i = 0; backends && i < backends->count; i++)
        control_link_close(backends_link(backends, i));
}

void backends_keep_names(struct backends *backends, unsigned index)
{
    backend_keep_names(backends->members[index]->backend);
}

bool backends_told_names(struct backends *backends, unsigned index, gint64 id,
                         bool ok)
{
    return backend_told_names(backends->members[index]->backend, id, ok);
}

void backends_pause_names(struct backends *backends, bool paused)
{
    for (unsigned i = 0; backends && i < backends->count; i++)
        backend_pause_names(backends->members[i]->backend, paused);
}

bool backends_has_undo(const struct backends *backends, unsigned index)
{
    return index < backends->count && backends->members[index]->undo;
}

void backends_set_undo(struct backends *backends, unsigned index)
{
    backends->members[index]->undo = true;
}

gint64 backends_last_step_id_of(const struct backends *backends, unsigned index)
{
    return backend_last_step_id(backends->members[index]->backend);
}

gint64 backends_last_step_id(const struct backends *backends)
{
    gint64 last = 0;

    for (unsigned i = 0; i < backends->count; i++)
        last = MAX(last, backend_last_step_id(backends->members[i]->backend));
    return last;
}

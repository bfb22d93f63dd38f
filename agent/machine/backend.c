/* SPDX-License-Identifier: Apache-2.0
 *
 * backend - see backend.h.
 *
 * The daemon creates the control socket first and the file system socket last.
 * virtiofs accepts a single connection on the latter, so its existence is
 * checked with stat, never with a connection.
 */
#include "agent/machine/backend.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/child.h"
#include "agent/base/child_log.h"
#include "agent/base/install_paths.h"
#include "agent/client/engine_event.h"
#include "agent/machine/backend_notify.h"
#include "common/errors.h"
#include "common/log.h"

enum {
    POLL_MS = 5,
    /* Time for the daemon to close its log and end after QEMU has ended. */
    STOP_MS = 2000,
    TERM_GRACE_MS = 500,
};

struct backend {
    enum backend_kind kind;
    struct child *daemon;
    struct control_link *link;
    struct backend_notify *notify; /* NULL: the guest cannot be told */
    char *fs_socket, *control_socket;
    guint64 share_dev, share_ino; /* as configured */
    gint64 last_step_id;
    gint64 deadline; /* monotonic, us */
    guint poll_timer;
    char *last_error; /* the daemon's last error line, or NULL */
    bool ready, ended, has_undo, used;
    const struct backend_callbacks *callbacks;
    void *opaque;
};

static GError *explain(const struct backend *backend, enum error_code code,
                       const char *text)
{
    const char *last = backend->last_error;

    /* The message of the log's lock (undo_log_open.c) is the whole reason; the
     * daemon's exit status adds nothing. */
    if (last && strstr(last, "is in use by process"))
        return g_error_new(STEPBACK_ERROR, code,
                           "another stepback process uses this folder: %s",
                           last);
    return g_error_new(STEPBACK_ERROR, code, "the file system daemon %s%s%s",
                       text, last ? ": " : "", last ? last : "");
}

/* Report the end to the owner, once. Do not touch the backend after it. */
static void end(struct backend *backend, enum error_code code, const char *text,
                bool clean)
{
    g_autoptr(GError) error = NULL;

    if (backend->ended)
        return;
    backend->ended = true;
    g_clear_handle_id(&backend->poll_timer, g_source_remove);
    error = explain(backend, code, text);
    backend->callbacks->ended(backend, error, clean, backend->opaque);
}

static void on_line(struct child *child, const char *line, void *opaque)
{
    struct backend *backend = opaque;

    child_log_line(backend_kind_program(backend->kind), LOG_FS_BACKEND, line,
                   &backend->last_error);
}

static void on_exited(struct child *child, void *opaque)
{
    struct backend *backend = opaque;
    g_autofree char *text = child_describe_exit(child);

    end(backend, ERROR_BACKEND_FAILED, text, child_exited_cleanly(child));
}

static const struct child_callbacks child_callbacks = {
    .line = on_line,
    .exited = on_exited,
};

static void on_event(struct control_link *link, const char *type,
                     json_t *payload, void *opaque)
{
    struct backend *backend = opaque;

    backend->callbacks->event(backend, type, payload, backend->opaque);
}

/* The process normally ends right after its connection, with the reason. A
 * daemon that does not is unusable. */
static void on_closed(struct control_link *link, void *opaque)
{
    struct backend *backend = opaque;

    child_expect_exit(backend->daemon, STOP_MS, TERM_GRACE_MS);
}

static const struct control_link_callbacks link_callbacks = {
    .event = on_event,
    .closed = on_closed,
};

static void on_status(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct backend *backend = opaque;
    struct engine_status status;

    if (error) {
        log_warn(LOG_CONTROL, "%s", error->message);
        return; /* on_closed() or on_exited() follows */
    }
    status = engine_status_from_json(payload);
    if (backend->share_ino && (status.share_dev != backend->share_dev ||
                               status.share_ino != backend->share_ino)) {
        end(backend, ERROR_BACKEND_FAILED,
            "serves another folder: it was replaced", false);
        return;
    }
    backend->last_step_id = status.last_step_id;
    backend->has_undo = status.has_undo;
    backend->ready = true;
    g_clear_handle_id(&backend->poll_timer, g_source_remove);
    backend->callbacks->ready(backend, backend->opaque);
}

static bool is_socket(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static gboolean poll_sockets(gpointer data)
{
    struct backend *backend = data;

    if (g_get_monotonic_time() > backend->deadline) {
        backend->poll_timer = 0;
        end(backend, ERROR_BACKEND_FAILED, "did not become ready in time",
            false);
        return G_SOURCE_REMOVE;
    }
    if (backend->link || !is_socket(backend->control_socket) ||
        (backend->fs_socket && !is_socket(backend->fs_socket)))
        return G_SOURCE_CONTINUE;
    /* Between bind() and listen() a connection is refused: retry later. */
    backend->link = control_link_connect(backend->control_socket,
                                         &link_callbacks, backend, NULL);
    if (backend->link)
        control_link_request(backend->link, "status", NULL, on_status, backend);
    return G_SOURCE_CONTINUE;
}

/* As in a rootless container: the guest's root maps to the user who started the
 * server, every other id to nobody, and chown(2) to another owner, which only
 * root may do, is ignored. Changes of a group are ignored as well: a file in a
 * set-group-ID folder may have a group that the user cannot restore. */
static void add_id_rules(GPtrArray *argv, const char *option, unsigned own,
                         const char *more)
{
    enum { NOBODY = 65534 };
    const uint64_t ids = (uint64_t)1 << 32;

    g_ptr_array_add(argv, g_strdup_printf("%s=host:%u:0:1", option, own));
    g_ptr_array_add(argv, g_strdup_printf("%s=%s", option, more));
    if (own > 0)
        g_ptr_array_add(argv, g_strdup_printf("%s=squash-host:0:%d:%u", option,
                                              NOBODY, own));
    g_ptr_array_add(argv,
                    g_strdup_printf("%s=squash-host:%u:%d:%" G_GUINT64_FORMAT,
                                    option, own + 1, NOBODY, ids - own - 1));
}

/* In a sandbox that has the user's own ids and no others: each group is shown
 * as the own one, because a file whose group has no number there could not be
 * written to. */
static void add_own_group(GPtrArray *argv)
{
    const uint64_t ids = (uint64_t)1 << 32;
    unsigned own = getegid();

    g_ptr_array_add(argv,
                    g_strdup_printf("--translate-gid=host:%u:%u:1", own, own));
    g_ptr_array_add(argv,
                    g_strdup("--translate-gid=ignore-guest:0:4294967295"));
    if (own > 0)
        g_ptr_array_add(
            argv,
            g_strdup_printf("--translate-gid=squash-host:0:%u:%u", own, own));
    g_ptr_array_add(argv, g_strdup_printf("--translate-gid=squash-host:%u:%u:"
                                          "%" G_GUINT64_FORMAT,
                                          own + 1, own, ids - own - 1));
}

static void add_own_ids(GPtrArray *argv)
{
    g_ptr_array_add(argv,
                    g_strdup_printf("--translate-uid=guest:0:%u:1", geteuid()));
    add_id_rules(argv, "--translate-uid", geteuid(),
                 "ignore-guest:1:4294967295");
    add_id_rules(argv, "--translate-gid", getegid(),
                 "ignore-guest:0:4294967295");
}

static bool has_leases(const struct backend_config *config)
{
    return config->fuse_fd < 0 && config->kind == BACKEND_VIRTIOFS &&
           config->slow_requests;
}

static char **build_argv(const struct backend_config *config, int notify_fd)
{
    const char *const common[] = {
        config->program,        "--shared-dir",         config->shared_dir,
        "--interceptor-socket", config->control_socket, "--log-level",
        config->log_level,
    };
    GPtrArray *argv = g_ptr_array_new();

    for (size_t i = 0; i < G_N_ELEMENTS(common); i++)
        g_ptr_array_add(argv, g_strdup(common[i]));
    if (config->fuse_fd >= 0) {
        g_ptr_array_add(argv,
                        g_strdup_printf("--mount-fd=%d", config->fuse_fd));
    } else {
        g_ptr_array_add(argv, g_strdup("--socket-path"));
        g_ptr_array_add(argv, g_strdup(config->fs_socket));
    }
    if (config->holds_signals)
        g_ptr_array_add(argv, g_strdup("--hold-signals"));
    if (config->fuse_fd < 0 && config->kind == BACKEND_VIRTIOFS)
        g_ptr_array_add(argv, g_strdup(has_leases(config) ? "--cache=lease"
                                                          : "--cache=never"));
    if (notify_fd >= 0)
        g_ptr_array_add(argv, g_strdup_printf("--notify-fd=%d", notify_fd));
    if (config->undo_dir) {
        g_ptr_array_add(argv, g_strdup("--undo-dir"));
        g_ptr_array_add(argv, g_strdup(config->undo_dir));
    }
    if (config->outside_policy == IC_OUTSIDE_WARN)
        g_ptr_array_add(argv, g_strdup("--external-modification-policy=warn"));
    if (config->read_only)
        g_ptr_array_add(argv, g_strdup("--readonly"));
    if (config->allow_suid)
        g_ptr_array_add(argv, g_strdup("--allow-suid"));
    if (config->allow_devices)
        g_ptr_array_add(argv, g_strdup("--allow-devices"));
    if (geteuid() != 0 && config->fuse_fd >= 0)
        add_own_group(argv);
    else if (geteuid() != 0 && !config->host_ids)
        add_own_ids(argv);
    g_ptr_array_add(argv, NULL);
    return (char **)g_ptr_array_free(argv, FALSE);
}

static struct child *spawn(struct backend *backend,
                           const struct backend_config *config, GError **error)
{
    g_autofree char *missing = NULL;
    g_autoptr(GError) cause = NULL;
    g_auto(GStrv) argv = NULL;
    int fds[2] = { config->fuse_fd, backend_notify_peer(backend->notify) };
    size_t n_fds = 0;
    struct child *child;

    if (!config->program) {
        missing = install_paths_describe_missing(
            backend_kind_program(config->kind));
        g_set_error(error, STEPBACK_ERROR, ERROR_BACKEND_FAILED,
                    "file system daemon %s", missing);
        return NULL;
    }
    argv = build_argv(config, fds[1]);
    for (size_t i = 0; i < G_N_ELEMENTS(fds); i++) {
        if (fds[i] >= 0)
            fds[n_fds++] = fds[i];
    }
    child = child_spawn((const char *const *)argv, fds, n_fds, &child_callbacks,
                        backend, &cause);
    backend_notify_close_peer(backend->notify);
    if (!child)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_BACKEND_FAILED,
                            cause->message);
    return child;
}

static void on_refresh(gint64 id, json_t *message, void *opaque)
{
    struct backend *backend = opaque;

    backend->callbacks->refresh(backend, id, message, backend->opaque);
}

struct backend *backend_new(const struct backend_config *config,
                            const struct backend_callbacks *callbacks,
                            void *opaque, GError **error)
{
    struct backend *backend = g_new0(struct backend, 1);

    backend->kind = config->kind;
    backend->callbacks = callbacks;
    backend->opaque = opaque;
    if (config->fuse_fd < 0)
        backend->fs_socket = g_strdup(config->fs_socket);
    backend->share_dev = config->share_dev;
    backend->share_ino = config->share_ino;
    backend->control_socket = g_strdup(config->control_socket);
    backend->deadline = g_get_monotonic_time() +
                        config->timeout_ms * G_TIME_SPAN_MILLISECOND;
    if (has_leases(config))
        backend->notify = backend_notify_new(on_refresh, backend);
    backend->daemon = spawn(backend, config, error);
    if (!backend->daemon) {
        backend_free(backend);
        return NULL;
    }
    backend->poll_timer = g_timeout_add(POLL_MS, poll_sockets, backend);
    return backend;
}

void backend_free(struct backend *backend)
{
    if (!backend)
        return;
    g_clear_handle_id(&backend->poll_timer, g_source_remove);
    control_link_free(backend->link);
    backend_notify_free(backend->notify);
    child_free(backend->daemon);
    g_free(backend->fs_socket);
    g_free(backend->control_socket);
    g_free(backend->last_error);
    g_free(backend);
}

void backend_keep_names(struct backend *backend)
{
    backend_notify_keep(backend->notify);
}

void backend_pause_names(struct backend *backend, bool paused)
{
    backend_notify_pause(backend->notify, paused);
}

bool backend_told_names(struct backend *backend, gint64 id, bool ok)
{
    return backend_notify_told(backend->notify, id, ok);
}

void backend_note_used(struct backend *backend)
{
    backend->used = true;
}

/* The 9P daemon outlives its connections, and the other one waits for its
 * first, so it must be asked to stop. */
void backend_stop(struct backend *backend)
{
    if (backend->kind == BACKEND_9P || !backend->used)
        child_expect_exit(backend->daemon, 0, STOP_MS);
    else
        child_expect_exit(backend->daemon, STOP_MS, TERM_GRACE_MS);
}

void backend_kill(struct backend *backend)
{
    child_kill(backend->daemon);
}

struct control_link *backend_link(struct backend *backend)
{
    return backend->link;
}

bool backend_has_undo(const struct backend *backend)
{
    return backend->has_undo;
}

gint64 backend_last_step_id(struct backend *backend)
{
    return backend->last_step_id;
}

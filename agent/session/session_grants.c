/* SPDX-License-Identifier: Apache-2.0
 *
 * session_grants - see session_grants.h.
 *
 * A path is resolved when it is asked for, and the question shows the result
 * (grant_target.h). The answer narrows it by that fd, and the file server must
 * then serve the folder with that inode.
 */
#include "agent/session/session_grants.h"

#include <string.h>

#include "agent/session/grant_store.h"
#include "agent/session/session_asks.h"
#include "agent/session/session_core.h"
#include "agent/session/session_guard.h"
#include "agent/session/session_share.h"
#include "common/errors.h"
#include "common/log.h"

/* Other requests about the folders come to an end soon. */
enum { RETRY_MS = 10, RETRY_LIMIT_MS = 60000 };

/* A decision that is being carried out. */
struct decision {
    struct session *session;
    char *id;
    struct reply reply;
    struct grant_part part;
    struct folder_grant info;
    bool read_only;
    gint64 deadline; /* monotonic, us */
};

/* ---- requests ------------------------------------------------------------ */

static gboolean check_request(struct session *session,
                              const struct grant_request *request,
                              GError **error)
{
    if (!session_check_running(session, error))
        return FALSE;
    if (!g_path_is_absolute(request->path))
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'path' must be an absolute path of the "
                            "host");
    else if (request->timeout_s > APPROVAL_TIMEOUT_MAX_S)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "the field 'timeout_seconds' must be at most %d",
                    APPROVAL_TIMEOUT_MAX_S);
    else if (request->reason && strlen(request->reason) > APPROVAL_REASON_MAX)
        g_set_error(error, STEPBACK_ERROR, ERROR_TOO_LARGE,
                    "the field 'reason' can have at most %d bytes",
                    APPROVAL_REASON_MAX);
    else
        return TRUE;
    return FALSE;
}

void session_grant_request(struct session *session,
                           const struct grant_request *request, reply_done done,
                           void *opaque)
{
    GError *error = NULL;
    struct approval *approval;

    if (!check_request(session, request, &error)) {
        reply_post_error(done, opaque, error);
        return;
    }
    approval = g_new0(struct approval, 1);
    approval->origin = request->origin;
    approval->exec_id = request->exec_id;
    approval->read_only = request->read_only;
    approval->reason = g_strdup(request->reason ? request->reason : "");
    approval->timeout_s = request->timeout_s ? request->timeout_s
                                             : APPROVAL_TIMEOUT_S;
    approval->reply = (struct reply){ done, opaque };
    grant_target_open(request->path, &approval->target);
    if (!session_approval_add(session, approval, &error))
        reply_post_error(done, opaque, error);
}

const struct approval *session_grant_find(const struct session *session,
                                          const void *opaque)
{
    for (guint i = 0; i < session->approvals->len; i++) {
        const struct approval *approval = g_ptr_array_index(session->approvals,
                                                            i);

        if (approval->reply.done && approval->reply.opaque == opaque)
            return approval;
    }
    return NULL;
}

void session_grant_withdraw(struct session *session, const void *opaque)
{
    for (guint i = session->approvals->len; i-- > 0;) {
        struct approval *approval = g_ptr_array_index(session->approvals, i);

        if (approval->reply.opaque != opaque)
            continue;
        approval->reply = (struct reply){ 0 };
        if (!approval->is_decided)
            session_approval_end(approval, APPROVAL_WITHDRAWN, NULL);
    }
}

void session_grant_withdraw_execution(struct session *session, gint64 exec_id)
{
    for (guint i = session->approvals->len; i-- > 0;) {
        struct approval *approval = g_ptr_array_index(session->approvals, i);

        if (approval->exec_id == exec_id && !approval->is_decided)
            session_approval_end(approval, APPROVAL_WITHDRAWN, NULL);
    }
}

/* ---- decisions ----------------------------------------------------------- */

static void decision_free(struct decision *decision)
{
    g_free(decision->id);
    g_free(decision->part.path);
    g_free(decision->info.reason);
    g_free(decision);
}

/* A grant that cannot be kept is one for this session. */
static void keep(struct session *session, struct session_directory *directory)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;

    if (grant_store_add(session->config, directory, &error))
        return;
    directory->grant->is_kept = false;
    text = g_strdup_printf("the grant of %s is not kept for the next start: %s",
                           directory->path, error->message);
    session_warn_text(session, "grant_not_kept", text);
}

/* Take the decision: it cannot be carried out. The request stays pending. */
static void fail(struct decision *decision, const GError *error)
{
    struct approval *approval = session_approval_find(decision->session,
                                                      decision->id);
    struct reply reply = decision->reply;

    decision_free(decision);
    if (approval) {
        approval->is_decided = false;
        session_approval_hold(approval, false);
    }
    reply_send(&reply, NULL, error);
}

static void on_attached(const struct answer *answer, const GError *error,
                        void *opaque)
{
    struct decision *decision = opaque;
    struct session *session = decision->session;
    struct approval *approval = session_approval_find(session, decision->id);
    struct session_directory *directory;

    if (error || !approval) { /* without one the session has ended */
        fail(decision, error);
        return;
    }
    directory =
        session->config->directories[session->config->n_directories - 1];
    if (decision->info.is_kept)
        keep(session, directory);
    approval->directory = directory;
    session_approval_end(approval, APPROVAL_ALLOWED, &decision->reply);
    decision_free(decision);
}

/* Add the folder as soon as no other request keeps it from that. */
static gboolean try_attach(gpointer data)
{
    struct approval *approval = data;
    struct session *session = approval->session;
    struct decision *decision = approval->decision;
    const struct session_share share = {
        .path = decision->part.path,
        .dev = decision->part.dev,
        .ino = decision->part.ino,
        .read_only = decision->read_only,
        .grant = &decision->info,
    };
    g_autoptr(GError) error = NULL;
    bool ready = session_folder_can_attach(session);

    if (!ready && session_check_running(session, &error) &&
        g_get_monotonic_time() < decision->deadline)
        return G_SOURCE_CONTINUE;
    approval->timer = 0;
    approval->decision = NULL;
    if (!ready && !error)
        error = g_error_new_literal(
            STEPBACK_ERROR, ERROR_BUSY,
            "other requests about the folders run, or a safeguard's question "
            "is pending; decide again later");
    if (ready)
        session_folder_attach(session, &share, on_attached, decision);
    else
        fail(decision, error);
    return G_SOURCE_REMOVE;
}

static gboolean check_access(const struct approval *approval,
                             const struct approval_decision *decision,
                             bool *ret_read_only, GError **error)
{
    *ret_read_only = approval->read_only;
    if (!decision->access)
        return TRUE;
    if (strcmp(decision->access, "read_only") == 0)
        *ret_read_only = true;
    else if (approval->read_only) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "read-only access was asked for; an answer can "
                            "only narrow a request");
        return FALSE;
    }
    return TRUE;
}

static gboolean allow(struct approval *approval,
                      const struct approval_decision *decision, reply_done done,
                      void *opaque, GError **error)
{
    struct decision *work;
    struct grant_part part;
    bool read_only;

    if (!check_access(approval, decision, &read_only, error) ||
        !grant_target_narrow(&approval->target, decision->path, &part, error))
        return FALSE;
    work = g_new0(struct decision, 1);
    *work = (struct decision){
        .session = approval->session,
        .id = g_strdup(approval->id),
        .reply = { done, opaque },
        .part = part,
        .info = {
            .origin = (char *)approval->origin,
            .reason = g_strdup(approval->reason),
            .time = g_get_real_time(),
            .is_kept = decision->is_kept,
        },
        .read_only = read_only,
        .deadline = g_get_monotonic_time() +
                    RETRY_LIMIT_MS * G_TIME_SPAN_MILLISECOND,
    };
    approval->is_decided = true;
    approval->decision = work;
    session_approval_hold(approval, true);
    if (try_attach(approval))
        approval->timer = g_timeout_add(RETRY_MS, try_attach, approval);
    return TRUE;
}

void session_approval_decide(struct session *session,
                             const struct approval_decision *decision,
                             reply_done done, void *opaque)
{
    struct approval *approval = session_approval_find(session, decision->id);
    GError *error = NULL;

    if (!session_check_running(session, &error)) {
    } else if (!approval && session_guard_is_pending(session, decision->id)) {
        session_guard_confirm(session, decision->id, decision->allow, done,
                              opaque);
        return;
    } else if (!approval) {
        error = g_error_new(STEPBACK_ERROR, ERROR_NOT_FOUND,
                            "no request '%.40s' is pending: it was decided, or "
                            "its time is over",
                            decision->id);
    } else if (approval->is_decided) {
        error = g_error_new_literal(STEPBACK_ERROR, ERROR_BUSY,
                                    "the request was decided already");
    } else if (approval->kind == APPROVAL_NETWORK) {
        session_asks_decide(approval, decision, done, opaque);
        return;
    } else if (decision->allow) {
        if (allow(approval, decision, done, opaque, &error))
            return;
    } else {
        session_approval_end(approval, APPROVAL_DENIED,
                             &(struct reply){ done, opaque });
        return;
    }
    reply_post_error(done, opaque, error);
}

/* ---- kept grants --------------------------------------------------------- */

struct grant_restore {
    GPtrArray *grants; /* of struct stored_grant */
    guint next;
};

static void restore_next(struct session *session);
static void clear_restore(struct session *session);

static bool is_shared(const struct session *session, const char *path)
{
    const struct session_config *config = session->config;

    for (unsigned i = 0; i < config->n_directories; i++) {
        if (strcmp(config->directories[i]->path, path) == 0)
            return true;
    }
    return false;
}

static void warn_missing(struct session *session,
                         const struct stored_grant *grant, const char *reason)
{
    g_autofree char *file = grant_store_path(session->config);
    g_autofree char *text = g_strdup_printf(
        "the granted folder %s is missing: %s (kept in %s)", grant->path,
        reason, file);

    session_warn_text(session, "grant_not_restored", text);
}

static void on_restored(const struct answer *answer, const GError *error,
                        void *opaque)
{
    struct session *session = opaque;
    const struct stored_grant *grant;

    if (!session->restore) /* the session has ended */
        return;
    grant = g_ptr_array_index(session->restore->grants,
                              session->restore->next++);
    if (error && session->state == SESSION_RUNNING)
        warn_missing(session, grant, error->message);
    restore_next(session);
}

/* Find the folder. A symlink that has taken its place, or that of a parent, may
 * be a guest's: what it leads to was not granted. */
static gboolean find_folder(const struct stored_grant *grant,
                            struct grant_part *ret_part, GError **error)
{
    struct grant_target target;
    gboolean ok;

    grant_target_open(grant->path, &target);
    ok = strcmp(target.path, grant->path) == 0;
    if (ok)
        ok = grant_target_narrow(&target, NULL, ret_part, error);
    else
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "it is a symbolic link now, which leads to %s",
                    target.path);
    grant_target_clear(&target);
    return ok;
}

static void attach_restored(struct session *session,
                            const struct stored_grant *grant,
                            struct grant_part *part)
{
    const struct session_share share = {
        .path = part->path,
        .dev = part->dev,
        .ino = part->ino,
        .read_only = grant->read_only,
        .grant = grant->info,
    };

    session_folder_attach(session, &share, on_restored, session);
    g_free(part->path);
}

/* Return the next grant whose folder is not shared, or NULL. */
static const struct stored_grant *next_grant(const struct session *session)
{
    struct grant_restore *restore = session->restore;

    for (; session->state == SESSION_RUNNING &&
           restore->next < restore->grants->len;
         restore->next++) {
        const struct stored_grant *grant = g_ptr_array_index(restore->grants,
                                                             restore->next);

        if (!is_shared(session, grant->path))
            return grant;
    }
    return NULL;
}

/* A session that is stopping answers the start at its end. */
static void finish_start(struct session *session)
{
    g_autoptr(GError) error = NULL;

    if (session->state == SESSION_RUNNING)
        reply_send(&session->starter, NULL, NULL);
    else if (session->state == SESSION_BROKEN &&
             !session_check_running(session, &error))
        reply_send(&session->starter, NULL, error);
    session_tell_folders(session);
}

static void restore_next(struct session *session)
{
    const struct stored_grant *grant;
    struct grant_part part;

    while ((grant = next_grant(session))) {
        g_autoptr(GError) error = NULL;

        if (find_folder(grant, &part, &error)) {
            attach_restored(session, grant, &part);
            return;
        }
        warn_missing(session, grant, error->message);
        session->restore->next++;
    }
    clear_restore(session);
    finish_start(session);
}

void session_grants_restore(struct session *session)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *grants = grant_store_load(session->config, &error);

    if (!grants) {
        g_autofree char *text = g_strdup_printf("kept grants are ignored: %s",
                                                error->message);

        session_warn_text(session, "grant_not_restored", text);
        grants = g_ptr_array_new();
    }
    session->restore = g_new0(struct grant_restore, 1);
    session->restore->grants = grants;
    restore_next(session);
}

static void clear_restore(struct session *session)
{
    struct grant_restore *restore = g_steal_pointer(&session->restore);

    if (!restore)
        return;
    g_ptr_array_unref(restore->grants);
    g_free(restore);
}

void session_grants_end(struct session *session)
{
    g_autoptr(GError) error = g_error_new_literal(
        STEPBACK_ERROR, ERROR_CANCELLED, "the session has ended");

    clear_restore(session);
    while (session->approvals->len > 0) {
        struct approval *approval = g_ptr_array_index(session->approvals, 0);

        if (approval->decision)
            fail(g_steal_pointer(&approval->decision), error);
        session_approval_end(approval, APPROVAL_WITHDRAWN, NULL);
    }
}

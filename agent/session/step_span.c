/* SPDX-License-Identifier: Apache-2.0
 *
 * step_span - see step_span.h.
 *
 * A request to a daemon cannot be cancelled, so each pending request holds a
 * reference.
 */
#include "agent/session/step_span.h"

#include <stdbool.h>
#include <string.h>

#include "agent/client/engine_request.h"
#include "agent/client/report_json.h"
#include "agent/client/step_merge.h"
#include "common/errors.h"
#include "common/log.h"

enum {
    /* Retry interval of a step.close that waits for a safeguard's decision. */
    RETRY_MS = 100,
    /* How long late changes may keep a step open after its command ended; less
     * if a prompt waits for it. */
    LATE_MS = 2000,
    LATE_PROMPT_MS = 100,
};

struct step_span {
    int refs;
    struct step_logs logs;
    gint64 ids[SESSION_MAX_DIRECTORIES]; /* of the step in each log */
    bool open[SESSION_MAX_DIRECTORIES];
    bool denied[SESSION_MAX_DIRECTORIES]; /* a safeguard denied the step in this
                                             log */
    bool any_denied;

    int exit_code;
    enum step_rest rest;
    unsigned waiting; /* pending answers */
    struct step_report *reports[SESSION_MAX_DIRECTORIES];
    GError *error; /* the first one */
    bool closing;
    step_span_done done;
    void *opaque;
};

/* One log's part of a request. */
struct part {
    struct step_span *span;
    unsigned index;
};

static void span_unref(struct step_span *span)
{
    if (--span->refs > 0)
        return;
    for (unsigned i = 0; i < SESSION_MAX_DIRECTORIES; i++) {
        if (span->reports[i])
            step_report_unref(span->reports[i]);
    }
    g_clear_error(&span->error);
    g_free(span);
}

struct step_span *step_span_new(gint64 step_id, const struct step_logs *logs)
{
    struct step_span *span = g_new0(struct step_span, 1);

    span->refs = 1;
    span->logs = *logs;
    for (unsigned i = 0; i < logs->count; i++)
        span->ids[i] = step_id;
    return span;
}

void step_span_free(struct step_span *span)
{
    if (!span)
        return;
    span->done = NULL;
    span_unref(span);
}

static void finish(struct step_span *span)
{
    step_span_done done = span->done;
    g_autoptr(GPtrArray) parts = g_ptr_array_new();
    struct step_report *report = NULL;

    span->done = NULL;
    for (unsigned i = 0; i < span->logs.count; i++) {
        if (span->reports[i])
            g_ptr_array_add(parts, span->reports[i]);
    }
    if (!span->error && parts->len > 0)
        report = step_merge_reports(parts);
    if (done)
        done(report, span->error, span->opaque);
    if (report)
        step_report_unref(report);
}

static void ask(struct step_span *span, unsigned index, const char *type,
                json_t *payload, control_link_done done)
{
    struct part *part = g_new(struct part, 1);

    part->span = span;
    part->index = index;
    span->refs++;
    span->waiting++;
    control_link_request(span->logs.links[index], type, payload, done, part);
}

/* Without logs, the answer still comes from the main loop. */
static gboolean finish_plain(gpointer data)
{
    struct step_span *span = data;

    finish(span);
    span_unref(span);
    return G_SOURCE_REMOVE;
}

static void expect(struct step_span *span, step_span_done done, void *opaque)
{
    span->done = done;
    span->opaque = opaque;
    if (span->logs.count > 0)
        return;
    span->refs++;
    g_idle_add(finish_plain, span);
}

static void keep_error(struct step_span *span, const GError *error)
{
    if (!span->error)
        span->error = g_error_copy(error);
}

/* ---- open ---------------------------------------------------------------- */

static void on_closed_again(json_t *payload, const GError *error, json_t *data,
                            void *opaque)
{
    struct part *part = opaque;
    struct step_span *span = part->span;

    if (error)
        log_warn(LOG_UNDO, "cannot close a step that did not begin: %s",
                 error->message);
    if (--span->waiting == 0)
        finish(span);
    span_unref(span);
    g_free(part);
}

/* The step is open in only some of the logs. No command has run in it. */
static void close_again(struct step_span *span)
{
    span->closing = true;
    for (unsigned i = 0; i < span->logs.count; i++) {
        if (span->open[i])
            ask(span, i, "step.close",
                engine_request_step_close_unused(span->ids[i]),
                on_closed_again);
    }
    if (span->waiting == 0)
        finish(span);
}

static void on_opened(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct part *part = opaque;
    struct step_span *span = part->span;

    span->open[part->index] = error == NULL;
    if (error)
        keep_error(span, error);
    if (--span->waiting == 0) {
        if (span->error)
            close_again(span);
        else
            finish(span);
    }
    span_unref(span);
    g_free(part);
}

void step_span_open(struct step_span *span, const char *command,
                    step_span_done done, void *opaque)
{
    expect(span, done, opaque);
    for (unsigned i = 0; i < span->logs.count; i++)
        ask(span, i, "step.open",
            engine_request_step_open(span->ids[i], command), on_opened);
}

/* ---- join ---------------------------------------------------------------- */

struct join {
    struct step_span *span;
    struct control_link *link;
    step_span_joined done;
    void *opaque;
};

/* Only the last log can be one that is joining. */
static void leave(struct step_span *span, const struct control_link *link)
{
    unsigned last = span->logs.count - 1;

    if (span->logs.links[last] == link && !span->closing)
        span->logs.count = last;
}

static void on_joined(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    g_autofree struct join *join = opaque;
    struct step_span *span = join->span;

    if (error)
        leave(span, join->link);
    join->done(error, join->opaque);
    span_unref(span);
}

static bool has_log(const struct step_span *span,
                    const struct control_link *link)
{
    for (unsigned i = 0; i < span->logs.count; i++) {
        if (span->logs.links[i] == link)
            return true;
    }
    return false;
}

/* A close that follows at once reaches the engine after the open. */
bool step_span_join(struct step_span *span, gint64 step_id, const char *command,
                    struct control_link *link, const char *label,
                    step_span_joined done, void *opaque)
{
    unsigned index = span->logs.count;
    struct join *join;

    if (span->closing || has_log(span, link) ||
        index == SESSION_MAX_DIRECTORIES)
        return false;
    span->logs.links[index] = link;
    span->logs.labels[index] = label;
    span->ids[index] = step_id;
    span->logs.count++;
    span->open[index] = true;
    join = g_new(struct join, 1);
    *join = (struct join){ span, link, done, opaque };
    span->refs++;
    control_link_request(link, "step.open",
                         engine_request_step_open(step_id, command), on_joined,
                         join);
    return true;
}

/* ---- close --------------------------------------------------------------- */

static void close_one(struct step_span *span, unsigned index);

static gboolean close_later(gpointer data)
{
    struct part *part = data;
    struct step_span *span = part->span;

    span->waiting--;
    if (span->done)
        close_one(span, part->index);
    span_unref(span);
    g_free(part);
    return G_SOURCE_REMOVE;
}

/* A log that the step has not changed answers without a report. */
static void keep_report(struct step_span *span, unsigned index, json_t *payload)
{
    struct step_report *report = report_from_json(payload,
                                                  span->logs.labels[index]);

    if (report->step_id)
        span->reports[index] = report;
    else
        step_report_unref(report);
}

static void on_closed(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct part *part = opaque;
    struct step_span *span = part->span;

    /* A process that still wrote after the command's end has triggered a
     * safeguard. */
    if (error && error_code_of(error) == ERROR_BUSY && span->done) {
        g_timeout_add(RETRY_MS, close_later, part);
        return;
    }
    if (error)
        keep_error(span, error);
    else
        keep_report(span, part->index, payload);
    if (--span->waiting == 0)
        finish(span);
    span_unref(span);
    g_free(part);
}

static void close_one(struct step_span *span, unsigned index)
{
    if (span->any_denied && !span->denied[index])
        ask(span, index, "step.abort",
            engine_request_step_abort(span->ids[index]), on_closed);
    else
        ask(span, index, "step.close",
            engine_request_step_close(
                span->ids[index], span->exit_code,
                span->rest == STEP_BACKGROUND ? LATE_PROMPT_MS : LATE_MS,
                span->rest == STEP_ALONE),
            on_closed);
}

void step_span_close(struct step_span *span, int exit_code, enum step_rest rest,
                     step_span_done done, void *opaque)
{
    span->closing = true;
    span->exit_code = exit_code;
    span->rest = rest;
    expect(span, done, opaque);
    for (unsigned i = 0; i < span->logs.count; i++)
        close_one(span, i);
}

bool step_span_has(const struct step_span *span, gint64 step_id)
{
    for (unsigned i = 0; i < span->logs.count; i++) {
        if (span->ids[i] == step_id)
            return true;
    }
    return false;
}

void step_span_deny(struct step_span *span, struct control_link *where)
{
    span->any_denied = true;
    for (unsigned i = 0; i < span->logs.count; i++)
        span->denied[i] = span->denied[i] || span->logs.links[i] == where;
}

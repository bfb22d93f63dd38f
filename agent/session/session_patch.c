/* SPDX-License-Identifier: Apache-2.0
 *
 * session_patch - see session.h: a step's diff as a patch.
 *
 * diff(1) may compare two files of 2 MiB for many seconds, and a guest chooses
 * the files. So a thread of its own makes the patch, and the session makes one
 * at a time: "patches" is a queue, whose head is in work.
 *
 * Threads: all on the main thread, but make_patch(). Between its start and its
 * end the job's diff, answer and error belong to that thread.
 */
#include "agent/session/session_patch.h"

#include "agent/session/session.h"

struct patch_job {
    struct session *session; /* NULL: abandoned; no caller waits */
    struct reply reply;
    bool started;

    struct folder_ref directory;
    char *folder; /* its label */
    struct patch_request request;
    char **paths;

    GThread *thread;
    struct json_t *diff; /* the engine's answer; never changed, because other
                            references exist */
    struct step_patch *patch;
    GError *error;
};

static void job_free(struct patch_job *job)
{
    g_free(job->folder);
    g_strfreev(job->paths);
    relayed_unref(job->diff);
    step_patch_free(job->patch);
    g_clear_error(&job->error);
    g_free(job);
}

/* ---- the queue ----------------------------------------------------------- */

static void on_diff(const struct answer *answer, const GError *error,
                    void *opaque);

static void start_next(struct session *session)
{
    struct patch_job *job = g_queue_peek_head(&session->patches);

    if (!job || job->started)
        return;
    job->started = true;
    session_diff(session, job->directory, job->request.step, job->request.first,
                 on_diff, job);
}

static void finish(struct patch_job *job, const GError *error)
{
    const struct answer answer = { .patch = job->patch };
    struct session *session = job->session;

    if (session) {
        g_queue_pop_head(&session->patches);
        reply_send(&job->reply, error ? NULL : &answer, error);
        start_next(session);
    }
    job_free(job);
}

void session_patch(struct session *session, struct folder_ref directory,
                   const struct patch_request *request, reply_done done,
                   void *opaque)
{
    struct patch_job *job = g_new0(struct patch_job, 1);

    job->session = session;
    job->reply = (struct reply){ done, opaque };
    job->directory = directory;
    job->directory.name = job->folder = g_strdup(directory.name);
    job->request = *request;
    job->request.paths = job->paths = g_strdupv((char **)request->paths);
    g_queue_push_tail(&session->patches, job);
    start_next(session);
}

void session_patch_abandon(struct session *session, const GError *error)
{
    struct patch_job *job;

    while ((job = g_queue_pop_head(&session->patches))) {
        job->session = NULL;
        reply_send(&job->reply, NULL, error);
        if (!job->started)
            job_free(job);
    }
}

/* ---- the patch ----------------------------------------------------------- */

static gboolean on_made(gpointer data)
{
    struct patch_job *job = data;

    g_thread_join(job->thread);
    finish(job, job->error);
    return G_SOURCE_REMOVE;
}

static gpointer make_patch(gpointer data)
{
    struct patch_job *job = data;

    job->patch = step_patch_make(job->diff, &job->request, &job->error);
    g_idle_add_full(G_PRIORITY_DEFAULT, on_made, job, NULL);
    return NULL;
}

static void on_diff(const struct answer *answer, const GError *error,
                    void *opaque)
{
    struct patch_job *job = opaque;

    if (error || !job->session) {
        finish(job, error);
        return;
    }
    job->diff = relayed_ref(answer->relayed);
    job->thread = g_thread_new("patch", make_patch, job);
}

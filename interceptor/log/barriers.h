/* SPDX-License-Identifier: Apache-2.0
 *
 * barriers - outside edits as records and as text.
 *
 * A barrier says that another process has changed the share. It lies between
 * steps: steps with a smaller seq came before it, or were open when it was
 * noticed. It blocks the undo of each of these that it overlaps (overlap.h). To
 * roll back such a step crosses the barrier, which needs force; the barrier is
 * then removed with the step.
 *
 * In the undo log's history.jsonl:
 *     {"t":"barrier","seq":8,"us":T,"paths":["a",...],"more":N,"pid":123,
 *      "process":"vim"}
 *     {"t":"crossed","seq":7,"kept":[9]}
 *                                barriers above seq 7 no longer count, except
 *                                these
 * A path that is not UTF-8 is {"path":"...","encoding":"base64"}.
 */
#ifndef INTERCEPTOR_LOG_BARRIERS_H
#define INTERCEPTOR_LOG_BARRIERS_H

#include <jansson.h>

#include "interceptor/interceptor.h"

enum {
    BARRIER_MAX_PATHS = 100,      /* paths of one barrier; further ones are only
                                   * counted */
    BARRIER_MAX_BYTES = 64 << 10, /* total bytes of its paths */
    BARRIERS_MAX = 1000,          /* barriers that are kept */
};

struct ic_barrier *barrier_new(int64_t us, bool watched);
struct ic_barrier *barrier_copy(const struct ic_barrier *barrier);
bool barrier_has_path(const struct ic_barrier *barrier, const char *path);
void barrier_add_path(struct ic_barrier *barrier, const char *path);

/* Add the paths of another barrier. */
void barrier_add_all(struct ic_barrier *barrier,
                     const struct ic_barrier *other);

/* Return a new array that owns its barriers. */
GPtrArray *barriers_new(void);

json_t *barrier_to_record(const struct ic_barrier *barrier);

/* Apply a history record, "barrier" or "crossed", to the array. */
void barriers_read(GPtrArray *barriers, json_t *record);

/* Drop the barriers with a greater seq, except those in kept: a JSON array of
 * seqs, or NULL. */
void barriers_cross(GPtrArray *barriers, int64_t seq, json_t *kept);

/* Add a barrier (ownership taken). If there are too many, drop the oldest; the
 * next one then represents it, too, and counts as one with unknown paths. */
void barriers_add(GPtrArray *barriers, struct ic_barrier *barrier);

/* Return the barrier as the control protocol has it:
 * {"type":"barrier","timestamp","paths","more","pid","process","watched",
 * "after_step"}. pid and process are null if unknown. */
json_t *barrier_to_json(const struct ic_barrier *barrier);
json_t *barriers_to_json(GPtrArray *barriers);

/* Return the paths of all barriers, each once, as a new JSON array. */
json_t *barriers_paths(GPtrArray *barriers);

/* Return "a, b and 3 more, by vim (process 123)". A new string, valid UTF-8. */
char *barrier_describe(const struct ic_barrier *barrier);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * barriers - edits from outside, as notes and as words.
 *
 * A barrier says that somebody else has changed the share. It lies between
 * steps: those with a lesser seq came before it, or were open when it was
 * noticed. It is in the way of those of them with which it overlaps
 * (overlap.h). Taking such a step back crosses it, which needs force; then it
 * is gone, with the step.
 *
 * In the undo log's history.jsonl:
 *     {"t":"barrier","seq":8,"us":T,"paths":["a",...],"more":N,"pid":123,
 *      "process":"vim"}
 *     {"t":"crossed","seq":7,"kept":[9]}
 *                                those above seq 7 do not count any more, but
 *                                for these
 * A path that is not UTF-8 is {"path":"...","encoding":"base64"}.
 */
#ifndef INTERCEPTOR_LOG_BARRIERS_H
#define INTERCEPTOR_LOG_BARRIERS_H

#include <jansson.h>

#include "interceptor/interceptor.h"

enum {
    BARRIER_MAX_PATHS = 100,      /* of one barrier; others are counted */
    BARRIER_MAX_BYTES = 64 << 10, /* of its paths */
    BARRIERS_MAX = 1000,          /* that are kept */
};

struct ic_barrier *barrier_new(int64_t us, bool watched);
struct ic_barrier *barrier_copy(const struct ic_barrier *barrier);
bool barrier_has_path(const struct ic_barrier *barrier, const char *path);
void barrier_add_path(struct ic_barrier *barrier, const char *path);

/* The paths of another one, too. */
void barrier_add_all(struct ic_barrier *barrier,
                     const struct ic_barrier *other);

/* A new array that owns its barriers. */
GPtrArray *barriers_new(void);

json_t *barrier_to_record(const struct ic_barrier *barrier);

/* A record of the history, "barrier" or "crossed", into the array. */
void barriers_read(GPtrArray *barriers, json_t *record);

/* Drop those with a greater seq, but for those in kept: a JSON array of seqs,
 * or NULL. */
void barriers_cross(GPtrArray *barriers, int64_t seq, json_t *kept);

/* Add a barrier (taken). If there are too many the oldest goes; the next one
 * then stands for it, too, as one whose paths are not all known. */
void barriers_add(GPtrArray *barriers, struct ic_barrier *barrier);

/* For the control protocol: {"type":"barrier","timestamp","paths","more",
 * "pid","process","watched","after_step"}. pid and process are null if they
 * are not known. */
json_t *barrier_to_json(const struct ic_barrier *barrier);
json_t *barriers_to_json(GPtrArray *barriers);

/* The paths of all of them, each once. A new JSON array. */
json_t *barriers_paths(GPtrArray *barriers);

/* "a, b and 3 more, by vim (process 123)". A new string, valid UTF-8. */
char *barrier_describe(const struct ic_barrier *barrier);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * writers - the processes of the client that make a step's changes, and the
 * executions to which they belong.
 *
 * A server names the process of each request (ic_set_writer()). Only the guest
 * knows to which execution a process belongs, and only for a short time: so the
 * engine asks a client of the control socket as soon as a process makes its
 * first change (event.writers). Until the answer arrives, further processes are
 * collected, so one question at a time is open. All of this is in memory; the
 * step's end record gets the executions (report.h).
 *
 * A number is asked for again after WRITERS_TRUST_MS: the guest may have given
 * it to another process.
 *
 * Threads: any. lock is a leaf; events are sent with it held.
 */
#ifndef INTERCEPTOR_LOG_WRITERS_H
#define INTERCEPTOR_LOG_WRITERS_H

#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "interceptor/interceptor.h"

struct events;

enum {
    WRITERS_TRUST_MS = 4096,
    WRITERS_ASKED = 256,    /* processes in one question */
    WRITERS_MAX = 1 << 16,  /* of one step; those beyond are unknown */
    WRITERS_TIMEOUT = 1000, /* ms after which a question counts as lost */
};

/* Whose changes a name or an inode got in a step: numbers of a table, 0: none.
 * The first one was first. */
struct writer_set {
    uint32_t list[IC_MAX_BY];
};

struct writers;

struct writers *writers_new(struct events *events);
void writers_free(struct writers *writers);

/* Ask from now on. Before that no process is noted. */
void writers_follow(struct writers *writers);
bool writers_are_followed(const struct writers *writers);

/* A step begins, and all sets of former steps become invalid. Returns the
 * number of the table that its sets refer to. */
uint64_t writers_begin(struct writers *writers);

/* Add a process to a set. pid 0: an unknown one; or IC_WRITER_HOST. */
void writers_note(struct writers *writers, struct writer_set *set, int64_t pid,
                  int64_t now_ms);

/* The answer: this process belongs to this execution; 0: to none that is known.
 * Processes that were not asked for are ignored. */
void writers_name(struct writers *writers, uint32_t pid, int64_t execution);

/* The question is answered. */
void writers_end_answer(struct writers *writers, int64_t now_ms);

/* Wait for the answers, at most so long. */
void writers_wait(struct writers *writers, unsigned ms);

/* Add the executions of a set to by[], which has *inout_n of IC_MAX_BY (see
 * struct ic_change). table: from writers_begin(). Returns false if the set is
 * empty or of another table. */
bool writers_read(struct writers *writers, uint64_t table,
                  const struct writer_set *set, int64_t *by, unsigned *inout_n);

#endif

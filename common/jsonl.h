/* SPDX-License-Identifier: Apache-2.0
 *
 * jsonl - JSON Lines over file descriptors.
 *
 * A jsonl_channel joins a readable and a writable fd (the same one for a
 * socket) to a GMainContext. Complete lines arrive in a callback; messages
 * are queued and written when the peer takes them, so that a peer that stops
 * reading never stops the program.
 *
 * Bounds. A line longer than max_line is not stored: its rest is discarded as
 * it comes and the callback gets JSONL_TOO_LONG once; as soon as the member
 * that tells whose line it is has gone by, else at its end. Of the queue,
 * droppable messages (events that stream output) are dropped and counted once
 * max_queue bytes wait; others are always queued, so their number must be
 * bounded by the protocol (one response for each request), and no line is
 * delivered while the queue is over max_queue.
 *
 * Threads: a channel belongs to the thread that runs its GMainContext.
 */
#ifndef COMMON_JSONL_H
#define COMMON_JSONL_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jsonl_status {
    JSONL_OK,        /* message is set */
    JSONL_MALFORMED, /* not a JSON object, or none that is taken */
    JSONL_TOO_LONG,  /* longer than max_line */
};

struct jsonl_channel;

struct jsonl_callbacks {
    /* A line came. message (borrowed) is an object if status is JSONL_OK,
     * or any value with takes_any;
     * error (borrowed) says what is wrong with it otherwise, and message is the
     * string or integer id_member of it, as far as it could be told, or NULL.
     */
    void (*line)(struct jsonl_channel *channel, enum jsonl_status status,
                 json_t *message, const char *error, void *opaque);
    /* The peer closed or an error broke the channel: called once, after which
     * nothing is read, nor written; but if the input alone has ended and the
     * output has a fd of its own, what is sent still goes out. It may free
     * the channel. */
    void (*closed)(struct jsonl_channel *channel, void *opaque);
    /* The peer sends no more, but reads: it has shut down its half of a socket,
     * or closed its end of the pipe that is in_fd, but not that of out_fd.
     * Called once, when all that it had sent was delivered, of which the last
     * line may lack its newline. What is sent still goes out; closed is called
     * after jsonl_channel_finish(), or when the peer is gone. It may free the
     * channel. NULL: such a peer counts as closed. */
    void (*ended)(struct jsonl_channel *channel, void *opaque);
    /* A line may be any JSON value: it comes as JSONL_OK. */
    bool takes_any;
    /* The member to look for in a line that is not taken; NULL: none. */
    const char *id_member;
};

/* A channel on the thread-default main context. Takes both fds (in_fd may
 * equal out_fd) and makes them non-blocking. */
struct jsonl_channel *jsonl_channel_new(int in_fd, int out_fd, size_t max_line,
                                        size_t max_queue,
                                        const struct jsonl_callbacks *callbacks,
                                        void *opaque);

/* Close the fds and free it; queued messages are lost. NULL is allowed. Safe
 * inside its own callbacks. */
void jsonl_channel_free(struct jsonl_channel *channel);

/* Queue a message (taken). False if it was dropped (droppable and the queue
 * is full, or the channel is closed). */
bool jsonl_channel_send(struct jsonl_channel *channel, json_t *message,
                        bool droppable);

/* To a peer that has ended nothing more will be sent: call "closed" when what
 * is queued is out, from the main loop. */
void jsonl_channel_finish(struct jsonl_channel *channel);

/* Write what is queued, blocking at most this long. True if all is out. */
bool jsonl_channel_flush(struct jsonl_channel *channel, int timeout_ms);

/* Droppable messages dropped since the last call. */
uint64_t jsonl_channel_take_dropped(struct jsonl_channel *channel);

#endif

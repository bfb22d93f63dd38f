/* SPDX-License-Identifier: Apache-2.0
 *
 * jsonl - JSON Lines over file descriptors.
 *
 * A jsonl_channel attaches a readable and a writable fd (the same one for a
 * socket) to a GMainContext. Complete lines are passed to a callback; messages
 * are queued and written as the peer reads them, so that a peer that stops
 * reading never blocks the program.
 *
 * Bounds: a line longer than max_line is not stored; its rest is discarded and
 * the callback gets JSONL_TOO_LONG once, as soon as the id member has been
 * parsed, or else at the line's end. Droppable messages (events that stream
 * output) are dropped once max_queue bytes wait; others are always
 * queued, so the protocol must bound their number (one response for each
 * request), and no line is delivered while the queue exceeds max_queue.
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
    JSONL_MALFORMED, /* not a JSON object, or rejected */
    JSONL_TOO_LONG,  /* longer than max_line */
};

struct jsonl_channel;

/* See jsonl_callbacks.drained; bytes. */
#define JSONL_LOW (64 * 1024)

struct jsonl_callbacks {
    /* A line was received. With JSONL_OK, message (borrowed) is an object, or
     * any value with takes_any. Otherwise error (borrowed) describes the
     * problem, and message is the line's id_member if it was found, a string or
     * integer, or NULL.
     */
    void (*line)(struct jsonl_channel *channel, enum jsonl_status status,
                 json_t *message, const char *error, void *opaque);
    /* The peer closed or an error broke the channel: called once; afterwards
     * nothing is read or written. But if only the input has ended and the
     * output has a separate fd, queued messages are still written. The callback
     * may free the channel. */
    void (*closed)(struct jsonl_channel *channel, void *opaque);
    /* The peer stopped sending but still reads: it shut down that direction of
     * a socket, or closed its end of in_fd's pipe, but not that of out_fd.
     * Called once, after everything received was delivered; the last line may
     * lack its newline. Queued messages are still written; closed is called
     * after jsonl_channel_finish(), or when the peer is gone. The callback may
     * free the channel. NULL: such a peer counts as closed. */
    void (*ended)(struct jsonl_channel *channel, void *opaque);
    /* After a wait, the queue has drained to at most JSONL_LOW bytes. The
     * callback may free the channel, and send messages. May be NULL. */
    void (*drained)(struct jsonl_channel *channel, void *opaque);
    /* Accept any JSON value as a line, with JSONL_OK. */
    bool takes_any;
    /* The member to search for in a rejected line; NULL: none. */
    const char *id_member;
};

/* Create a channel on the thread-default main context. Takes both fds (in_fd
 * may equal out_fd) and makes them non-blocking. */
struct jsonl_channel *jsonl_channel_new(int in_fd, int out_fd, size_t max_line,
                                        size_t max_queue,
                                        const struct jsonl_callbacks *callbacks,
                                        void *opaque);

/* Close the fds and free the channel; queued messages are lost. NULL is
 * allowed. Safe inside its own callbacks. */
void jsonl_channel_free(struct jsonl_channel *channel);

/* Queue a message (taken). Return false if it was dropped: it is droppable and
 * the queue is full, or the channel is closed. */
bool jsonl_channel_send(struct jsonl_channel *channel, json_t *message,
                        bool droppable);

/* Return how many bytes are queued: sent by the program, and not yet read by
 * the peer or buffered in the kernel. */
size_t jsonl_channel_queued(const struct jsonl_channel *channel);

/* Stop reading from the peer, or go on. Lines that were received before are
 * still delivered. */
void jsonl_channel_hold(struct jsonl_channel *channel, bool hold);

/* Declare that no more messages will be sent to a peer that has ended: "closed"
 * is called from the main loop when the queue is empty. */
void jsonl_channel_finish(struct jsonl_channel *channel);

/* Write the queue, blocking at most this long. Return true if it is empty. */
bool jsonl_channel_flush(struct jsonl_channel *channel, int timeout_ms);

#endif

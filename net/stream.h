/* SPDX-License-Identifier: Apache-2.0
 *
 * stream - Ethernet frames to and from QEMU (-netdev stream).
 *
 *     0        4
 *     +--------+-------------------+
 *     | length | frame ...         |   length: big-endian
 *     +--------+-------------------+
 *
 * Both directions have a buffer of fixed size. A guest that does not take what
 * is for it must not be read from, either, once stream_is_full(): else answers
 * pile up; what is still sent then is dropped.
 *
 * The fd must be non-blocking.
 */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;

/* A frame; data is borrowed and may be written to. */
typedef void (*stream_frame)(uint8_t *data, size_t length, void *opaque);

/* Takes fd. */
struct stream *stream_new(int fd, stream_frame on_frame, void *opaque);
void stream_free(struct stream *stream);

int stream_fd(const struct stream *stream);

/* Read once and deliver whole frames. 0 or -errno; -EPIPE: QEMU has ended;
 * -EPROTO: what it sends are no frames. A frame that is too long for Ethernet
 * is skipped. */
int stream_read(struct stream *stream);

/* Queue a frame. False if there was no room. */
bool stream_send(struct stream *stream, const uint8_t *data, size_t length);

/* Write what is queued, as far as it is taken. 0 or -errno. */
int stream_flush(struct stream *stream);

bool stream_has_output(const struct stream *stream);
bool stream_is_full(const struct stream *stream);

#endif

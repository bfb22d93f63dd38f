/* SPDX-License-Identifier: Apache-2.0
 *
 * stream - Ethernet frames to and from QEMU (-netdev stream).
 *
 *     0        4
 *     +--------+-------------------+
 *     | length | frame ...         |   length: big-endian
 *     +--------+-------------------+
 *
 * Both directions have a buffer of fixed size. Once stream_is_full(), the
 * caller must stop reading from the guest, which does not receive its own
 * frames: otherwise replies accumulate; frames that are sent nevertheless are
 * dropped.
 *
 * A tap device may be in QEMU's place: each read(2) and write(2) is a frame,
 * without a length.
 *
 * The fd must be non-blocking.
 */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;

/* Called with a frame; data is borrowed and may be modified. */
typedef void (*stream_frame)(uint8_t *data, size_t length, void *opaque);

/* Takes fd. */
struct stream *stream_new(int fd, stream_frame on_frame, void *opaque);
void stream_free(struct stream *stream);

int stream_fd(const struct stream *stream);

/* Read once and deliver complete frames. Return 0 or -errno; -EPIPE: QEMU has
 * exited, or the tap device is gone; -EPROTO: the stream is malformed. A frame
 * of more than FRAME_LINK_MAX bytes is skipped. */
int stream_read(struct stream *stream);

/* Queue a frame. Return false if there was no room. */
bool stream_send(struct stream *stream, const uint8_t *data, size_t length);

/* Write queued frames, as far as QEMU accepts them. Return 0 or -errno. */
int stream_flush(struct stream *stream);

bool stream_has_output(const struct stream *stream);
bool stream_is_full(const struct stream *stream);

#endif

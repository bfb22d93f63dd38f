/* SPDX-License-Identifier: Apache-2.0
 *
 * json_writer - write one flat JSON object into a fixed buffer.
 *
 * All messages from the guest are flat, so nesting is not supported. After a
 * write that does not fit, nothing more is written and json_writer_end()
 * returns false. All text must be UTF-8 without NUL.
 */
#ifndef SHIM_JSON_WRITER_H
#define SHIM_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_writer {
    char *buf;
    size_t size;
    size_t len;
    bool overflow;
};

/* Maximum size of a string or base64 member of len bytes, without its key:
 * every byte may become \u00XX. */
#define JSON_WRITER_WORST(len) (6 * (len) + 4)

/* Start an object in buf (borrowed until json_writer_end()). */
void json_writer_begin(struct json_writer *writer, char *buf, size_t size);

void json_writer_add_string(struct json_writer *writer, const char *key,
                            const char *text);
void json_writer_add_text(struct json_writer *writer, const char *key,
                          const void *text, size_t len);
void json_writer_add_base64(struct json_writer *writer, const char *key,
                            const void *data, size_t len);
void json_writer_add_bool(struct json_writer *writer, const char *key,
                          bool value);
void json_writer_add_integer(struct json_writer *writer, const char *key,
                             int64_t value);

/* Close the object. Return true if it is complete in buf[0..len). */
bool json_writer_end(struct json_writer *writer);

#endif

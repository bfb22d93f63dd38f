/* SPDX-License-Identifier: Apache-2.0
 *
 * json_writer - write one flat JSON object as a line into a fixed buffer.
 *
 *     json_writer_begin(&writer, room, sizeof(room));
 *     json_writer_string(&writer, "type", "hello");
 *     json_writer_integer(&writer, "version", 1);
 *     length = json_writer_end(&writer);
 *
 * What does not fit is not written past the end; json_writer_end() then
 * returns 0. Names must need no escapes.
 */
#ifndef SHIM_JSON_WRITER_H
#define SHIM_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A byte takes at most this much room in a string ("\u001f"). */
enum { JSON_WRITER_EXPANSION = 6 };

struct json_writer {
    char *start, *at, *end;
    bool overflow;
};

void json_writer_begin(struct json_writer *writer, char *room, size_t size);

/* The object's end and a newline; bytes written, or 0 if it did not fit. */
size_t json_writer_end(struct json_writer *writer);

void json_writer_integer(struct json_writer *writer, const char *name,
                         int64_t value);

/* value may be any bytes; what is not UTF-8 becomes '?'. */
void json_writer_string(struct json_writer *writer, const char *name,
                        const char *value);

/* text must be UTF-8. */
void json_writer_text(struct json_writer *writer, const char *name,
                      const char *text, size_t length);

void json_writer_base64(struct json_writer *writer, const char *name,
                        const char *bytes, size_t length);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * fs_json - see fs_json.h.
 */
#include "agent/wire/fs_json.h"

#include <string.h>

#include "common/json_bytes.h"

static json_t *time_value(const struct timespec *time)
{
    g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(time->tv_sec);
    g_autofree char *seconds = when ? g_date_time_format(when,
                                                         "%Y-%m-%dT%H:%M:%S")
                                    : NULL;

    return seconds ? json_sprintf("%s.%06ldZ", seconds, time->tv_nsec / 1000)
                   : json_null();
}

static json_t *entry_to_json(const struct fs_entry *entry)
{
    const struct stat *st = &entry->st;
    json_t *object = json_pack(
        "{s:s, s:I, s:i, s:o}", "type", fs_type_name(st->st_mode), "size",
        (json_int_t)st->st_size, "mode", (int)(st->st_mode & 07777), "mtime",
        time_value(&st->st_mtim));

    json_bytes_set(object, "name", entry->name, strlen(entry->name));
    return object;
}

json_t *fs_listing_to_json(const struct fs_listing *listing, const char *path)
{
    json_t *entries = json_array();

    for (guint i = 0; i < listing->entries->len; i++)
        json_array_append_new(
            entries, entry_to_json(
                         &g_array_index(listing->entries, struct fs_entry, i)));
    return json_pack("{s:s, s:o, s:b}", "path", path, "entries", entries,
                     "truncated", listing->truncated);
}

json_t *fs_content_to_json(const struct fs_content *content, const char *path)
{
    json_t *object = json_pack("{s:s, s:I, s:I, s:I}", "path", path, "offset",
                               (json_int_t)content->offset, "length",
                               (json_int_t)content->length, "size",
                               (json_int_t)content->size);

    if (json_bytes_has_many_escapes(content->data, content->length))
        json_bytes_force_base64(object);
    json_bytes_set(object, "data", content->data, content->length);
    return object;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * directory_json - see directory_json.h.
 */
#include "agent/wire/directory_json.h"

json_t *directory_path_to_json(const char *path)
{
    json_t *value = path ? json_string(path) : NULL;

    return value ? value : json_null();
}

json_t *time_to_json(gint64 us)
{
    g_autoptr(GDateTime)
        date = g_date_time_new_from_unix_utc(us / G_USEC_PER_SEC);
    g_autofree char *text = date ? g_date_time_format_iso8601(date) : NULL;

    return text ? json_string(text) : json_null();
}

static json_t *grant_to_json(const struct folder_grant *grant)
{
    return json_pack("{s:s, s:s, s:s, s:o}", "origin", grant->origin, "reason",
                     grant->reason, "duration",
                     grant->is_kept ? "always" : "once", "granted",
                     time_to_json(grant->time));
}

json_t *directory_to_json(const struct session_directory *directory)
{
    json_t *entry = json_pack(
        "{s:s, s:s, s:s, s:s}", "label", directory->label, "access",
        directory->read_only ? "read_only" : "read_write", "tag",
        directory->tag, "guest_path", directory->guest_path);

    json_object_set_new(entry, "path", directory_path_to_json(directory->path));
    json_object_set_new(entry, "undo_dir",
                        directory_path_to_json(directory->undo_dir));
    if (directory->grant)
        json_object_set_new(entry, "grant", grant_to_json(directory->grant));
    return entry;
}

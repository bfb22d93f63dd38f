/* SPDX-License-Identifier: Apache-2.0
 *
 * git_json - see git_json.h.
 */
#include "agent/wire/git_json.h"

#include "agent/wire/payload.h"
#include "common/message.h"

static const char *const git_fields[] = { "name", "email", NULL };

static gboolean parse_value(json_t *git, const char *key, char **ret_value,
                            GError **error)
{
    const char *value = NULL;

    if (!message_get_optional_string(git, key, &value, error))
        return FALSE;
    if (value && !git_identity_is_valid(value))
        return payload_invalid(key,
                               "must be text of at most 256 bytes without "
                               "control characters, '<' and '>'",
                               error);
    *ret_value = g_strdup(value);
    return TRUE;
}

gboolean git_from_json(json_t *payload, struct git_identity *ret_git,
                       GError **error)
{
    json_t *git = json_object_get(payload, "git_identity");

    if (!git)
        return TRUE;
    if (!json_is_object(git))
        return payload_invalid("git_identity", "must be an object", error);
    return message_check_known(git, git_fields, error) &&
           parse_value(git, "name", &ret_git->name, error) &&
           parse_value(git, "email", &ret_git->email, error);
}

void git_add_json(json_t *payload, const struct git_identity *git)
{
    if (git->name || git->email)
        json_object_set_new(
            payload, "git_identity",
            json_pack("{s:s*, s:s*}", "name", git->name, "email", git->email));
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * git_identity - see git_identity.h.
 */
#include "agent/machine/git_identity.h"

#include <string.h>

void git_identity_clear(struct git_identity *identity)
{
    g_clear_pointer(&identity->name, g_free);
    g_clear_pointer(&identity->email, g_free);
}

bool git_identity_is_valid(const char *text)
{
    size_t len = strlen(text);

    if (len == 0 || len > GIT_IDENTITY_MAX ||
        !g_utf8_validate(text, (gssize)len, NULL) || strpbrk(text, "<>"))
        return false;
    for (; *text; text = g_utf8_next_char(text)) {
        if (g_unichar_iscntrl(g_utf8_get_char(text)))
            return false;
    }
    return true;
}

bool git_identity_parse(const char *text, struct git_identity *ret_identity)
{
    const char *open = strchr(text, '<');
    size_t len = strlen(text);
    g_autofree char *name = NULL, *email = NULL;

    if (!open || len == 0 || text[len - 1] != '>')
        return false;
    name = g_strstrip(g_strndup(text, (gsize)(open - text)));
    email = g_strndup(open + 1, (gsize)(text + len - open) - 2);
    if (!git_identity_is_valid(name) || !git_identity_is_valid(email))
        return false;
    ret_identity->name = g_steal_pointer(&name);
    ret_identity->email = g_steal_pointer(&email);
    return true;
}

char *git_identity_text(const struct git_identity *identity)
{
    if (!identity->name || !identity->email)
        return g_strdup(identity->name    ? identity->name
                        : identity->email ? identity->email
                                          : "");
    return g_strdup_printf("%s <%s>", identity->name, identity->email);
}

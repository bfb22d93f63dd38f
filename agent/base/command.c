/* SPDX-License-Identifier: Apache-2.0
 *
 * command - see command.h.
 */
#include "agent/base/command.h"

#include <string.h>

struct command *command_new(const char *text)
{
    struct command *command = g_new0(struct command, 1);

    command->text = g_strdup(text);
    return command;
}

void command_free(struct command *command)
{
    if (!command)
        return;
    g_free(command->text);
    g_strfreev(command->argv);
    g_free(command->user);
    g_free(command->cwd);
    g_strfreev(command->env);
    g_bytes_unref(command->input);
    g_free(command->label);
    g_free(command);
}

static bool has_variable(char *const *env, const char *entry)
{
    size_t len = strcspn(entry, "=");

    for (; env && *env; env++) {
        if (strcspn(*env, "=") == len && strncmp(*env, entry, len) == 0)
            return true;
    }
    return false;
}

char **command_merge_env(char *const *under, char *const *over)
{
    GPtrArray *all;

    if (!under && !over)
        return NULL;
    all = g_ptr_array_new();
    for (; under && *under; under++) {
        if (!has_variable(over, *under))
            g_ptr_array_add(all, g_strdup(*under));
    }
    for (; over && *over; over++)
        g_ptr_array_add(all, g_strdup(*over));
    g_ptr_array_add(all, NULL);
    return (char **)g_ptr_array_free(all, FALSE);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_warnings - see exec_warnings.h.
 */
#include "agent/cli/exec_warnings.h"

#include <glib.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_place.h"

/* Those about the network, which a guest may cause at will, leave room. */
enum { WAITING_MAX = 64, NETWORK_MAX = 32 };

struct exec_warnings {
    bool all, waits;
    GArray *steps;      /* of json_int_t */
    GPtrArray *waiting; /* texts */
    unsigned network, omitted;
};

struct exec_warnings *exec_warnings_new(bool all, bool waits)
{
    struct exec_warnings *warnings = g_new0(struct exec_warnings, 1);

    warnings->all = all;
    warnings->waits = waits;
    warnings->steps = g_array_new(FALSE, FALSE, sizeof(json_int_t));
    warnings->waiting = g_ptr_array_new_with_free_func(g_free);
    return warnings;
}

void exec_warnings_free(struct exec_warnings *warnings)
{
    g_array_unref(warnings->steps);
    g_ptr_array_unref(warnings->waiting);
    g_free(warnings);
}

void exec_warnings_add_step(struct exec_warnings *warnings, json_t *payload)
{
    json_int_t id = json_integer_value(json_object_get(payload, "step_id"));

    g_array_append_val(warnings->steps, id);
}

static bool is_network(json_t *payload)
{
    const char *code = json_string_value(json_object_get(payload, "code"));

    return code && g_str_has_prefix(code, "network_");
}

/* The change failed, and only this says why. */
static bool is_refusal(json_t *payload)
{
    const char *code = json_string_value(json_object_get(payload, "code"));

    return is_network(payload) || g_strcmp0(code, "rights_refused") == 0;
}

static bool is_wanted(const struct exec_warnings *warnings, json_t *payload)
{
    json_int_t id = json_integer_value(json_object_get(payload, "step_id"));

    if (warnings->all || is_refusal(payload))
        return true;
    for (guint i = 0; id != 0 && i < warnings->steps->len; i++) {
        if (g_array_index(warnings->steps, json_int_t, i) == id)
            return true;
    }
    return false;
}

static void keep(struct exec_warnings *warnings, json_t *payload,
                 const char *text)
{
    bool network = is_network(payload);

    if (warnings->waiting->len == WAITING_MAX ||
        (network && warnings->network == NETWORK_MAX)) {
        warnings->omitted++;
        return;
    }
    warnings->network += network;
    g_ptr_array_add(warnings->waiting, g_strdup(text));
}

void exec_warnings_take(struct exec_warnings *warnings, json_t *payload)
{
    const char *text = json_string_value(json_object_get(payload, "message"));

    if (!text || !is_wanted(warnings, payload))
        return;
    if (warnings->waits)
        keep(warnings, payload, text);
    else
        cli_place_warn(text);
}

void exec_warnings_print(const struct exec_warnings *warnings)
{
    g_autofree char *rest = NULL;

    for (guint i = 0; i < warnings->waiting->len; i++)
        cli_place_warn(warnings->waiting->pdata[i]);
    if (warnings->omitted == 0)
        return;
    rest = g_strdup_printf("%u more are in the sandbox's log: " CLI_PROGRAM
                           " logs",
                           warnings->omitted);
    cli_place_warn(rest);
}

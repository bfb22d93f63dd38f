/* SPDX-License-Identifier: Apache-2.0
 *
 * port_ops - the operations "port.*" of the API; see stdio_call.h.
 */
#include "agent/stdio/stdio_call.h"
#include "agent/wire/port_json.h"

static gboolean add(const struct stdio_call *call, json_t *payload,
                    GError **error)
{
    struct port_spec spec;

    if (!port_from_json(payload, true, &spec, error))
        return FALSE;
    session_port_add(call->session, &spec, stdio_call_on_answer,
                     stdio_call_keep(call));
    return TRUE;
}

static gboolean remove_one(const struct stdio_call *call, json_t *payload,
                           GError **error)
{
    struct port_spec spec;

    if (!port_from_json(payload, false, &spec, error))
        return FALSE;
    session_port_remove(call->session, &spec, stdio_call_on_answer,
                        stdio_call_keep(call));
    return TRUE;
}

static gboolean list(const struct stdio_call *call, json_t *payload,
                     GError **error)
{
    const struct guest_ports *open;
    GArray *published;

    if (!session_port_list(call->session, &published, &open, error))
        return FALSE;
    stdio_call_answer(call, ports_to_json(published, open));
    g_array_unref(published);
    return TRUE;
}

const struct stdio_operation stdio_port_operations[] = {
    { "port.add", add, { "address", "host_port", "guest_port", "protocol" } },
    { "port.remove", remove_one, { "address", "host_port", "protocol" } },
    { "port.list", list, { "" } },
    { NULL, NULL, { NULL } },
};

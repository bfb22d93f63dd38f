/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_network - see machine_network.h.
 */
#include "agent/machine/machine_network.h"

static bool is_ending(const struct machine *machine)
{
    return machine->stage == STOPPING || machine->stage == FAILED;
}

static void on_network_warning(json_t *payload, void *opaque)
{
    struct machine *machine = opaque;

    if (is_ending(machine))
        relayed_unref(payload);
    else
        machine->callbacks->event("event.warning", payload, machine->opaque);
}

static void on_network_record(const char *type, json_t *payload, void *opaque)
{
    struct machine *machine = opaque;

    machine->callbacks->event(type, relayed_ref(payload), machine->opaque);
}

static void on_network_missed(guint64 count, void *opaque)
{
    struct machine *machine = opaque;

    if (machine->callbacks->network_missed)
        machine->callbacks->network_missed(count, machine->opaque);
}

/* Commands and undo work without the network. The published ports are closed:
 * nothing would accept from them. */
static void lose_network(struct machine *machine, const GError *error)
{
    published_ports_clear(machine->ports);
    machine_warn(machine, "network_lost", error->message);
}

static void on_network_ended(const GError *error, void *opaque)
{
    struct machine *machine = opaque;

    if (machine->stage == STOPPING)
        machine_stop_further(machine);
    else if (!machine->runs || !error)
        return;
    else if (machine->stage == RUNNING)
        lose_network(machine, error);
    else if (machine->stage != RESTARTING)
        machine_fail(machine, error);
}

static void on_asked(const struct network_question *question, void *opaque)
{
    struct machine *machine = opaque;

    if (!is_ending(machine))
        machine->callbacks->asked(question, machine->opaque);
}

static void on_ask_withdrawn(gint64 id, void *opaque)
{
    struct machine *machine = opaque;

    if (!is_ending(machine))
        machine->callbacks->ask_withdrawn(id, machine->opaque);
}

static const struct network_callbacks network_callbacks = {
    .warning = on_network_warning,
    .record = on_network_record,
    .missed = on_network_missed,
    .asked = on_asked,
    .ask_withdrawn = on_ask_withdrawn,
    .ended = on_network_ended,
};

static void on_published(json_t *payload, const GError *error, json_t *data,
                         void *opaque)
{
    struct machine *machine = opaque;

    if (error && (machine->stage == BOOTING || machine->stage == MOUNTING))
        machine_fail(machine, error);
}

gboolean machine_network_start(struct machine *machine, int *ret_fd,
                               GError **error)
{
    const struct network_policy *policy = &machine->config->network;

    *ret_fd = -1;
    if (policy->kind == NETWORK_DISABLED)
        return TRUE;
    machine->network = network_new(machine->launch->net, policy, machine->trust,
                                   machine->upstream, machine->log_level,
                                   machine->tap, &network_callbacks, machine,
                                   ret_fd, error);
    for (unsigned i = 0;
         machine->network && i < published_ports_count(machine->ports); i++)
        network_publish(machine->network,
                        published_ports_get(machine->ports, i), on_published,
                        machine);
    return machine->network != NULL;
}

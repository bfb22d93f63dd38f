/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_channel_send - see guest_channel.h: messages to the guest.
 */
#include "agent/machine/guest_channel.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "agent/machine/guest_channel_parts.h"
#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/network_link.h"
#include "shim/wire.h"

static void send_message(struct guest_channel *channel, json_t *message)
{
    jsonl_channel_send(channel->channel, message, false);
}

/* ---- commands ------------------------------------------------------------ */

gboolean guest_channel_check_command(struct guest_channel *channel,
                                     const struct command *command,
                                     GError **error)
{
    json_t *message = guest_command_to_json(G_MAXINT64, command,
                                            GUEST_OUTPUT_WINDOW);
    bool too_large = json_dumpb(message, NULL, 0, JSON_COMPACT) > WIRE_MAX_LINE;
    const char *lacks = guest_command_lacks(&channel->abilities, command);

    json_decref(message);
    if (lacks)
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                    "the guest's shim is too old %s; rebuild the image with: "
                    "stepback image build",
                    lacks);
    else if (too_large)
        g_set_error_literal(
            error, STEPBACK_ERROR, ERROR_TOO_LARGE,
            "the command, its environment and its input exceed 1 MiB");
    return !lacks && !too_large;
}

bool guest_channel_has_credit(const struct guest_channel *channel)
{
    return channel->abilities.executions > 1;
}

unsigned guest_channel_max_commands(const struct guest_channel *channel)
{
    return (unsigned)CLAMP(channel->abilities.executions, 1,
                           WIRE_MAX_EXECUTIONS);
}

void guest_channel_exec(struct guest_channel *channel, gint64 id,
                        const struct command *command)
{
    send_message(channel,
                 guest_command_to_json(id, command, GUEST_OUTPUT_WINDOW));
}

void guest_channel_credit(struct guest_channel *channel, gint64 id,
                          size_t bytes)
{
    if (guest_channel_has_credit(channel))
        send_message(channel,
                     json_pack("{s:s, s:I, s:I}", "type", WIRE_CREDIT, "id",
                               (json_int_t)id, "bytes", (json_int_t)bytes));
}

void guest_channel_input(struct guest_channel *channel, gint64 id,
                         const void *data, size_t len, bool eof)
{
    json_t *message = json_pack("{s:s, s:I}", "type", WIRE_INPUT, "id",
                                (json_int_t)id);

    if (len > 0)
        json_bytes_set(message, "data", data, len);
    if (eof)
        json_object_set_new(message, "eof", json_true());
    send_message(channel, message);
}

void guest_channel_resize(struct guest_channel *channel, gint64 id,
                          unsigned rows, unsigned columns)
{
    send_message(channel, json_pack("{s:s, s:I, s:i, s:i}", "type", WIRE_RESIZE,
                                    "id", (json_int_t)id, "rows", (int)rows,
                                    "columns", (int)columns));
}

void guest_channel_signal(struct guest_channel *channel, gint64 id, int number)
{
    send_message(channel, json_pack("{s:s, s:I, s:i}", "type", WIRE_SIGNAL,
                                    "id", (json_int_t)id, "signal", number));
}

void guest_channel_answer_step(struct guest_channel *channel, gint64 request,
                               gint64 step_id, const char *text,
                               const char *error)
{
    json_t *message = json_pack(
        "{s:s, s:I, s:s*, s:s*}", "type", WIRE_STEP_ANSWER, "request",
        (json_int_t)request, "text", text, "error", error);

    if (step_id)
        json_object_set_new(message, "step_id", json_integer(step_id));
    send_message(channel, message);
}

/* ---- other messages ------------------------------------------------------ */

void guest_channel_mount(struct guest_channel *channel, const char *tag,
                         const char *path, const char *fstype, bool read_only)
{
    send_message(channel, json_pack("{s:s, s:s, s:s, s:s, s:b}", "type",
                                    WIRE_MOUNT, "tag", tag, "path", path,
                                    "fstype", fstype, "read_only", read_only));
}

void guest_channel_unmount(struct guest_channel *channel, const char *tag,
                           bool force)
{
    send_message(channel, json_pack("{s:s, s:s, s:b}", "type", WIRE_UNMOUNT,
                                    "tag", tag, "force", force));
}

bool guest_channel_setup(struct guest_channel *channel,
                         const char *certificates,
                         const struct git_identity *git)
{
    if (channel->abilities.setup)
        send_message(channel,
                     json_pack("{s:s, s:s*, s:s*, s:s*}", "type", WIRE_SETUP,
                               "certificates", certificates, "git_name",
                               git->name, "git_email", git->email));
    return channel->abilities.setup;
}

void guest_channel_refresh(struct guest_channel *channel, const char *tag,
                           json_t *message)
{
    send_message(channel,
                 json_pack("{s:s, s:s, s:O, s:O, s:O}", "type", WIRE_REFRESH,
                           "tag", tag, "id", json_object_get(message, "id"),
                           "unused", json_object_get(message, "unused"),
                           "names", json_object_get(message, "names")));
}

bool guest_channel_refreshes(const struct guest_channel *channel)
{
    return channel->abilities.refreshes != 0;
}

bool guest_channel_renews(const struct guest_channel *channel)
{
    return channel->abilities.renews != 0;
}

void guest_channel_request_hello(struct guest_channel *channel)
{
    send_message(channel, json_pack("{s:s}", "type", WIRE_HELLO));
}

/* A random UUID, version 4, as machine-id(5) has it. */
static char *new_machine_id(void)
{
    g_autofree char *uuid = g_uuid_string_random();
    g_auto(GStrv) parts = g_strsplit(uuid, "-", -1);

    return g_strjoinv("", parts);
}

static json_t *describe_network(const char *mac, const char *dns)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "mac", mac, "address",
                     NETWORK_LINK_GUEST, "netmask", NETWORK_LINK_NETMASK,
                     "gateway", NETWORK_LINK_GATEWAY, "dns", dns);
}

void guest_channel_renew(struct guest_channel *channel, const char *mac,
                         const char *dns)
{
    guchar entropy[WIRE_ENTROPY];
    g_autofree char *machine_id = new_machine_id(), *text = NULL;

    /* This much never fails or is cut short, once the kernel has booted
     * (getrandom(2)). */
    if (getrandom(entropy, sizeof(entropy), 0) != sizeof(entropy))
        g_error("getrandom: %s", g_strerror(errno));
    text = g_base64_encode(entropy, sizeof(entropy));
    explicit_bzero(entropy, sizeof(entropy));
    send_message(channel,
                 json_pack("{s:s, s:s, s:s, s:I, s:o*}", "type", WIRE_RENEW,
                           "entropy", text, "machine_id", machine_id, "time_us",
                           (json_int_t)g_get_real_time(), "network",
                           mac ? describe_network(mac, dns) : NULL));
}

void guest_channel_cancel(struct guest_channel *channel, gint64 id)
{
    send_message(channel, json_pack("{s:s, s:I}", "type", WIRE_CANCEL, "id",
                                    (json_int_t)id));
}

void guest_channel_watch_ports(struct guest_channel *channel)
{
    if (channel->abilities.reports_ports)
        send_message(channel, json_pack("{s:s}", "type", WIRE_WATCH_PORTS));
}

bool guest_channel_find_processes(struct guest_channel *channel, gint64 request,
                                  const GArray *pids)
{
    if (!channel->abilities.finds_processes)
        return false;
    send_message(channel, guest_processes_question(request, pids));
    return true;
}

void guest_channel_start_bulk(struct guest_channel *channel, const char *mark)
{
    send_message(channel, json_pack("{s:s, s:s}", "type", WIRE_BULK_START,
                                    "mark", mark));
}

void guest_channel_shutdown(struct guest_channel *channel)
{
    send_message(channel, json_pack("{s:s}", "type", WIRE_SHUTDOWN));
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * control_server - see control_server.h.
 */
#include "netbase/control_server.h"

#include <string.h>

#include "common/jsonl.h"
#include "common/message.h"

struct control_server {
    struct jsonl_channel *channel;
    struct control_service service;
    void *opaque;
};

static const struct control_operation *
find_operation(const struct control_service *service, const char *type)
{
    for (unsigned i = 0; type && i < service->count; i++) {
        if (strcmp(service->operations[i].type, type) == 0)
            return &service->operations[i];
    }
    return NULL;
}

static json_t *answer(struct control_server *server, json_t *message)
{
    const char *id = json_string_value(json_object_get(message, "request_id"));
    const char *type = json_string_value(json_object_get(message, "type"));
    const struct control_operation *operation = find_operation(&server->service,
                                                               type);
    g_autoptr(GError) error = NULL;
    json_t *payload = NULL;

    if (operation)
        payload = operation->carry_out(
            server->opaque, json_object_get(message, "payload"), &error);
    if (!payload && !error)
        g_set_error(&error, STEPBACK_ERROR, ERROR_UNKNOWN_OPERATION,
                    "unknown request '%.60s'", type ? type : "");
    return payload ? message_response(id, payload) : message_gerror(id, error);
}

static void on_line(struct jsonl_channel *channel, enum jsonl_status status,
                    json_t *message, const char *text, void *opaque)
{
    jsonl_channel_send(
        channel,
        status == JSONL_OK
            ? answer(opaque, message)
            : message_error(NULL, ERROR_MALFORMED_JSON, text, NULL),
        false);
}

static void on_closed(struct jsonl_channel *channel, void *opaque)
{
    struct control_server *server = opaque;

    server->service.closed(server->service.closed_opaque);
}

static const struct jsonl_callbacks callbacks = {
    .line = on_line,
    .closed = on_closed,
};

bool control_server_send(struct control_server *server, const char *type,
                         json_t *payload)
{
    return jsonl_channel_send(server->channel, message_event(type, payload),
                              true);
}

struct control_server *
control_server_new(int fd, const struct control_service *service, void *opaque)
{
    struct control_server *server = g_new0(struct control_server, 1);

    server->service = *service;
    server->opaque = opaque;
    server->channel = jsonl_channel_new(fd, fd, service->line_max,
                                        service->queue_max, &callbacks, server);
    return server;
}

void control_server_free(struct control_server *server)
{
    if (!server)
        return;
    jsonl_channel_free(server->channel);
    g_free(server);
}

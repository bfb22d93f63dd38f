/* SPDX-License-Identifier: Apache-2.0
 *
 * control_client - see control_client.h.
 */
#include "tests/lib/control_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/message.h"
#include "common/unix_socket.h"

struct control_client {
    FILE *in;
    int fd;
    unsigned last_id;
    json_t *events;
    json_t *data; /* of the last error */
};

enum { TIMEOUT_S = 60 }; /* the limit of every wait */

struct control_client *control_client_new(int fd)
{
    struct control_client *client = g_new0(struct control_client, 1);
    struct timeval timeout = { .tv_sec = TIMEOUT_S };

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    client->fd = fd;
    client->in = fdopen(dup(fd), "r");
    client->events = json_array();
    return client;
}

struct control_client *control_client_connect(const char *path)
{
    int fd = unix_socket_connect(path, 0);

    g_assert_cmpint(fd, >=, 0);
    return control_client_new(fd);
}

void control_client_free(struct control_client *client)
{
    if (!client)
        return;
    fclose(client->in);
    fd_close(&client->fd);
    json_decref(client->events);
    json_decref(client->data);
    g_free(client);
}

static json_t *read_message(struct control_client *client)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t len = getline(&line, &size, client->in);
    json_t *message = len > 0 ? json_loadb(line, (size_t)len, 0, NULL) : NULL;

    free(line);
    return message;
}

json_t *control_client_request(struct control_client *client, const char *type,
                               json_t *payload, GError **error)
{
    g_autofree char *id = g_strdup_printf("%u", ++client->last_id);
    json_t *request = message_request(type, id, payload);
    char *text = json_dumps(request, JSON_COMPACT);
    json_t *message, *result;

    json_decref(request);
    if (fd_write_all(client->fd, text, strlen(text)) < 0 ||
        fd_write_all(client->fd, "\n", 1) < 0) {
        free(text);
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_CONTROL_DISCONNECTED,
                            "the control socket is gone");
        return NULL;
    }
    free(text);
    while ((message = read_message(client))) {
        if (g_strcmp0(json_string_value(json_object_get(message, "type")),
                      "response") == 0)
            break;
        json_array_append_new(client->events, message);
    }
    if (!message) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_CONTROL_DISCONNECTED,
                            "the control socket was closed");
        return NULL;
    }
    g_assert_cmpstr(json_string_value(json_object_get(message, "request_id")),
                    ==, id);
    json_decref(client->data);
    client->data = json_incref(message_error_data(message));
    result = message_is_error(message, error)
                 ? NULL
                 : json_incref(json_object_get(message, "payload"));
    json_decref(message);
    return result;
}

json_t *control_client_error_data(struct control_client *client)
{
    return client->data;
}

json_t *control_client_take_event(struct control_client *client,
                                  const char *type)
{
    json_t *event, *payload;
    size_t i;

    json_array_foreach(client->events, i, event)
    {
        if (g_strcmp0(json_string_value(json_object_get(event, "type")),
                      type) != 0)
            continue;
        payload = json_incref(json_object_get(event, "payload"));
        json_array_remove(client->events, i);
        return payload;
    }
    return NULL;
}

json_t *control_client_wait_event(struct control_client *client,
                                  const char *type)
{
    json_t *payload, *message;

    while (!(payload = control_client_take_event(client, type))) {
        message = read_message(client);
        if (!message)
            g_error("no %s came", type);
        json_array_append_new(client->events, message);
    }
    return payload;
}

json_t *control_client_event(struct control_client *client, const char *type)
{
    json_t *event;
    size_t i;

    json_array_foreach(client->events, i, event)
    {
        if (g_strcmp0(json_string_value(json_object_get(event, "type")),
                      type) == 0)
            return json_object_get(event, "payload");
    }
    return NULL;
}

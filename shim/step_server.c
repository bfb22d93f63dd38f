/* SPDX-License-Identifier: Apache-2.0
 *
 * step_server - see step_server.h.
 */
#include "shim/step_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Room in the port for two relayed requests. */
#define PORT_NEEDED (2 * STEP_SERVER_LINE)

/* ---- the socket ---------------------------------------------------------- */

static int make_folder(const char *path)
{
    char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
    char *slash;

    snprintf(folder, sizeof(folder), "%s", path);
    slash = strrchr(folder, '/');
    if (!slash || slash == folder)
        return 0;
    *slash = '\0';
    return mkdir(folder, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

int step_server_open(struct step_server *server, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int result, fd;

    server->listener = -1;
    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    result = make_folder(path);
    if (result)
        return result;
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    unlink(path);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        chmod(path, 0666) < 0 || listen(fd, STEP_SERVER_CLIENTS) < 0) {
        result = -errno;
        close(fd);
        return result;
    }
    server->listener = fd;
    server->path = path;
    return 0;
}

void step_server_close(struct step_server *server)
{
    if (server->listener < 0)
        return;
    close(server->listener);
    unlink(server->path);
    server->listener = -1;
}

/* ---- messages ------------------------------------------------------------ */

/* Make a message to the host from this client. */
static json_t *make_request(const struct step_client *client, int64_t request,
                            const char *op)
{
    return json_pack("{s:s, s:I, s:I, s:s}", "type", WIRE_STEP_REQUEST,
                     "request", (json_int_t)request, "id",
                     (json_int_t)client->exec_id, "op", op);
}

/* Takes the answer, which is dropped if another one is waiting. Return false if
 * it does not fit. */
static bool send_line(struct step_client *client, json_t *answer)
{
    size_t len = 0;

    if (client->out_end == 0)
        len = json_dumpb(answer, client->out, sizeof(client->out),
                         JSON_COMPACT);
    json_decref(answer);
    if (client->out_end > 0)
        return true;
    if (len == 0 || len >= sizeof(client->out))
        return false;
    client->out[len] = '\n';
    client->out_end = len + 1;
    return true;
}

static void refuse(struct step_client *client, const char *reason)
{
    send_line(client, json_pack("{s:s}", "error", reason));
}

/* ---- clients ------------------------------------------------------------- */

static struct execution *find_execution(struct executions *executions,
                                        pid_t pid)
{
    for (size_t i = 0; i < WIRE_MAX_EXECUTIONS; i++) {
        struct execution *slot = &executions->slots[i];

        if (slot->state == EXECUTION_RUNNING &&
            process_set_contains(executions->context.home, &slot->processes,
                                 pid))
            return slot;
    }
    return NULL;
}

static void end_held(struct step_server *server, struct step_client *client)
{
    json_t *message = make_request(client, ++server->last_request,
                                   WIRE_STEP_END);

    json_object_set_new(message, "scope", wire_text(client->scope));
    port_send(server->port, message);
    client->held = false;
}

/* The connection has ended. The slot stays in use while the host owes an
 * answer, because a "begin" may already be carried out. */
static void drop(struct step_server *server, struct step_client *client)
{
    json_t *message;

    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
    if (client->held)
        end_held(server, client);
    if (!client->request) {
        client->used = false;
        return;
    }
    message = make_request(client, ++server->last_request, WIRE_STEP_WITHDRAW);
    json_object_set_new(message, "number", json_integer(client->request));
    port_send(server->port, message);
}

static size_t count_clients(const struct step_server *server, int64_t exec_id)
{
    size_t count = 0;

    for (size_t i = 0; i < STEP_SERVER_CLIENTS; i++)
        count += server->clients[i].used &&
                 server->clients[i].exec_id == exec_id;
    return count;
}

static struct step_client *free_client(const struct step_server *server)
{
    for (size_t i = 0; i < STEP_SERVER_CLIENTS; i++) {
        if (!server->clients[i].used)
            return (struct step_client *)&server->clients[i];
    }
    return NULL;
}

static void take_client(struct step_server *server)
{
    static const char no_execution[] =
        "{\"error\":\"this process belongs to no running command of the "
        "sandbox\"}\n";
    static const char too_many[] =
        "{\"error\":\"too many requests of this command are waiting\"}\n";
    struct step_client *client = free_client(server);
    int fd = accept4(server->listener, NULL, NULL,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct execution *execution = NULL;
    struct ucred peer;
    socklen_t len = sizeof(peer);

    if (fd < 0)
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
        execution = find_execution(server->executions, peer.pid);
    if (!client || !execution ||
        count_clients(server, execution->id) >= STEP_SERVER_SHARE) {
        const char *reason = execution ? too_many : no_execution;

        send(fd, reason, strlen(reason), MSG_NOSIGNAL);
        close(fd);
        return;
    }
    client->fd = fd;
    client->used = true;
    client->exec_id = execution->id;
    client->pid = peer.pid;
    client->request = 0;
    client->begins = client->held = false;
    client->in_used = client->out_start = client->out_end = 0;
}

/* ---- requests ------------------------------------------------------------ */

static bool is_known(const char *op)
{
    static const char *const known[] = { WIRE_STEP_BEGIN, WIRE_STEP_END,
                                         WIRE_STEP_LIST,  WIRE_STEP_DIFF,
                                         WIRE_STEP_UNDO,  WIRE_STEP_GRANT };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(op, known[i]) == 0)
            return true;
    }
    return false;
}

/* Return the reason of a grant, or NULL. */
static const char *reason_of(json_t *object)
{
    const char *reason = NULL;

    wire_get_string(object, "reason", &reason);
    return reason && strlen(reason) <= WIRE_STEP_REASON ? reason : NULL;
}

static void relay(struct step_server *server, struct step_client *client,
                  json_t *object, const char *op)
{
    static const char *const numbers[] = { "number", "exit_code", "write" };
    json_t *text = json_object_get(object, "text"), *message;
    const struct execution *execution = executions_find(server->executions,
                                                        client->exec_id);

    client->request = ++server->last_request;
    message = make_request(client, client->request, op);
    json_object_set_new(message, "scope", wire_text(client->scope));
    if (text)
        json_object_set(message, "text", text);
    if (json_object_get(object, "encoding"))
        json_object_set_new(message, "encoding",
                            json_string(WIRE_ENCODING_BASE64));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        json_t *number = json_object_get(object, numbers[i]);

        if (json_is_integer(number))
            json_object_set(message, numbers[i], number);
    }
    if (reason_of(object))
        json_object_set(message, "reason", json_object_get(object, "reason"));
    if (execution)
        json_object_set_new(message, "processes",
                            json_integer(process_set_has_others(
                                &execution->processes, client->pid)));
    port_send(server->port, message);
}

static void take_request(struct step_server *server, struct step_client *client,
                         json_t *object)
{
    json_t *text = json_object_get(object, "text");
    const char *op, *scope = "";
    bool hold = false;

    wire_get_string(object, "scope", &scope);
    wire_get_bool(object, "hold", &hold);
    if (!wire_get_string(object, "op", &op) || !is_known(op) ||
        strlen(scope) > WIRE_STEP_SCOPE - 20 ||
        (text && (!json_is_string(text) ||
                  json_string_length(text) > 2 * WIRE_STEP_COMMAND))) {
        refuse(client, "malformed request");
        return;
    }
    client->begins = hold && strcmp(op, WIRE_STEP_BEGIN) == 0;
    /* Another connection cannot name this scope. */
    if (hold)
        snprintf(client->scope, sizeof(client->scope), "%s#%td", scope,
                 client - server->clients);
    else
        snprintf(client->scope, sizeof(client->scope), "%s", scope);
    if (hold && !client->begins)
        client->held = false;
    relay(server, client, object, op);
}

static void take_line(struct step_server *server, struct step_client *client,
                      size_t len)
{
    json_error_t error;
    json_t *object = wire_parse(client->in, len, &error);

    take_request(server, client, object);
    json_decref(object);
}

static void read_client(struct step_server *server, struct step_client *client)
{
    ssize_t got = read(client->fd, client->in + client->in_used,
                       sizeof(client->in) - client->in_used);
    char *end;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        drop(server, client);
        return;
    }
    client->in_used += (size_t)got;
    end = memchr(client->in, '\n', client->in_used);
    if (end) {
        take_line(server, client, (size_t)(end - client->in));
        client->in_used = 0; /* nothing follows before the answer */
    } else if (client->in_used == sizeof(client->in)) {
        drop(server, client);
    }
}

static void write_client(struct step_server *server, struct step_client *client)
{
    ssize_t put = send(client->fd, client->out + client->out_start,
                       client->out_end - client->out_start, MSG_NOSIGNAL);

    if (put < 0) {
        if (errno != EAGAIN && errno != EINTR)
            drop(server, client);
        return;
    }
    client->out_start += (size_t)put;
    if (client->out_start == client->out_end)
        client->out_start = client->out_end = 0;
}

void step_server_answer(struct step_server *server, json_t *object)
{
    static const char *const members[] = { "error", "step_id", "text" };
    struct step_client *client = server->clients;
    json_t *answer;
    int64_t request;
    bool refused = wire_is_text(json_object_get(object, "error"));

    if (!wire_get_integer(object, "request", &request))
        return;
    while (client < server->clients + STEP_SERVER_CLIENTS &&
           !(client->used && client->request == request))
        client++;
    if (client == server->clients + STEP_SERVER_CLIENTS)
        return;
    client->request = 0;
    client->held = client->begins && !refused;
    client->begins = false;
    if (client->fd < 0) { /* it did not wait for the step */
        if (client->held)
            end_held(server, client);
        client->used = false;
        return;
    }
    answer = json_object();
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        json_object_set(answer, members[i],
                        json_object_get(object, members[i]));
    if (!send_line(client, answer))
        refuse(client, "the answer is too long");
}

void step_server_lose_host(struct step_server *server)
{
    for (size_t i = 0; i < STEP_SERVER_CLIENTS; i++) {
        struct step_client *client = &server->clients[i];

        if (!client->used || !client->request)
            continue;
        client->request = 0;
        if (client->fd < 0)
            client->used = false;
        else
            refuse(client, "the supervisor has disconnected");
    }
}

/* ---- service ------------------------------------------------------------- */

size_t step_server_poll(const struct step_server *server, struct pollfd *fds)
{
    bool room = port_room(server->port) >= PORT_NEEDED;
    size_t count = 0;

    if (server->listener < 0 || !room)
        return 0;
    if (free_client(server))
        fds[count++] = (struct pollfd){ server->listener, POLLIN, 0 };
    for (size_t i = 0; i < STEP_SERVER_CLIENTS; i++) {
        const struct step_client *client = &server->clients[i];
        short events = client->out_end > 0 ? POLLOUT
                       : client->request   ? POLLRDHUP
                                           : POLLIN;

        if (client->used && client->fd >= 0)
            fds[count++] = (struct pollfd){ client->fd, events, 0 };
    }
    return count;
}

static struct step_client *find_client(struct step_server *server, int fd)
{
    for (size_t i = 0; i < STEP_SERVER_CLIENTS; i++) {
        if (server->clients[i].used && server->clients[i].fd == fd)
            return &server->clients[i];
    }
    return NULL;
}

static void serve(struct step_server *server, const struct pollfd *poll_fd)
{
    struct step_client *client = find_client(server, poll_fd->fd);

    if (poll_fd->fd == server->listener)
        take_client(server);
    else if (!client)
        return;
    else if (client->out_end > 0)
        write_client(server, client);
    else if (client->request)
        drop(server, client);
    else
        read_client(server, client);
}

void step_server_serve(struct step_server *server, const struct pollfd *fds,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fds[i].revents && port_room(server->port) >= PORT_NEEDED)
            serve(server, &fds[i]);
    }
}

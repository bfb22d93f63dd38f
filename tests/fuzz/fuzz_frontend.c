/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_frontend - see fuzz_frontend.h.
 */
#include "tests/fuzz/fuzz_frontend.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "virtiofs/vhost/vhost_user.h"
#include "virtiofs/vhost/vu_message.h"

enum { MAX_MESSAGES = 48, WAIT_MS = 3, MAX_REGIONS = 9 };

/* The fds that a message can have: the memory, eventfds for kicks, calls and
 * errors, a short file, and two of other kinds. */
enum { FD_MEMORY, FD_KICK, FD_CALL, FD_ERR, FD_SHORT, FD_NULL, FD_PIPE, N_FDS };

struct frontend {
    struct fuzz_guest *guest;
    int socket;
    int fds[N_FDS];
    int pipe_end; /* the other */
};

struct backend {
    struct fuse_server *server;
    int listen_fd, stop_fd;
};

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* ---- messages ------------------------------------------------------------ */

/* d, q: a number of 32 or 64 bits; R: regions, as many as a byte says. */
static const char *const payloads[] = {
    [VU_SET_FEATURES] = "q",          [VU_SET_MEM_TABLE] = "dd",
    [VU_SET_LOG_BASE] = "qq",         [VU_SET_VRING_NUM] = "dd",
    [VU_SET_VRING_ADDR] = "ddqqqq",   [VU_SET_VRING_BASE] = "dd",
    [VU_GET_VRING_BASE] = "dd",       [VU_SET_VRING_KICK] = "q",
    [VU_SET_VRING_CALL] = "q",        [VU_SET_VRING_ERR] = "q",
    [VU_SET_PROTOCOL_FEATURES] = "q", [VU_SET_VRING_ENABLE] = "dd",
    [VU_ADD_MEM_REG] = "qqqqq",       [VU_REM_MEM_REG] = "qqqqq",
};

static void add_number(GByteArray *message, char field,
                       struct fuzz_input *input)
{
    uint64_t number = fuzz_input_number(input);

    g_byte_array_append(message, (uint8_t *)&number, field == 'd' ? 4 : 8);
}

static GByteArray *make_message(uint32_t request, uint8_t flags,
                                struct fuzz_input *input)
{
    GByteArray *message = g_byte_array_new();
    uint32_t head[3] = { request, VU_VERSION | (flags & VU_NEED_REPLY), 0 };
    const char *fields = "";
    int n = request == VU_SET_MEM_TABLE ? fuzz_input_byte(input) : 0;

    if (request < G_N_ELEMENTS(payloads) && payloads[request])
        fields = payloads[request];
    g_byte_array_append(message, (uint8_t *)head, sizeof(head));
    for (; *fields; fields++)
        add_number(message, *fields, input);
    for (int i = 0; i < 4 * MIN(n, MAX_REGIONS); i++)
        add_number(message, 'q', input);
    if (flags & 0x80)
        head[1] = (uint32_t)fuzz_input_number(input);
    head[2] = flags & 8 ? (uint32_t)fuzz_input_number(input)
                        : message->len - (uint32_t)sizeof(head);
    memcpy(message->data, head, sizeof(head));
    return message;
}

static void attach_fds(struct msghdr *header, struct frontend *frontend,
                       uint8_t which)
{
    unsigned n = which & 15, fd = which >> 4;
    struct cmsghdr *c;

    if (n == 0)
        return;
    header->msg_controllen = CMSG_SPACE(n * sizeof(int));
    c = CMSG_FIRSTHDR(header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(n * sizeof(int));
    for (unsigned i = 0; i < n; i++)
        memcpy(CMSG_DATA(c) + i * sizeof(int), &frontend->fds[fd % N_FDS],
               sizeof(int));
}

/* Return false if the back-end has hung up. */
static bool send_part(struct frontend *frontend, const uint8_t *at, size_t size,
                      uint8_t which)
{
    char control[CMSG_SPACE(16 * sizeof(int))]
        __attribute__((aligned(8))) = { 0 };
    struct iovec iov = { (void *)at, size };
    struct msghdr header = { .msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control };

    attach_fds(&header, frontend, which);
    if (header.msg_controllen == 0)
        header.msg_control = NULL;
    return size == 0 || sendmsg(frontend->socket, &header, MSG_NOSIGNAL) >= 0;
}

/* Discard replies, to make space for more. */
static void drain(struct frontend *frontend, int flags)
{
    char buffer[4096];

    while (recv(frontend->socket, buffer, sizeof(buffer), flags) > 0)
        ;
}

/* The back-end must read all messages: closing with unread replies breaks the
 * connection at once. */
static void hang_up(struct frontend *frontend)
{
    shutdown(frontend->socket, SHUT_WR);
    drain(frontend, 0);
    close(frontend->socket);
}

static bool send_message(struct frontend *frontend, uint32_t request,
                         struct fuzz_input *input)
{
    uint8_t flags = fuzz_input_byte(input);
    g_autoptr(GByteArray) message = make_message(request, flags, input);
    uint8_t which = fuzz_input_byte(input);
    size_t first = flags & 0x10 ? message->len / 2 : message->len;

    drain(frontend, MSG_DONTWAIT);
    return send_part(frontend, message->data, first, which) &&
           send_part(frontend, message->data + first, message->len - first, 0);
}

static void kick(struct frontend *frontend)
{
    struct pollfd p = { .fd = frontend->fds[FD_CALL], .events = POLLIN };
    uint64_t count = 1;

    must(write(frontend->fds[FD_KICK], &count, sizeof(count)) > 0);
    if (poll(&p, 1, WAIT_MS) > 0)
        must(read(p.fd, &count, sizeof(count)) > 0);
}

static void run_script(struct frontend *frontend, struct fuzz_input *input)
{
    fuzz_guest_run(frontend->guest, input);
    for (int i = 0; i < MAX_MESSAGES && input->left > 0; i++) {
        uint8_t what = fuzz_input_byte(input);

        if (what == 255)
            kick(frontend);
        else if (what == 254)
            fuzz_guest_run(frontend->guest, input);
        else if (!send_message(frontend, what, input))
            return;
    }
}

/* ---- set-up -------------------------------------------------------------- */

static void open_fds(struct frontend *frontend)
{
    int ends[2];

    frontend->fds[FD_MEMORY] = frontend->guest->fd;
    for (int i = FD_KICK; i <= FD_ERR; i++)
        frontend->fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    frontend->fds[FD_SHORT] = memfd_create("short", MFD_CLOEXEC);
    frontend->fds[FD_NULL] = open("/dev/null", O_RDWR | O_CLOEXEC);
    must(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    frontend->fds[FD_PIPE] = ends[1];
    frontend->pipe_end = ends[0];
    must(ftruncate(frontend->fds[FD_SHORT], 4096) == 0);
}

static void close_fds(struct frontend *frontend)
{
    for (int i = FD_KICK; i < N_FDS; i++)
        close(frontend->fds[i]);
    close(frontend->pipe_end);
}

/* An abstract socket leaves nothing behind. */
static int listen_and_connect(int *ret_connection)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    socklen_t len = sizeof(address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
             "stepback-fuzz-%d", (int)getpid());
    must(bind(fd, (struct sockaddr *)&address, len) == 0 && listen(fd, 1) == 0);
    *ret_connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(connect(*ret_connection, (struct sockaddr *)&address, len) == 0);
    return fd;
}

static gpointer serve(gpointer data)
{
    static const struct vhost_user_config config = { .pool_size = 2 };
    struct backend *backend = data;
    g_autoptr(GError) error = NULL;

    vhost_user_serve(backend->server, &config, backend->listen_fd,
                     backend->stop_fd, &error);
    return NULL;
}

void fuzz_frontend_run(struct fuse_server *server, struct fuzz_guest *guest,
                       struct fuzz_input *input)
{
    struct frontend frontend = { .guest = guest };
    struct backend backend = { .server = server,
                               .stop_fd = eventfd(0, EFD_CLOEXEC) };
    GThread *thread;

    open_fds(&frontend);
    backend.listen_fd = listen_and_connect(&frontend.socket);
    thread = g_thread_new("backend", serve, &backend);
    run_script(&frontend, input);
    hang_up(&frontend);
    g_thread_join(thread);
    close_fds(&frontend);
    close(backend.stop_fd);
}

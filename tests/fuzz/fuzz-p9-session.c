/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-p9-session - all that a 9P client sends on a connection of a server.
 *
 * An input is a byte for the setup of the server, and records: a message's
 * type, the length of its fields in a byte, and these; tags are assigned in
 * order. The first byte: bit 0, read-only; 1, an undo log; 2, within a step; 3,
 * which is rolled back at the end; 4, the rest is not records but the stream
 * itself; 5, the session is not begun; 6, do not wait for replies; 7, the
 * profile is "windows".
 *
 * All output must be whole messages.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "common/log.h"
#include "p9/profile/profile_posix.h"
#include "p9/profile/profile_windows.h"
#include "p9/server/conn.h"
#include "p9/server/request.h"
#include "p9/server/server.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_world.h"

enum { MSIZE = 16384, FILE_MAX = 4 << 20, STEP = 1, WAIT_MS = 20000 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fuzz_world world;

/* ---- what is sent -------------------------------------------------------- */

static void add_message(GByteArray *stream, const struct p9_message *message)
{
    uint8_t bytes[256];
    int size = p9_message_encode(message, bytes, sizeof(bytes));

    if (size < 0)
        abort();
    g_byte_array_append(stream, bytes, (guint)size);
}

static void begin_session(GByteArray *stream)
{
    struct p9_message m = { .type = P9_TVERSION, .tag = P9_NO_TAG };

    m.version.msize = MSIZE;
    m.version.version = p9_string(P9_VERSION);
    add_message(stream, &m);
    m = (struct p9_message){ .type = P9_TATTACH, .tag = 1000 };
    m.attach.fid = 0;
    m.attach.afid = P9_NO_FID;
    m.attach.uname = m.attach.aname = p9_string("");
    m.attach.uid = 0;
    add_message(stream, &m);
}

static void add_records(GByteArray *stream, struct fuzz_input *input)
{
    for (uint8_t tag = 0; input->left > 0; tag++) {
        uint8_t type = fuzz_input_byte(input);
        size_t len = MIN(fuzz_input_byte(input), input->left);
        uint16_t size = (uint16_t)(len + P9_HEADER_SIZE);
        uint8_t head[P9_HEADER_SIZE] = {
            (uint8_t)size, (uint8_t)(size >> 8), 0, 0, type, tag, 0
        };

        g_byte_array_append(stream, head, sizeof(head));
        for (size_t i = 0; i < len; i++) {
            uint8_t byte = fuzz_input_byte(input);

            g_byte_array_append(stream, &byte, 1);
        }
    }
}

static GByteArray *make_stream(struct fuzz_input *input, uint8_t setup)
{
    GByteArray *stream = g_byte_array_new();

    if (!(setup & 32))
        begin_session(stream);
    if (!(setup & 16))
        add_records(stream, input);
    while (input->left > 0) {
        uint8_t byte = fuzz_input_byte(input);

        g_byte_array_append(stream, &byte, 1);
    }
    return stream;
}

/* ---- what comes back ----------------------------------------------------- */

static void check_answers(const GByteArray *answers)
{
    size_t at = 0;

    while (answers->len - at >= 4) {
        uint32_t size = p9_message_size(answers->data + at);
        struct p9_message message;

        if (size < P9_HEADER_SIZE || (size > MSIZE && size > P9_SMALL_REPLY))
            abort();
        if (size > answers->len - at)
            break;
        if (p9_message_decode(answers->data + at, size, &message) < 0)
            abort();
        at += size;
    }
}

/* Send and receive until the server hangs up. */
static void talk(int fd, const GByteArray *stream)
{
    g_autoptr(GByteArray) answers = g_byte_array_new();
    uint8_t bytes[16384];
    size_t sent = 0;
    ssize_t n = 1;

    if (stream->len == 0)
        shutdown(fd, SHUT_WR);
    while (n != 0) {
        bool sends = sent < stream->len;
        struct pollfd fds = { fd, (short)(POLLIN | (sends ? POLLOUT : 0)), 0 };

        int ready = poll(&fds, 1, WAIT_MS);

        if (ready < 0 && errno == EINTR) /* libFuzzer's clock */
            continue;
        if (ready <= 0)
            abort(); /* hangs */
        if (sends && (fds.revents & POLLOUT)) {
            n = send(fd, stream->data + sent, stream->len - sent,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
            sent = n < 0 && errno != EAGAIN ? stream->len
                                            : sent + (size_t)MAX(n, 0);
            n = 1;
        }
        if (sends && sent == stream->len)
            shutdown(fd, SHUT_WR);
        if (fds.revents & (POLLIN | POLLHUP)) {
            n = recv(fd, bytes, sizeof(bytes), 0);
            if (n > 0)
                g_byte_array_append(answers, bytes, (guint)n);
            else
                n = 0;
        }
    }
    check_answers(answers);
}

#ifdef HAVE_SQLITE
/* Its rows stay from one input to the next: no reply depends on that. */
static struct p9_server *new_windows(struct ic *ic,
                                     struct p9_server_config config)
{
    g_autofree char *dir = g_build_filename(world.base, "overlay", NULL);
    g_autoptr(GError) error = NULL;
    struct p9_server *server;

    g_mkdir(dir, 0700);
    config.profile = &p9_profile_windows;
    config.overlay_dir = dir;
    server = p9_server_new(ic, &config, &error);
    if (!server)
        fprintf(stderr, "%s\n", error->message);
    return server;
}
#else
#define new_windows(ic, config) p9_server_new(ic, &(config), NULL)
#endif

static void serve(struct ic *ic, uint8_t setup, const GByteArray *stream)
{
    const struct p9_server_config config = {
        .msize_max = MSIZE,
        .max_connections = 1,
        .threads = 1,
        .read_only = setup & 1,
        .profile = &p9_profile_posix,
    };
    struct p9_server *server = setup & 128 ? new_windows(ic, config)
                                           : p9_server_new(ic, &config, NULL);
    struct p9_conn *conn;
    int fds[2];

    if (!server || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        abort();
    conn = p9_conn_start(server, fds[0], 1);
    if (!conn)
        abort();
    if (setup & 64)
        send(fds[1], stream->data, stream->len, MSG_DONTWAIT | MSG_NOSIGNAL);
    else
        talk(fds[1], stream);
    close(fds[1]);
    p9_conn_free(conn);
    p9_server_free(server);
}

/* ---- set-up -------------------------------------------------------------- */

static void limit_files(void)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN); /* libFuzzer sets it after the initialisation */
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
        abort();
    limit.rlim_cur = MIN(FILE_MAX, limit.rlim_max);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    umask(0);
    log_set_level(LOG_LEVEL_NONE);
    ic_set_log(LOG_LEVEL_NONE, NULL);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = { data, size };
    uint8_t setup = fuzz_input_byte(&input);
    g_autoptr(GByteArray) stream = make_stream(&input, setup);
    struct ic_options options = { .no_timer = true, .no_watch = true };
    struct ic *ic;

    limit_files();
    fuzz_world_reset(&world);
    options.share = world.share;
    options.undo_dir = setup & 2 ? world.undo_dir : NULL;
    options.read_only = setup & 1;
    ic = ic_open_share(&options, NULL);
    if (!ic)
        abort();
    if (setup & 4)
        ic_step_open(ic, STEP, IC_STEP_COMMAND, "fuzz", NULL);
    serve(ic, setup, stream);
    if (setup & 4)
        ic_step_close(ic, STEP, 0, 0, 0, NULL, NULL);
    if (setup & 8)
        ic_rollback(ic, 1, true, NULL, NULL);
    ic_close(ic);
    fuzz_world_check(&world);
    return 0;
}

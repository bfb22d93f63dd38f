/* SPDX-License-Identifier: Apache-2.0
 *
 * p9bench - times the operations of any 9P2000.L server on a Unix socket.
 *
 *     p9bench --socket=PATH --pid=PID [--aname=NAME] [--msize=BYTES]
 *             [--seconds=S] OPERATION...
 *
 * Prints a line for each operation: its time, and the server's CPU time for it
 * (of process PID). The client is the same for all servers: one connection with
 * one request at a time, or 16 if the name ends in _deep.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "p9/wire/message.h"

enum {
    ROOT = 0,
    DIR_FID = 1,
    FILE_FID = 2,
    NEW_FID = 3,
    MOVED_FID = 4,
    DEPTH = 16,
    FILE_SIZE = 64 << 20,
    ENTRIES = 2000,
    SMALL = 4096,
    MAX_MSIZE = 1 << 20,
};

struct bench {
    int fd, pid;
    double seconds;
    uint32_t msize, data; /* bytes of data in a large message */
    uint8_t *out, *in;
    uint16_t tag;
    unsigned turn; /* counts the operation's runs */
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "p9bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- messages ------------------------------------------------------------ */

static void send_message(struct bench *b, struct p9_message *m)
{
    int size;

    m->tag = m->type == P9_TVERSION ? P9_NO_TAG : b->tag++ % 1000;
    size = p9_message_encode(m, b->out, MAX_MSIZE);
    if (size < 0)
        fail("encode");
    for (int done = 0; done < size;) {
        ssize_t n = write(b->fd, b->out + done, (size_t)(size - done));

        if (n < 0)
            fail("write");
        done += (int)n;
    }
}

static void receive(struct bench *b, struct p9_message *ret_reply)
{
    size_t have = 0, size = 4;

    while (have < size) {
        ssize_t n = read(b->fd, b->in + have, size - have);

        if (n <= 0)
            fail("the server hung up");
        have += (size_t)n;
        if (have == 4)
            size = p9_message_size(b->in);
    }
    if (p9_message_decode(b->in, size, ret_reply) < 0)
        fail("malformed reply");
}

static void call(struct bench *b, struct p9_message *m,
                 struct p9_message *ret_reply)
{
    struct p9_message reply;

    ret_reply = ret_reply ? ret_reply : &reply;
    send_message(b, m);
    receive(b, ret_reply);
    if (ret_reply->type == P9_RLERROR) {
        errno = (int)ret_reply->ecode;
        fail(p9_message_name(m->type));
    }
}

static void walk(struct bench *b, uint32_t from, uint32_t to, const char *name)
{
    struct p9_message m = { .type = P9_TWALK };

    m.walk.fid = from;
    m.walk.newfid = to;
    m.walk.n = name ? 1 : 0;
    if (name)
        m.walk.names[0] = p9_string(name);
    call(b, &m, NULL);
}

static void clunk(struct bench *b, uint32_t fid)
{
    struct p9_message m = { .type = P9_TCLUNK };

    m.fid = fid;
    call(b, &m, NULL);
}

static void lopen(struct bench *b, uint32_t fid, uint32_t flags)
{
    struct p9_message m = { .type = P9_TLOPEN };

    m.lopen.fid = fid;
    m.lopen.flags = flags;
    call(b, &m, NULL);
}

/* Create a file in the directory, as NEW_FID. */
static void create(struct bench *b, const char *name)
{
    struct p9_message m = { .type = P9_TLCREATE };

    walk(b, DIR_FID, NEW_FID, NULL);
    m.lcreate.fid = NEW_FID;
    m.lcreate.name = p9_string(name);
    m.lcreate.flags = O_RDWR;
    m.lcreate.mode = 0644;
    m.lcreate.gid = getegid();
    call(b, &m, NULL);
}

static struct p9_message read_message(struct bench *b, uint8_t type,
                                      uint32_t count)
{
    struct p9_message m = { .type = type };

    m.read.fid = FILE_FID;
    m.read.offset = (uint64_t)b->turn++ * count % (FILE_SIZE - count + 1);
    m.read.count = count;
    return m;
}

static struct p9_message write_message(struct bench *b, uint32_t count)
{
    static uint8_t data[MAX_MSIZE];
    struct p9_message m = { .type = P9_TWRITE };

    m.write.fid = FILE_FID;
    m.write.offset = (uint64_t)b->turn++ * count % (FILE_SIZE - count + 1);
    m.write.data.at = data;
    m.write.data.count = count;
    return m;
}

/* ---- operations ---------------------------------------------------------- */

static void op_getattr(struct bench *b)
{
    struct p9_message m = { .type = P9_TGETATTR };

    m.getattr.fid = FILE_FID;
    m.getattr.mask = P9_GETATTR_BASIC;
    call(b, &m, NULL);
}

static void op_walk(struct bench *b)
{
    walk(b, DIR_FID, NEW_FID, "file");
    clunk(b, NEW_FID);
}

static void op_open(struct bench *b)
{
    walk(b, DIR_FID, NEW_FID, "file");
    lopen(b, NEW_FID, O_RDONLY);
    clunk(b, NEW_FID);
}

static void op_create(struct bench *b)
{
    struct p9_message m = { .type = P9_TREMOVE };

    create(b, "new");
    m.fid = NEW_FID;
    call(b, &m, NULL);
}

static void op_rename(struct bench *b)
{
    struct p9_message m = { .type = P9_TRENAME };

    m.rename.fid = MOVED_FID;
    m.rename.dfid = DIR_FID;
    m.rename.name = p9_string(b->turn++ % 2 ? "a" : "b");
    call(b, &m, NULL);
}

static void op_read4k(struct bench *b)
{
    struct p9_message m = read_message(b, P9_TREAD, SMALL);

    call(b, &m, NULL);
}

static void op_write4k(struct bench *b)
{
    struct p9_message m = write_message(b, SMALL);

    call(b, &m, NULL);
}

static void op_read_large(struct bench *b)
{
    struct p9_message m = read_message(b, P9_TREAD, b->data);

    call(b, &m, NULL);
}

static void op_write_large(struct bench *b)
{
    struct p9_message m = write_message(b, b->data);

    call(b, &m, NULL);
}

static void deep(struct bench *b,
                 struct p9_message (*make)(struct bench *b, unsigned i))
{
    for (unsigned i = 0; i < DEPTH; i++) {
        struct p9_message m = make(b, i);

        send_message(b, &m);
    }
    for (unsigned i = 0; i < DEPTH; i++) {
        struct p9_message reply;

        receive(b, &reply);
        if (reply.type == P9_RLERROR)
            fail("deep request");
    }
}

static struct p9_message make_getattr(struct bench *b, unsigned i)
{
    struct p9_message m = { .type = P9_TGETATTR };

    m.getattr.fid = FILE_FID;
    m.getattr.mask = P9_GETATTR_BASIC;
    return m;
}

static struct p9_message make_read(struct bench *b, unsigned i)
{
    return read_message(b, P9_TREAD, b->data);
}

static void op_getattr_deep(struct bench *b)
{
    deep(b, make_getattr);
}

static void op_read_deep(struct bench *b)
{
    deep(b, make_read);
}

/* Read all names of the directory. */
static void op_readdir(struct bench *b)
{
    struct p9_message m = { .type = P9_TREADDIR }, reply;

    walk(b, DIR_FID, NEW_FID, NULL);
    lopen(b, NEW_FID, O_RDONLY);
    m.read.fid = NEW_FID;
    m.read.offset = 0;
    m.read.count = b->data;
    do {
        call(b, &m, &reply);
        for (uint32_t at = 0; at < reply.data.count;) {
            const uint8_t *entry = reply.data.at + at;

            memcpy(&m.read.offset, entry + P9_QID_SIZE, 8);
            at += P9_ENTRY_SIZE + (uint32_t)(entry[22] | entry[23] << 8);
        }
    } while (reply.data.count > 0);
    clunk(b, NEW_FID);
}

static const struct {
    const char *name;
    void (*run)(struct bench *b);
    unsigned count; /* operations in one run */
} operations[] = {
    { "getattr", op_getattr, 1 },
    { "walk", op_walk, 1 },
    { "open", op_open, 1 },
    { "create", op_create, 1 },
    { "rename", op_rename, 1 },
    { "read4k", op_read4k, 1 },
    { "write4k", op_write4k, 1 },
    { "read_large", op_read_large, 1 },
    { "write_large", op_write_large, 1 },
    { "getattr_deep", op_getattr_deep, DEPTH },
    { "read_deep", op_read_deep, DEPTH },
    { "readdir", op_readdir, 1 },
};

/* ---- measuring ----------------------------------------------------------- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Return the CPU time of all threads, in seconds. */
static double computed(int pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", pid);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    double sum = 0;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *file = g_build_filename(path, name, "schedstat", NULL);
        g_autofree char *text = NULL;

        if (g_file_get_contents(file, &text, NULL, NULL))
            sum += g_ascii_strtod(text, NULL) / 1e9;
    }
    return sum;
}

static void measure(struct bench *b, const char *name,
                    void (*run)(struct bench *b), unsigned count)
{
    double start, end, cpu;
    unsigned long runs = 0;

    b->turn = 0;
    run(b);
    cpu = computed(b->pid);
    start = end = now();
    for (; end - start < b->seconds; end = now()) {
        for (int i = 0; i < 8; i++)
            run(b);
        runs += 8;
    }
    cpu = computed(b->pid) - cpu;
    printf("%s %lu runs %.3f wall-us/op %.3f cpu-us/op\n", name, runs,
           (end - start) * 1e6 / (double)(runs * count),
           cpu * 1e6 / (double)(runs * count));
    fflush(stdout);
}

/* ---- setting up ---------------------------------------------------------- */

static void connect_to(struct bench *b, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    b->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    if (connect(b->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        fail(path);
}

static void attach(struct bench *b, const char *aname)
{
    struct p9_message m = { .type = P9_TVERSION }, reply;

    m.version.msize = b->msize;
    m.version.version = p9_string(P9_VERSION);
    call(b, &m, &reply);
    b->msize = reply.version.msize;
    b->data = MIN(b->msize - P9_IO_HEADER, 512u << 10);
    m = (struct p9_message){ .type = P9_TATTACH };
    m.attach.fid = ROOT;
    m.attach.afid = P9_NO_FID;
    m.attach.uname = p9_string("");
    m.attach.aname = p9_string(aname);
    m.attach.uid = geteuid();
    call(b, &m, NULL);
}

static void make_tree(struct bench *b)
{
    struct p9_message m = { .type = P9_TMKDIR };

    m.mkdir.fid = ROOT;
    m.mkdir.name = p9_string("dir");
    m.mkdir.mode = 0755;
    m.mkdir.gid = getegid();
    call(b, &m, NULL);
    walk(b, ROOT, DIR_FID, "dir");
    for (int i = 0; i < ENTRIES; i++) {
        g_autofree char *name = g_strdup_printf("an-entry-%04d.txt", i);

        create(b, name);
        clunk(b, NEW_FID);
    }
    create(b, "a");
    clunk(b, NEW_FID);
    walk(b, DIR_FID, MOVED_FID, "a");
    create(b, "file");
    clunk(b, NEW_FID);
    walk(b, DIR_FID, FILE_FID, "file");
    lopen(b, FILE_FID, O_RDWR);
    for (uint64_t at = 0; at < FILE_SIZE; at += b->data) {
        m = write_message(b, b->data);
        m.write.offset = at;
        m.write.data.count = (uint32_t)MIN(b->data, FILE_SIZE - at);
        call(b, &m, NULL);
    }
}

static void run_named(struct bench *b, const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(operations); i++) {
        if (strcmp(name, operations[i].name) == 0) {
            measure(b, name, operations[i].run, operations[i].count);
            return;
        }
    }
    errno = EINVAL;
    fail(name);
}

int main(int argc, char **argv)
{
    g_autofree char *socket_path = NULL, *aname = NULL;
    struct bench b = { .seconds = 1 };
    int msize = 65536;
    const GOptionEntry entries[] = {
        { "socket", 0, 0, G_OPTION_ARG_FILENAME, &socket_path, "", "PATH" },
        { "aname", 0, 0, G_OPTION_ARG_STRING, &aname, "", "NAME" },
        { "pid", 0, 0, G_OPTION_ARG_INT, &b.pid, "", "PID" },
        { "msize", 0, 0, G_OPTION_ARG_INT, &msize, "", "BYTES" },
        { "seconds", 0, 0, G_OPTION_ARG_DOUBLE, &b.seconds, "", "S" },
        { NULL }
    };
    g_autoptr(GOptionContext) context = g_option_context_new("OPERATION...");

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, NULL) || !socket_path)
        return 2;
    b.msize = (uint32_t)CLAMP(msize, P9_MIN_MSIZE, MAX_MSIZE);
    b.out = g_malloc(MAX_MSIZE);
    b.in = g_malloc(MAX_MSIZE);
    connect_to(&b, socket_path);
    attach(&b, aname ? aname : "");
    printf("msize %u\n", b.msize);
    make_tree(&b);
    for (int i = 1; i < argc; i++)
        run_named(&b, argv[i]);
    g_free(b.out);
    g_free(b.in);
    return 0;
}

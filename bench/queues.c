/* SPDX-License-Identifier: Apache-2.0
 *
 * queues - does the daemon serve two request queues better than one?
 *
 * One thread per queue acts as a guest's CPU that waits for each reply. The
 * program starts the daemon itself. It prints one line for each operation and
 * number of queues:
 *
 *     lookup 2 3.21        us for one operation of all threads together
 *
 * A second argument names a tool (strace -fc -e trace=futex -p) to run on the
 * daemon's pid while two queues are in use: no operation may wait for a lock.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/virtiofs/fuse_client.h"

enum { QUEUES = 2, FILES = 64, BLOCK = 4096 };

#define PIECE(x)                                                               \
    {                                                                          \
        (void *)&(x), sizeof(x)                                                \
    }

static struct client *client;
static struct fuse_entry_out files[FILES];
static uint64_t handles[FILES];
static atomic_bool stop;

/* ---- operations on file i ------------------------------------------------ */

static int lookup(unsigned queue, unsigned i)
{
    char name[16];
    int len = snprintf(name, sizeof(name), "file-%u", i);
    struct iovec arg = { name, (size_t)len + 1 };

    return fuse_client_call(client, queue, FUSE_LOOKUP, FUSE_ROOT_ID, &arg, 1,
                            sizeof(struct fuse_entry_out), NULL, NULL);
}

static int getattr(unsigned queue, unsigned i)
{
    struct fuse_getattr_in in = { 0 };
    struct iovec arg = PIECE(in);

    return fuse_client_call(client, queue, FUSE_GETATTR, files[i].nodeid, &arg,
                            1, sizeof(struct fuse_attr_out), NULL, NULL);
}

static int read4k(unsigned queue, unsigned i)
{
    struct fuse_read_in in = { .fh = handles[i], .size = BLOCK };
    struct iovec arg = PIECE(in);

    return fuse_client_call(client, queue, FUSE_READ, files[i].nodeid, &arg, 1,
                            BLOCK, NULL, NULL);
}

static int write4k(unsigned queue, unsigned i)
{
    static const char block[BLOCK];
    struct fuse_write_in in = { .fh = handles[i], .size = BLOCK };
    struct iovec args[] = { PIECE(in), PIECE(block) };

    return fuse_client_call(client, queue, FUSE_WRITE, files[i].nodeid, args, 2,
                            sizeof(struct fuse_write_out), NULL, NULL);
}

static const struct operation {
    const char *name;
    int (*run)(unsigned queue, unsigned i);
} operations[] = {
    { "lookup", lookup },
    { "getattr", getattr },
    { "read4k", read4k },
    { "write4k", write4k },
};

/* ---- threads ------------------------------------------------------------- */

struct guest_cpu {
    const struct operation *operation;
    unsigned queue;
    uint64_t done;
    GThread *thread;
};

static gpointer run_cpu(gpointer data)
{
    struct guest_cpu *cpu = data;

    /* All threads use the same files, but rarely one at the same time. */
    for (unsigned i = cpu->queue * 7; !atomic_load(&stop); i++) {
        g_assert_cmpint(cpu->operation->run(cpu->queue, i % FILES), ==, 0);
        cpu->done++;
    }
    return NULL;
}

static double measure(const struct operation *operation, unsigned n,
                      double seconds)
{
    gint64 start = g_get_monotonic_time();
    struct guest_cpu cpus[QUEUES];
    uint64_t done = 0;

    atomic_store(&stop, false);
    for (unsigned i = 0; i < n; i++) {
        cpus[i] = (struct guest_cpu){ operation, i + 1, 0, NULL };
        cpus[i].thread = g_thread_new("guest", run_cpu, &cpus[i]);
    }
    g_usleep((gulong)(seconds * 1e6));
    atomic_store(&stop, true);
    for (unsigned i = 0; i < n; i++) {
        g_thread_join(cpus[i].thread);
        done += cpus[i].done;
    }
    return (double)(g_get_monotonic_time() - start) / (double)MAX(done, 1);
}

/* ---- the benchmark ------------------------------------------------------- */

static void make_files(void)
{
    for (unsigned i = 0; i < FILES; i++) {
        g_autofree char *name = g_strdup_printf("file-%u", i);
        static const char block[BLOCK];
        uint64_t node;

        g_assert_cmpint(fuse_client_create(client, FUSE_ROOT_ID, name, O_RDWR,
                                           &node, &handles[i]),
                        ==, 0);
        g_assert_cmpint(
            fuse_client_write(client, handles[i], 0, block, BLOCK, 0), ==,
            BLOCK);
        g_assert_cmpint(
            fuse_client_lookup(client, FUSE_ROOT_ID, name, &files[i]), ==, 0);
    }
}

static pid_t start_tool(const char *tool)
{
    g_autofree char *command = g_strdup_printf("exec %s %d", tool, client->pid);
    pid_t pid = fork();

    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(127);
    }
    g_usleep(G_USEC_PER_SEC / 2);
    return pid;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 2;
    const char *tool = argc > 2 ? argv[2] : NULL;
    const char *const arguments[] = { "--log-level=error", NULL };

    umask(0);
    client = fuse_client_new(CLIENT_EVENT_IDX, arguments);
    make_files();
    for (size_t i = 0; i < G_N_ELEMENTS(operations); i++) {
        for (unsigned n = 1; n <= QUEUES; n++) {
            pid_t pid = tool && n == QUEUES ? start_tool(tool) : 0;

            printf("%s %u %.3f\n", operations[i].name, n,
                   measure(&operations[i], n, seconds));
            fflush(stdout);
            if (pid > 0) {
                kill(pid, SIGINT);
                waitpid(pid, NULL, 0);
            }
        }
    }
    client_free(client);
    return 0;
}

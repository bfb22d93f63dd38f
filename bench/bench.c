/* SPDX-License-Identifier: Apache-2.0
 *
 * bench - see bench.h.
 */
#include "bench/bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static GString *line;
static int64_t last_step;

static double clock_seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct bench_span bench_start(void)
{
    return (struct bench_span){
        .wall = clock_seconds(CLOCK_MONOTONIC),
        .cpu = clock_seconds(CLOCK_PROCESS_CPUTIME_ID),
    };
}

struct bench_span bench_stop(struct bench_span start)
{
    struct bench_span now = bench_start();

    return (struct bench_span){ now.wall - start.wall, now.cpu - start.cpu };
}

void bench_add_number(const char *name, double value)
{
    if (!line)
        line = g_string_new(NULL);
    g_string_append_printf(line, "%s\"%s\":%.9g", line->len > 0 ? "," : "",
                           name, value);
}

void bench_add_span(const char *name, struct bench_span span)
{
    g_autofree char *cpu = g_strconcat(name, "_cpu", NULL);

    bench_add_number(name, span.wall);
    bench_add_number(cpu, span.cpu);
}

void bench_print(void)
{
    printf("{%s}\n", line ? line->str : "");
    fflush(stdout);
    g_string_free(g_steal_pointer(&line), TRUE);
}

void bench_check(ssize_t rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "bench-engine: %s: %s\n", what, g_strerror((int)-rc));
    exit(1);
}

/* ---- the engine ---------------------------------------------------------- */

static void check_error(gboolean ok, GError **error)
{
    if (ok)
        return;
    fprintf(stderr, "bench-engine: %s\n", (*error)->message);
    exit(1);
}

struct ic *bench_open(const char *share, const char *undo)
{
    struct ic_options options = { .share = share, .undo_dir = undo };
    GError *error = NULL;
    struct ic *ic;

    ic_set_log(1, "bench-engine");
    ic = ic_open_share(&options, &error);
    check_error(ic != NULL, &error);
    last_step = ic_last_step_id(ic);
    return ic;
}

void bench_step_open(struct ic *ic)
{
    GError *error = NULL;

    check_error(ic_step_open(ic, ++last_step, IC_STEP_COMMAND, "bench", &error),
                &error);
}

void bench_step_close(struct ic *ic)
{
    GError *error = NULL;

    check_error(ic_step_close(ic, last_step, 0, 0, 0, NULL, &error), &error);
}

void bench_rollback(struct ic *ic)
{
    GError *error = NULL;

    check_error(ic_rollback(ic, 1, false, NULL, &error), &error);
}

struct ic_inode *bench_lookup(struct ic *ic, struct ic_inode *dir,
                              const char *name)
{
    struct ic_inode *inode;

    bench_check(ic_lookup(ic, dir, name, &inode, NULL), name);
    return inode;
}

/* ---- the disk ------------------------------------------------------------ */

static bool is_moved(const char *name)
{
    return name[0] == 'i' && name[1] >= '0' && name[1] <= '9';
}

static double tree_bytes(int dirfd, const char *name)
{
    int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    double sum = 0;

    bench_check(dir ? 0 : -errno, name);
    while ((entry = readdir(dir))) {
        struct stat st;

        if (strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0 || is_moved(entry->d_name) ||
            strcmp(entry->d_name, "reserve") == 0 ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        sum += (double)st.st_blocks * 512;
        if (S_ISDIR(st.st_mode))
            sum += tree_bytes(fd, entry->d_name);
    }
    closedir(dir);
    return sum;
}

double bench_log_bytes(const char *undo)
{
    return undo ? tree_bytes(AT_FDCWD, undo) : 0;
}

/* xorshift: the content must differ, not be random. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void fill(char *data, size_t len, uint64_t *state)
{
    static const char *const words[] = {
        "return ", "static ",  "if (rc < 0)\n", "struct ", "    ", "int ",
        "name",    "inode->",  ";\n",           "(",       ")",    "data",
        "step",    "\n{\n",    "}\n",           ", ",      "fd",   "0x",
        "length",  " = NULL;", "for (",         "size_t ", "&",    "\t",
    };
    size_t at = 0;

    while (at < len) {
        uint64_t random = next_random(state);
        const char *word = words[random % G_N_ELEMENTS(words)];
        size_t n = MIN(strlen(word), len - at);

        memcpy(data + at, word, n);
        at += n;
        if (random >> 60 < 6 && at < len) /* occasional numbers */
            data[at++] = (char)('0' + (random >> 32) % 10);
    }
}

void bench_write_file(int dirfd, const char *name, uint64_t size, uint64_t seed)
{
    int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                    0644);
    uint64_t state = seed * 2654435761 + 88172645463325252;
    size_t chunk = MIN(size, 1 << 20);
    g_autofree char *data = g_malloc(chunk + 1);

    bench_check(fd < 0 ? -errno : 0, name);
    for (uint64_t left = size; left > 0;) {
        size_t n = (size_t)MIN(left, chunk);

        fill(data, n, &state);
        if (write(fd, data, n) != (ssize_t)n)
            bench_check(-errno, name);
        left -= n;
    }
    close(fd);
}

void bench_make_tree(const char *path, unsigned files, uint64_t bytes,
                     unsigned per_dir)
{
    int dirfd = -1;

    bench_check(mkdir(path, 0755) < 0 ? -errno : 0, path);
    for (unsigned i = 0; i < files; i++) {
        g_autofree char *name = g_strdup_printf("file-%06u.c", i);

        if (i % per_dir == 0) {
            g_autofree char *dir = g_strdup_printf("%s/folder-%04u", path,
                                                   i / per_dir);

            if (dirfd >= 0)
                close(dirfd);
            bench_check(mkdir(dir, 0755) < 0 ? -errno : 0, dir);
            dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
        bench_write_file(dirfd, name, bytes, i + 1);
    }
    if (dirfd >= 0)
        close(dirfd);
}

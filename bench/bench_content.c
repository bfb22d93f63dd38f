/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_content - benchmarks of writing.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "bench/bench.h"

enum { CHUNK = 1 << 20, SMALL = 4096 };

struct file {
    struct ic *ic;
    struct ic_inode *inode;
    int fd;
};

static struct file open_file(const char *share, const char *undo,
                             const char *name)
{
    struct file file = { .ic = bench_open(share, undo) };

    file.inode = bench_lookup(file.ic, ic_root(file.ic), name);
    bench_check(ic_open(file.ic, file.inode, O_RDWR, &file.fd), name);
    return file;
}

static void close_file(struct file *file)
{
    close(file->fd);
    ic_inode_unref(file->inode);
    ic_close(file->ic);
}

static void write_at(struct file *file, void *data, size_t len, off_t offset)
{
    struct iovec iov = { data, len };
    ssize_t n = ic_pwritev(file->ic, file->inode, file->fd, &iov, 1, offset, 0,
                           false);

    bench_check(n == (ssize_t)len ? 0 : n < 0 ? n : -EIO, "write");
}

static void make_file(const char *share, const char *name, uint64_t size)
{
    int dirfd = open(share, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    bench_check(dirfd < 0 ? -errno : 0, share);
    bench_write_file(dirfd, name, size, 1);
    if (syncfs(dirfd) < 0) /* or the next benchmark pays for it */
        bench_check(-errno, share);
    close(dirfd);
}

/* Overwrite a whole file, commit, undo. */
void bench_content(uint64_t size, const char *share, const char *undo)
{
    g_autofree char *data = g_malloc0(CHUNK);
    struct bench_span span;
    struct file file;
    double before;

    make_file(share, "file", size);
    file = open_file(share, undo, "file");
    before = bench_log_bytes(undo);
    if (undo)
        bench_step_open(file.ic);
    span = bench_start();
    for (uint64_t at = 0; at < size; at += CHUNK)
        write_at(&file, data, (size_t)MIN(size - at, CHUNK), (off_t)at);
    bench_add_span("change", bench_stop(span));
    if (undo) {
        bench_add_number("log_bytes", bench_log_bytes(undo) - before);
        span = bench_start();
        bench_step_close(file.ic);
        bench_add_span("commit", bench_stop(span));
        span = bench_start();
        bench_rollback(file.ic);
        bench_add_span("undo", bench_stop(span));
    }
    span = bench_start();
    close_file(&file);
    bench_add_span("close", bench_stop(span));
    bench_print();
}

/* Write a file in single blocks, so that the page cache holds one page per
 * block: in a large page (folio) the cost of a write grows with the page's
 * number of blocks, and it is random which file gets large pages. */
static void write_small(struct file *file, char *data)
{
    for (off_t at = 0; at < CHUNK; at += SMALL)
        write_at(file, data, SMALL, at);
}

/* Rewrite blocks that the step has captured already, in turn with the same
 * writes without a log. One line per round. */
void bench_rewrite(unsigned writes, unsigned rounds, const char *share,
                   const char *undo)
{
    g_autofree char *data = g_malloc0(SMALL);
    struct file with, without;

    make_file(share, "with", 0);
    make_file(share, "without", 0);
    without = open_file(share, NULL, "without");
    write_small(&without, data);
    with = open_file(share, undo, "with");
    write_small(&with, data);
    bench_step_open(with.ic);
    write_small(&with, data);
    for (unsigned round = 0; round < 2 * rounds; round++) {
        /* with first, without first, and so on */
        bool is_with = (round + round / 2) % 2 == 0;
        struct file *file = is_with ? &with : &without;
        struct bench_span span = bench_start();

        for (unsigned i = 0; i < writes; i++)
            write_at(file, data, SMALL, (off_t)(i * SMALL % CHUNK));
        bench_add_span(is_with ? "with" : "without", bench_stop(span));
        if (round % 2 == 1)
            bench_print();
    }
    close_file(&with);
    close_file(&without);
}

/* Write a few bytes into a large file, each time in a new step. One line per
 * round. */
void bench_first_write(uint64_t size, unsigned rounds, const char *share,
                       const char *undo)
{
    g_autofree char *data = g_malloc0(SMALL);
    struct file file;
    double empty; /* content captured by the last round's redo is dropped by a
                   * write */

    make_file(share, "big", size);
    file = open_file(share, undo, "big");
    empty = bench_log_bytes(undo);
    for (unsigned round = 0; round < rounds; round++) {
        off_t at = (off_t)(size / (rounds + 1) * (round + 1) / SMALL * SMALL);
        struct bench_span span;

        if (undo)
            bench_step_open(file.ic);
        span = bench_start();
        write_at(&file, data, SMALL, at);
        bench_add_span("change", bench_stop(span));
        if (undo) {
            bench_add_number("log_bytes", bench_log_bytes(undo) - empty);
            span = bench_start();
            bench_step_close(file.ic);
            bench_add_span("commit", bench_stop(span));
            span = bench_start();
            bench_rollback(file.ic);
            bench_add_span("undo", bench_stop(span));
        }
        bench_print();
    }
    close_file(&file);
}

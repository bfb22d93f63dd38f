/* SPDX-License-Identifier: Apache-2.0
 *
 * bench - what the measurements of bench-engine share.
 *
 * A measurement is a line of JSON on stdout: spans of time by name, and
 * counts. bench/run runs it, several times and in turn with what it is
 * compared with, and makes the table.
 *
 * Only the library's public header is used: this is a file server like any.
 *
 * Threads: one. Errors end the program.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <glib.h>
#include <stdint.h>

#include "interceptor/interceptor.h"

/* Time from bench_start() to bench_stop(): of the clock, and of all threads of
 * this process in user and kernel mode. Seconds. */
struct bench_span {
    double wall, cpu;
};
struct bench_span bench_start(void);
struct bench_span bench_stop(struct bench_span start);

/* Add to the line that bench_print() prints and frees. */
void bench_add_span(const char *name, struct bench_span span);
void bench_add_number(const char *name, double value);
void bench_print(void);

/* Die unless rc is no negated errno. */
void bench_check(ssize_t rc, const char *what);

/* Open an engine; undo may be NULL. */
struct ic *bench_open(const char *share, const char *undo);

void bench_step_open(struct ic *ic);
void bench_step_close(struct ic *ic);
void bench_rollback(struct ic *ic);

/* A name in a directory, looked up: a new reference. */
struct ic_inode *bench_lookup(struct ic *ic, struct ic_inode *dir,
                              const char *name);

/* Bytes on disk of the log, without the inodes that were moved into it (they
 * cost nothing more there than in the share) and its reserve. */
double bench_log_bytes(const char *undo);

/* Write a file of size bytes of what looks like text: different for each seed,
 * compressible. */
void bench_write_file(int dirfd, const char *name, uint64_t size,
                      uint64_t seed);

/* A folder with files in folders of per_dir files each. */
void bench_make_tree(const char *path, unsigned files, uint64_t bytes,
                     unsigned per_dir);

/* bench_names.c: many paths, and what costs the same for any number. */
void bench_paths(const char *kind, unsigned files, const char *share,
                 const char *undo);
void bench_remove(const char *share, const char *undo);
void bench_rename(const char *share, const char *undo);

/* bench_content.c */
void bench_content(uint64_t size, const char *share, const char *undo);
void bench_rewrite(unsigned writes, unsigned rounds, const char *share,
                   const char *undo);
void bench_first_write(uint64_t size, unsigned rounds, const char *share,
                       const char *undo);

#endif

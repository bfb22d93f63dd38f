/* SPDX-License-Identifier: Apache-2.0
 *
 * bench - common helpers of bench-engine's benchmarks.
 *
 * A benchmark prints a line of JSON on stdout: time spans by name, and counts.
 * bench/run runs it several times, in turn with its alternatives, and prints
 * the table.
 *
 * Only the library's public header is used, as in any file server.
 *
 * Threads: one. Errors exit the program.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <glib.h>
#include <stdint.h>

#include "interceptor/interceptor.h"

/* Time between bench_start() and bench_stop(), in seconds: wall-clock time, and
 * user and system CPU time of all threads of this process. */
struct bench_span {
    double wall, cpu;
};
struct bench_span bench_start(void);
struct bench_span bench_stop(struct bench_span start);

/* Add to the line that bench_print() prints and frees. */
void bench_add_span(const char *name, struct bench_span span);
void bench_add_number(const char *name, double value);
void bench_print(void);

/* Exit with an error if rc is a negated errno. */
void bench_check(ssize_t rc, const char *what);

/* Open an engine; undo may be NULL. */
struct ic *bench_open(const char *share, const char *undo);

void bench_step_open(struct ic *ic);
void bench_step_close(struct ic *ic);
void bench_rollback(struct ic *ic);

/* Look up a name in a directory. Return a new reference. */
struct ic_inode *bench_lookup(struct ic *ic, struct ic_inode *dir,
                              const char *name);

/* Return the size of the log on disk in bytes, without its reserve and the
 * inodes that were moved into it (they take no more space than in the
 * share). */
double bench_log_bytes(const char *undo);

/* Write a file of size bytes of text-like, compressible content that depends on
 * the seed. */
void bench_write_file(int dirfd, const char *name, uint64_t size,
                      uint64_t seed);

/* Create a directory tree of files, per_dir in each directory. */
void bench_make_tree(const char *path, unsigned files, uint64_t bytes,
                     unsigned per_dir);

/* bench_names.c: many paths, and operations whose cost does not depend on the
 * number of files. */
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle_map - what is data and what is a hole in a file (oracle.h).
 *
 * " map:" and runs: D what has other bytes than zeros, Z zeros that are stored,
 * H a hole, U room that was allocated and not written to; then a hash of what
 * is in D. Nobody can tell U from the others for long: to the kernel it is a
 * hole until it is read, and data from then on. So as a part of one tree it is
 * equal to a Z or an H in the other. Where the filesystem does not tell (tmpfs)
 * all zeros are U.
 */
#ifndef TESTS_ORACLE_MAP_H
#define TESTS_ORACLE_MAP_H

#include <glib.h>
#include <sys/types.h>

/* Append it to a line. 0 or -errno. */
int oracle_map_append(GString *line, int fd, off_t size);

/* Are two lines equal, U taken as above? */
gboolean oracle_map_equal(const char *a, const char *b);

/* The line without the runs: equal lines have equal ones. */
char *oracle_map_strip(const char *line);

#endif

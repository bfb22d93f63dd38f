/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle_map - which parts of a file are data and which are holes (oracle.h).
 *
 * " map:" and runs: D with bytes other than zero, Z stored zeros, H a hole, U
 * allocated and unwritten; then a hash of the content of D. U is not a stable
 * state: the kernel reports a hole until the range is read, and data from then
 * on. So U in one tree equals Z or H in the other. If the file system does not
 * report holes (tmpfs), all zeros are U.
 */
#ifndef TESTS_ORACLE_MAP_H
#define TESTS_ORACLE_MAP_H

#include <glib.h>
#include <sys/types.h>

/* Append the map to a line. 0 or -errno. */
int oracle_map_append(GString *line, int fd, off_t size);

/* Return whether two lines are equal, with U taken as above. */
gboolean oracle_map_equal(const char *a, const char *b);

/* Return the line without the runs: the same for equal lines. */
char *oracle_map_strip(const char *line);

#endif

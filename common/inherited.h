/* SPDX-License-Identifier: Apache-2.0
 *
 * inherited - file descriptors and signal dispositions inherited from the
 * parent.
 *
 * Threads: call before any thread starts.
 */
#ifndef COMMON_INHERITED_H
#define COMMON_INHERITED_H

#include <stdbool.h>

/* Open /dev/null for each of standard input, output and error that is closed: a
 * file opened later must not get its number, or output would go there. Return
 * false, with a message on standard error, on failure. */
bool inherited_streams_fill(void);

/* Return whether the parent ignores the signal, as nohup(1) does, and a shell
 * for its background jobs. The disposition should then be kept. */
bool inherited_signal_is_ignored(int number);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * inherited - what a program has from whoever started it.
 *
 * Threads: before there are others.
 */
#ifndef COMMON_INHERITED_H
#define COMMON_INHERITED_H

#include <stdbool.h>

/* /dev/null for each of standard input, output and error that was closed: what
 * is opened next must not take its number, for what is printed would go there.
 * False, and a message on standard error, if that cannot be had. */
bool inherited_streams_fill(void);

/* Whether who started us wants the signal ignored, as nohup(1) does and a shell
 * for what runs in its background. Then it is to be left so. */
bool inherited_signal_is_ignored(int number);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * log_stream - keep logging to standard error from blocking.
 */
#ifndef AGENT_BASE_LOG_STREAM_H
#define AGENT_BASE_LOG_STREAM_H

/* Make standard error non-blocking if it is a pipe or a socket: the reader may
 * never read. From then on, output that does not fit is lost. */
void log_stream_never_wait(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * log_stream - standard error, where the log goes.
 */
#ifndef AGENT_BASE_LOG_STREAM_H
#define AGENT_BASE_LOG_STREAM_H

/* Who holds the other end of standard error may never read it. From now on what
 * such a pipe or socket has no room for is lost, instead of being waited for.
 */
void log_stream_never_wait(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * copy_worker - between the supervisor and "stepback copy-worker": its command,
 * and how its line on standard error begins.
 */
#ifndef AGENT_BASE_COPY_WORKER_H
#define AGENT_BASE_COPY_WORKER_H

#define COPY_WORKER "copy-worker"

#define COPY_WORKER_DONE   "done "   /* entries and skipped entries follow */
#define COPY_WORKER_FAILED "failed " /* the problem follows */
#define COPY_WORKER_STREAM "stream " /* the same: the guest may know why */

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * packer - compress the packs of committed steps, off the write path.
 *
 * One thread, started at first use. It works on a step's blobs folder through
 * an fd, so the step may be renamed meanwhile; it is paused during rollbacks.
 *
 * Threads: all calls except packer_new() and packer_free() from any.
 */
#ifndef INTERCEPTOR_LOG_PACKER_H
#define INTERCEPTOR_LOG_PACKER_H

#include <stdbool.h>

struct packer;

struct packer *packer_new(void);

/* Stop the running compression; its pack stays uncompressed. NULL is allowed.
 */
void packer_free(struct packer *packer);

/* Queue the pack in this folder (borrowed). If the queue is full, its oldest
 * entry is dropped and stays uncompressed. sync: see pack_compress(). */
void packer_add(struct packer *packer, int blobs, bool sync);

/* Between the two calls nothing is compressed. */
void packer_pause(struct packer *packer);
void packer_resume(struct packer *packer);

#endif

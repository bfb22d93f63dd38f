/* SPDX-License-Identifier: Apache-2.0
 *
 * packer - compresses the packs of committed steps, off the write path.
 *
 * One thread, made when it is first needed. It works on a step's blobs folder
 * by its fd, so the step may be renamed meanwhile; while steps are taken back
 * it is paused.
 *
 * Threads: all calls but packer_new() and packer_free() from any.
 */
#ifndef INTERCEPTOR_LOG_PACKER_H
#define INTERCEPTOR_LOG_PACKER_H

#include <stdbool.h>

struct packer;

struct packer *packer_new(void);

/* Stops what is being compressed; it stays as it was. NULL is allowed. */
void packer_free(struct packer *packer);

/* Compress the pack in this folder (borrowed) some time. If too many wait, the
 * oldest of them is left as it is. sync: see pack_compress(). */
void packer_add(struct packer *packer, int blobs, bool sync);

/* Between the two nothing is compressed. */
void packer_pause(struct packer *packer);
void packer_resume(struct packer *packer);

#endif

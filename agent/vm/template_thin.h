/* SPDX-License-Identifier: Apache-2.0
 *
 * template_thin - leave the guest's empty pages out of a saved state.
 *
 * QEMU saves a page that is all zeros as a record without data. When it loads
 * one, it compares the page with zeros, and that read allocates a page of a
 * memfd: the machine has all of its memory at once, and its start takes longer
 * by a page fault for each. The memory of a new machine is all zeros anyway.
 *
 * The layout of the migration stream: QEMU's docs/devel/migration, and its
 * "analyze-migration.py"; that of RAM is version 4 since QEMU 1.3. Other blocks
 * than the guest's memory (firmware, which QEMU loads before the state) keep
 * all of their records. A stream that has anything else before the end of its
 * RAM, such as one of another architecture, stays as it is.
 */
#ifndef AGENT_VM_TEMPLATE_THIN_H
#define AGENT_VM_TEMPLATE_THIN_H

#include <stddef.h>
#include <stdint.h>

/* Rewrite a stream in place, without its empty pages. Returns its new size;
 * size if nothing was changed. */
size_t template_thin(uint8_t *stream, size_t size);

/* The same for the rest of a file from this offset on, which is then shorter.
 * Return 0 or -errno; the file can then not be used. */
int template_thin_file(int fd, size_t offset);

#endif

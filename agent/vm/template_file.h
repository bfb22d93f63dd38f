/* SPDX-License-Identifier: Apache-2.0
 *
 * template_file - the file of a template: a header and QEMU's state.
 *
 *     0      "stepback template 1\nkey KEY\nbytes N\nsum SUM\n", then NULs
 *     4096   the migration stream of QEMU, N bytes to the end of the file
 *
 * The sum finds a file that was cut or has changed bits; it is no protection
 * from a writer with intent. It is computed at memory speed, because each start
 * computes it: QEMU itself would notice damage of the devices' state alone, not
 * of the guest's memory.
 */
#ifndef AGENT_VM_TEMPLATE_FILE_H
#define AGENT_VM_TEMPLATE_FILE_H

#include <stdint.h>

enum { TEMPLATE_FILE_HEADER = 4096 };

/* Write the header of a file that has its state, and sync the file. Return 0 or
 * -errno. */
int template_file_seal(int fd, const char *key);

/* Compare a file with its header, and set the file's position to the state.
 * Return 0 or -errno; -EBADMSG: it is damaged, or of another key. */
int template_file_check(int fd, const char *key);

#endif

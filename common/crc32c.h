/* SPDX-License-Identifier: Apache-2.0
 *
 * crc32c - the Castagnoli CRC (RFC 3720, appendix B.4), for log records.
 */
#ifndef COMMON_CRC32C_H
#define COMMON_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Return the CRC of data; that of "123456789" is 0xe3069283. Uses the
 * processor's instruction if it has one. Any thread. */
uint32_t crc32c(const void *data, size_t len);

/* The same by a table, on any processor. */
uint32_t crc32c_portable(const void *data, size_t len);

#endif

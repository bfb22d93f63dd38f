/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_input - read an input of a fuzz target as a script.
 *
 * After the end of the input everything is 0. A number is one byte: an index
 * into a table of error-prone numbers (fuzz_input.c), or from 32 on itself less
 * 32, or from 200 on a mark that its 8 bytes follow.
 *
 * One thread.
 */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_input {
    const uint8_t *at; /* borrowed */
    size_t left;
};

uint8_t fuzz_input_byte(struct fuzz_input *input);
uint64_t fuzz_input_number(struct fuzz_input *input);

/* Up to size bytes, *size of them. Borrowed. */
const uint8_t *fuzz_input_bytes(struct fuzz_input *input, size_t *size);

#endif

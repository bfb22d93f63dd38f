/* SPDX-License-Identifier: Apache-2.0
 *
 * check_judge - judges a guest's bytes for api.example.org.
 */
#ifndef TESTS_PROXY_CHECK_JUDGE_H
#define TESTS_PROXY_CHECK_JUDGE_H

#include "proxy/guest_check.h"

#define NAME "api.example.org"
#define PORT 80

struct result {
    bool ok;
    size_t passed;
    struct guest_check check;
};

/* Offer the bytes up to each multiple of step. */
struct result judge_by(enum guest_check_kind kind, const char *data,
                       size_t length, size_t step);

/* Judge them at once and byte by byte; both must have the same result. */
struct result judge(enum guest_check_kind kind, const char *data,
                    size_t length);

#endif

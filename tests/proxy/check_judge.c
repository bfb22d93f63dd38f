/* SPDX-License-Identifier: Apache-2.0
 *
 * check_judge - see check_judge.h.
 */
#include "tests/proxy/check_judge.h"

#include <glib.h>

struct result judge_by(enum guest_check_kind kind, const char *data,
                       size_t length, size_t step)
{
    struct result result = { .ok = true };
    size_t at = 0;

    guest_check_init(&result.check, kind, NAME, PORT);
    while (result.ok && at < length) {
        size_t passed;

        at = MIN(length, at + step);
        result.ok = guest_check_judge(&result.check, data + result.passed,
                                      at - result.passed, &passed);
        result.passed += passed;
    }
    return result;
}

struct result judge(enum guest_check_kind kind, const char *data, size_t length)
{
    struct result all = judge_by(kind, data, length, length);
    struct result bytes = judge_by(kind, data, length, 1);

    g_assert_cmpint(all.ok, ==, bytes.ok);
    g_assert_cmpuint(all.passed, ==, bytes.passed);
    g_assert_cmpstr(all.check.refusal.reason, ==, bytes.check.refusal.reason);
    return all;
}

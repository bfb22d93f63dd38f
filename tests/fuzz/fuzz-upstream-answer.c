/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-upstream-answer - a strange upstream proxy's answer to CONNECT
 * (upstream_answer.h).
 *
 * The result must not depend on how the bytes are divided. A tunnel begins
 * right behind an empty line, and never without "200" or the like at the start
 * of a line; a problem is short and printable.
 */
#include <glib.h>
#include <string.h>

#include "proxy/upstream_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PROBLEM_MAX = 250 };

struct result {
    enum upstream_answer_verdict verdict;
    size_t used;
    char *problem;
};

static struct result read_in_steps(const uint8_t *data, size_t size,
                                   size_t step)
{
    struct upstream_answer answer = { 0 };
    struct result result = { 0 };

    while (result.used < size && result.verdict == UPSTREAM_ANSWER_MORE) {
        size_t length = MIN(step, size - result.used), used;
        /* A buffer of the exact size, for the sanitizer. */
        char *copy = g_memdup2(data + result.used, length);

        result.verdict = upstream_answer_read(&answer, copy, length, &used);
        g_assert_cmpuint(used, <=, length);
        g_assert_true(result.verdict != UPSTREAM_ANSWER_MORE || used == length);
        result.used += used;
        g_free(copy);
    }
    g_assert_true((result.verdict == UPSTREAM_ANSWER_REFUSED) ==
                  (answer.problem != NULL));
    result.problem = g_strdup(answer.problem);
    upstream_answer_clear(&answer);
    return result;
}

static void check_problem(const char *problem)
{
    g_assert_cmpuint(strlen(problem), <, PROBLEM_MAX);
    for (; *problem; problem++)
        g_assert_true(g_ascii_isprint(*problem));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = { 1, 7, 4096 };
    struct result all = read_in_steps(data, size, MAX(size, 1));

    if (all.verdict == UPSTREAM_ANSWER_TUNNEL) {
        g_assert_cmpuint(all.used, >=, 16);
        g_assert_true(memcmp(data + all.used - 4, "\r\n\r\n", 4) == 0);
        g_assert_true(memmem(data, all.used, "HTTP/1.1 2", 10) ||
                      memmem(data, all.used, "HTTP/1.0 2", 10));
    }
    g_assert_cmpuint(all.used, <=, UPSTREAM_ANSWER_MAX);
    g_assert_true(all.verdict != UPSTREAM_ANSWER_MORE ||
                  size < UPSTREAM_ANSWER_MAX);
    if (all.problem)
        check_problem(all.problem);
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
        struct result other = read_in_steps(data, size, steps[i]);

        g_assert_cmpint(other.verdict, ==, all.verdict);
        g_assert_cmpuint(other.used, ==, all.used);
        g_assert_cmpstr(other.problem, ==, all.problem);
        g_free(other.problem);
    }
    g_free(all.problem);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * fault - see fault.h. Compiled with --enable-fault-injection alone.
 */
#include "interceptor/fault.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct fault_plan plan;
static atomic_uint changes, looks;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* This thread is in the call that the plan means. */
static _Thread_local bool is_here;

/* ---- the environment ----------------------------------------------------- */

static const struct {
    const char *name;
    enum fault_action action, with_error;
} words[] = {
    { "kill-before", FAULT_KILL_BEFORE, FAULT_NONE },
    { "kill-after", FAULT_KILL_AFTER, FAULT_NONE },
    { "torn", FAULT_TORN, FAULT_TORN_ERRNO },
    { "errno", FAULT_NONE, FAULT_ERRNO },
    { "errno-from", FAULT_NONE, FAULT_ERRNO_FROM },
    { "look-errno", FAULT_NONE, FAULT_LOOK_ERRNO },
};

static int parse_error(const char *name)
{
    for (int error = 1; error < 134; error++) {
        const char *known = strerrorname_np(error);

        if (known && strcmp(known, name) == 0)
            return error;
    }
    return 0;
}

static bool parse(const char *text, struct fault_plan *ret_plan)
{
    char word[16], error[16] = "";
    unsigned point;

    if (sscanf(text, "%15[a-z-]:%u:%15[A-Z0-9]", word, &point, error) < 2)
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i].name, word) != 0)
            continue;
        *ret_plan = (struct fault_plan){
            .action = *error ? words[i].with_error : words[i].action,
            .point = point,
            .error = parse_error(error),
        };
        return ret_plan->action != FAULT_NONE &&
               (!*error || ret_plan->error != 0);
    }
    return false;
}

/* A plan that is not understood must not look like a test that passed. */
static void read_environment(void)
{
    const char *text = getenv("STEPBACK_FAULT");

    if (text && !parse(text, &plan)) {
        fprintf(stderr, "STEPBACK_FAULT=%s is not understood\n", text);
        abort();
    }
}

/* ---- the plan ------------------------------------------------------------ */

void fault_set(const struct fault_plan *wanted)
{
    pthread_once(&once, read_environment);
    plan = wanted ? *wanted : (struct fault_plan){ .action = FAULT_NONE };
    atomic_store(&changes, 0);
    atomic_store(&looks, 0);
    is_here = false;
}

unsigned fault_count(void)
{
    return atomic_load(&changes);
}

unsigned fault_look_count(void)
{
    return atomic_load(&looks);
}

static void tell(unsigned point, const char *call, const char *name)
{
    if (plan.fired)
        plan.fired(point, call, name, plan.opaque);
    else
        fprintf(stderr, "fault: point %u: %s %s\n", point, call,
                name ? name : "");
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    _exit(128 + SIGKILL); /* a sandbox does not let us send signals */
}

static bool fail(void)
{
    errno = plan.error;
    return true;
}

bool fault_fails(const char *call, const char *name)
{
    unsigned point;

    pthread_once(&once, read_environment);
    point = atomic_fetch_add(&changes, 1) + 1;
    is_here = point == plan.point;
    if (plan.action == FAULT_ERRNO_FROM && point > plan.point)
        return fail();
    if (plan.action == FAULT_TORN_ERRNO && point == plan.point + 1)
        return fail();
    if (!is_here || plan.action == FAULT_NONE ||
        plan.action == FAULT_LOOK_ERRNO)
        return false;
    tell(point, call, name);
    if (plan.action == FAULT_KILL_BEFORE)
        die();
    return plan.action == FAULT_ERRNO || plan.action == FAULT_ERRNO_FROM
               ? fail()
               : false;
}

bool fault_look_fails(const char *call, const char *name)
{
    unsigned point;

    pthread_once(&once, read_environment);
    point = atomic_fetch_add(&looks, 1) + 1;
    if (plan.action != FAULT_LOOK_ERRNO || point != plan.point)
        return false;
    tell(point, call, name);
    return fail();
}

size_t fault_cut(size_t len)
{
    bool torn = is_here &&
                (plan.action == FAULT_TORN || plan.action == FAULT_TORN_ERRNO);

    return torn && len > 1 ? len / 2 : len;
}

ssize_t fault_done(ssize_t result)
{
    if (is_here &&
        (plan.action == FAULT_KILL_AFTER || plan.action == FAULT_TORN))
        die();
    return result;
}

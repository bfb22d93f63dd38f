/* SPDX-License-Identifier: Apache-2.0
 *
 * fault - see fault.h. Compiled only with --enable-fault-injection.
 */
#include "interceptor/sys/fault.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct fault_board own_board, *board = &own_board;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* true while this thread is in the call that the plan names */
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
    { "list-errno", FAULT_NONE, FAULT_LIST_ERRNO },
    { "list-errno-from", FAULT_NONE, FAULT_LIST_ERRNO_FROM },
    { "full", FAULT_NONE, FAULT_FULL },
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

static struct fault_board *map_board(const char *text)
{
    char *end;
    int fd = (int)strtol(text, &end, 10);
    void *map = *end ? MAP_FAILED
                     : mmap(NULL, sizeof(struct fault_board),
                            PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return map == MAP_FAILED ? NULL : map;
}

/* A malformed plan ends the process: otherwise the test would seem to pass. */
static void read_environment(void)
{
    const char *text = getenv("STEPBACK_FAULT");
    const char *fd = getenv("STEPBACK_FAULT_FD");
    struct fault_plan plan;

    if ((text && !parse(text, &plan)) || (fd && !(board = map_board(fd)))) {
        fprintf(stderr, "STEPBACK_FAULT=%s: not understood\n",
                text ? text : fd);
        abort();
    }
    if (text)
        fault_set(board, &plan);
}

/* ---- the plan ------------------------------------------------------------ */

void fault_set(struct fault_board *on, const struct fault_plan *wanted)
{
    atomic_store(&on->armed, false);
    atomic_store(&on->full, false);
    atomic_store(&on->changes, 0);
    atomic_store(&on->looks, 0);
    atomic_store(&on->lists, 0);
    on->plan = wanted ? *wanted : (struct fault_plan){ .action = FAULT_NONE };
    if (wanted) {
        atomic_store(&on->fired, 0);
        atomic_store(&on->armed, true);
    }
}

unsigned fault_fill(struct fault_board *on)
{
    atomic_store(&on->full, on->plan.action == FAULT_FULL);
    return atomic_load(&on->changes);
}

void fault_use(struct fault_board *wanted)
{
    pthread_once(&once, read_environment);
    board = wanted;
}

static void tell(unsigned point, const char *call, const char *name)
{
    snprintf(board->call, sizeof(board->call), "%s", call);
    snprintf(board->name, sizeof(board->name), "%s", name ? name : "");
    atomic_store(&board->fired, point);
    if (board == &own_board)
        fprintf(stderr, "fault: point %u: %s %s\n", point, call, board->name);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    _exit(128 + SIGKILL); /* the sandbox forbids sending signals */
}

static bool fail(void)
{
    errno = board->plan.error;
    return true;
}

/* Count one point and return the action planned for it, with its number in
 * *ret_point. The caller must read the counter from the board only after the
 * environment has been read. */
static enum fault_action count_point(size_t counter, unsigned *ret_point)
{
    pthread_once(&once, read_environment);
    *ret_point = 1 + atomic_fetch_add(
                         (atomic_uint *)(void *)((char *)board + counter), 1);
    return atomic_load(&board->armed) ? board->plan.action : FAULT_NONE;
}

static bool is_among(const char *call, const char *const *calls)
{
    while (*calls && strcmp(*calls, call) != 0)
        calls++;
    return *calls != NULL;
}

static bool needs_room(const char *call)
{
    static const char *const make[] = { "open",    "mkdir", "mknod",
                                        "symlink", "link",  NULL };
    static const char *const fill[] = { "pwritev2",        "write",
                                        "pwrite",          "fallocate",
                                        "copy_file_range", "clone",
                                        "setxattr",        NULL };

    return is_among(call, make) ||
           (board->plan.error == EDQUOT && is_among(call, fill));
}

static bool is_full(unsigned point, const char *call, const char *name)
{
    if (!atomic_load(&board->full) || !needs_room(call))
        return false;
    tell(point, call, name);
    return fail();
}

bool fault_fails(const char *call, const char *name)
{
    unsigned point;
    enum fault_action action = count_point(
        offsetof(struct fault_board, changes), &point);

    is_here = point == board->plan.point;
    if (action == FAULT_ERRNO_FROM && point > board->plan.point)
        return fail();
    if (action == FAULT_TORN_ERRNO && point == board->plan.point + 1)
        return fail();
    if (action == FAULT_FULL && !is_here)
        return is_full(point, call, name);
    if (!is_here || action == FAULT_NONE || action == FAULT_LOOK_ERRNO ||
        action == FAULT_LIST_ERRNO || action == FAULT_LIST_ERRNO_FROM)
        return false;
    tell(point, call, name);
    if (action == FAULT_KILL_BEFORE || action == FAULT_FULL)
        die();
    return action == FAULT_ERRNO || action == FAULT_ERRNO_FROM ? fail() : false;
}

bool fault_look_fails(const char *call, const char *name)
{
    unsigned point;

    if (count_point(offsetof(struct fault_board, looks), &point) !=
            FAULT_LOOK_ERRNO ||
        point != board->plan.point)
        return false;
    tell(point, call, name);
    return fail();
}

bool fault_list_fails(void)
{
    unsigned point;
    enum fault_action action = count_point(offsetof(struct fault_board, lists),
                                           &point);

    if (action == FAULT_LIST_ERRNO_FROM && point > board->plan.point)
        return fail();
    if ((action != FAULT_LIST_ERRNO && action != FAULT_LIST_ERRNO_FROM) ||
        point != board->plan.point)
        return false;
    tell(point, "readdir", NULL);
    return fail();
}

size_t fault_cut(size_t len)
{
    bool torn = is_here && (board->plan.action == FAULT_TORN ||
                            board->plan.action == FAULT_TORN_ERRNO);

    return torn && len > 1 ? len / 2 : len;
}

ssize_t fault_done(ssize_t result)
{
    if (is_here && (board->plan.action == FAULT_KILL_AFTER ||
                    board->plan.action == FAULT_TORN))
        die();
    return result;
}

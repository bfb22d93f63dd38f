/* SPDX-License-Identifier: Apache-2.0
 *
 * fd_reserve - see fd_reserve.h.
 */
#include "daemon/fd_reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "common/fd.h"

/* To be closed at once, so that not every request comes here. */
#define RELEASE 64u

/* Somebody may change the limit (prlimit(2)); a thread looks each time that it
 * was asked so often, which is less than the reserve is. */
#define ASKED_BEFORE_LOOK 16u

/* With so few left until the reserve, ask before making what needs one. */
#define TIGHT 64u

/* So many of the reserve may be taken all the same, but no larger part of the
 * limit (the reserve is a third of it, or less). */
#define OVERDRAFT      64u
#define OVERDRAFT_PART 12u

/* Numbers below this are in no reserve, whatever the limit is that a daemon
 * takes (128 at least): nobody looks. */
#define NEVER_RESERVED 32

/* Only a hint of when to look. */
static atomic_bool tight;

static rlim_t client_limit(void)
{
    static _Thread_local rlim_t known;
    static _Thread_local unsigned left;
    struct rlimit limit;

    if (left-- > 0)
        return known;
    left = ASKED_BEFORE_LOOK;
    known = getrlimit(RLIMIT_NOFILE, &limit) == 0
                ? limit.rlim_cur - MIN(FD_RESERVE, limit.rlim_cur / 4)
                : 0;
    return known;
}

static void note_number(int fd, rlim_t limit)
{
    if ((rlim_t)fd + TIGHT >= limit &&
        !atomic_load_explicit(&tight, memory_order_relaxed))
        atomic_store(&tight, true);
}

/* Are there two? */
static bool has_two(struct ic *ic)
{
    int root = ic_inode_fd(ic_root(ic));
    fd_auto int one = fcntl(root, F_DUPFD_CLOEXEC, 0);
    fd_auto int two = fcntl(root, F_DUPFD_CLOEXEC, 0);
    rlim_t limit = client_limit(), last = (rlim_t)MAX(one, two);

    if (one < 0 || two < 0)
        return false;
    if (last + TIGHT < limit)
        atomic_store(&tight, false);
    return last < limit;
}

static bool make_two(struct ic *ic)
{
    return has_two(ic) || (ic_release_fds(ic, RELEASE) > 0 && has_two(ic));
}

/* What is released are lower numbers; the new one stays where it is. There was
 * room for it, but others were made at the same time, or with it: these may go
 * a little into the reserve, and never further, however often there is
 * something to release. */
int fd_reserve_check(struct ic *ic, int fd)
{
    rlim_t limit;

    if (fd < NEVER_RESERVED)
        return 0;
    limit = client_limit();
    note_number(fd, limit);
    if ((rlim_t)fd < limit)
        return 0;
    ic_release_fds(ic, RELEASE);
    return (rlim_t)fd < limit + MIN(OVERDRAFT, limit / OVERDRAFT_PART)
               ? 0
               : -ENFILE;
}

int fd_reserve_check_connection(int fd)
{
    rlim_t limit = client_limit();

    return (rlim_t)fd < limit + MIN(FD_RESERVE, limit / 3) / 2 ? 0 : -ENFILE;
}

bool fd_reserve_has(int fd)
{
    rlim_t limit;

    if (fd < NEVER_RESERVED)
        return false;
    limit = client_limit();
    note_number(fd, limit);
    return (rlim_t)fd >= limit;
}

int fd_reserve_room(struct ic *ic)
{
    if (!atomic_load_explicit(&tight, memory_order_relaxed))
        return 0;
    return make_two(ic) ? 0 : -ENFILE;
}

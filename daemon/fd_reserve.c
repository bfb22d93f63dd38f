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

/* Fds to release at once, so that not every request has to. */
#define RELEASE 64u

/* Another process may change the limit (prlimit(2)); each thread rereads it
 * once in this many calls, which is fewer than the reserve. */
#define CALLS_PER_CHECK 16u

/* With this few fds left until the reserve, check before creating an object
 * that needs one. */
#define TIGHT 64u

/* Fds of the reserve that may be taken nevertheless, at most this fraction of
 * the limit (the reserve is at most a third of it). */
#define OVERDRAFT      64u
#define OVERDRAFT_PART 12u

/* Fds below this are in no reserve, whatever limit a daemon accepts (at least
 * 128), and need no check. */
#define NEVER_RESERVED 32

/* Only a hint when to check. */
static atomic_bool tight;

static rlim_t client_limit(void)
{
    static _Thread_local rlim_t known;
    static _Thread_local unsigned left;
    struct rlimit limit;

    if (left-- > 0)
        return known;
    left = CALLS_PER_CHECK;
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

/* Return whether two more fds can be opened below the reserve. */
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

/* Releasing frees lower numbers; the new fd keeps its number. fd_reserve_room()
 * found room for it, but other fds were opened at the same time, or along with
 * it: these may use a small part of the reserve, and never more, however many
 * fds can be released. */
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * stall - see stall.h.
 */
#include "tests/virtiofs/stall.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <seccomp.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAX_HELD = 64, WAIT_TRIES = 1000, WAIT_US = 10000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int notify = -1;
static gboolean stalling;
static unsigned count, n_held;
static uint64_t held[MAX_HELD];

/* The caller may have been killed meanwhile. */
static void let_go(uint64_t id)
{
    struct seccomp_notif_resp *answer = NULL;

    g_assert_cmpint(seccomp_notify_alloc(NULL, &answer), ==, 0);
    answer->id = id;
    answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    seccomp_notify_respond(notify, answer);
    seccomp_notify_free(NULL, answer);
}

static gpointer serve(gpointer data)
{
    struct seccomp_notif *call = NULL;

    g_assert_cmpint(seccomp_notify_alloc(&call, NULL), ==, 0);
    for (;;) {
        memset(call, 0, sizeof(*call));
        if (seccomp_notify_receive(notify, call) != 0)
            continue;
        pthread_mutex_lock(&lock);
        count++;
        if (stalling && call->pid != (uint32_t)getpid()) {
            g_assert_cmpuint(n_held, <, MAX_HELD);
            held[n_held++] = call->id;
        } else {
            let_go(call->id);
        }
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void hold(scmp_filter_ctx filter, int call)
{
    g_assert_cmpint(seccomp_rule_add(filter, SCMP_ACT_NOTIFY, call, 0), ==, 0);
}

/* For a call whose last argument are flags. */
static void act_on_flag(scmp_filter_ctx filter, uint32_t action, int call,
                        int flag)
{
    const scmp_datum_t bits = (scmp_datum_t)flag;

    g_assert_cmpint(seccomp_rule_add(filter, action, call, 1,
                                     SCMP_A5(SCMP_CMP_MASKED_EQ, bits, bits)),
                    ==, 0);
}

void stall_install(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

    g_assert_nonnull(filter);
    hold(filter, SCMP_SYS(fsync));
    hold(filter, SCMP_SYS(fdatasync));
    hold(filter, SCMP_SYS(ftruncate));
    hold(filter, SCMP_SYS(preadv));
    act_on_flag(filter, SCMP_ACT_NOTIFY, SCMP_SYS(pwritev2), RWF_SYNC);
    act_on_flag(filter, SCMP_ACT_ERRNO(EAGAIN), SCMP_SYS(preadv2), RWF_NOWAIT);
    /* Programs that gain privileges continue to work, where that is allowed. */
    if (geteuid() == 0)
        g_assert_cmpint(seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0), ==,
                        0);
    g_assert_cmpint(seccomp_load(filter), ==, 0);
    notify = fcntl(seccomp_notify_fd(filter), F_DUPFD_CLOEXEC, 0);
    g_assert_cmpint(notify, >=, 0);
    seccomp_release(filter);
    g_thread_unref(g_thread_new("stall", serve, NULL));
}

void stall_begin(void)
{
    pthread_mutex_lock(&lock);
    stalling = TRUE;
    count = 0;
    pthread_mutex_unlock(&lock);
}

void stall_wait(unsigned wanted)
{
    unsigned now = 0;

    for (int i = 0; now < wanted; i++) {
        g_assert_cmpint(i, <, WAIT_TRIES);
        g_usleep(WAIT_US);
        pthread_mutex_lock(&lock);
        now = n_held;
        pthread_mutex_unlock(&lock);
    }
    g_assert_cmpuint(now, ==, wanted);
}

unsigned stall_count(void)
{
    unsigned now;

    pthread_mutex_lock(&lock);
    now = count;
    pthread_mutex_unlock(&lock);
    return now;
}

void stall_end(void)
{
    pthread_mutex_lock(&lock);
    stalling = FALSE;
    while (n_held > 0)
        let_go(held[--n_held]);
    pthread_mutex_unlock(&lock);
}

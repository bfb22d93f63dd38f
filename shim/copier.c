/* SPDX-License-Identifier: Apache-2.0
 *
 * copier - see copier.h.
 */
#include "shim/copier.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/tree_pack.h"
#include "copy/tree_unpack.h"

/* Replaces the C library's, of which libarchive asks the charset of names. A
 * static program finds a locale only in some guests. */
char *__wrap_nl_langinfo(nl_item item);

char *__wrap_nl_langinfo(nl_item item)
{
    static char utf8[] = "UTF-8", none[] = "";

    return item == CODESET ? utf8 : none;
}

enum { DATA_FD = 3, NEWS_FD = 4, PIPE_SIZE = 1024 * 1024 };

static void tell(char kind, const void *bytes, size_t len)
{
    char message[1 + COPY_ERROR_MAX];

    message[0] = kind;
    if (len > 0)
        memcpy(message + 1, bytes, len);
    /* Shorter than PIPE_BUF, so written whole. */
    if (write(NEWS_FD, message, 1 + len) < 0)
        _exit(1);
}

static bool copy_in(unsigned flags, const char *path,
                    struct copy_result *result, struct copy_error *error)
{
    const struct unpack_options options = {
        .archive = flags & BULK_OPEN_ARCHIVE,
        .keep_owner = flags & BULK_OPEN_KEEP_OWNER,
        .special = true,
        .trusted = true,
    };
    struct tree_unpack unpack;

    if (!tree_unpack_open(&unpack, path, &options, error))
        return false;
    tell(COPIER_OPENED, NULL, 0);
    return tree_unpack_read(&unpack, DATA_FD, result, error);
}

static bool copy_out(unsigned flags, const char *path,
                     struct copy_result *result, struct copy_error *error)
{
    struct tree_pack pack;

    if (!tree_pack_open(&pack, path, flags & BULK_OPEN_FOLLOW, error))
        return false;
    tell(COPIER_OPENED, NULL, 0);
    return tree_pack_write(&pack, DATA_FD, result, error);
}

static _Noreturn void run(unsigned flags, const char *path)
{
    bool in = flags & BULK_OPEN_IN;
    unsigned char counts[BULK_END_PAYLOAD];
    struct copy_result result = { 0 };
    struct copy_error error;

    if (!(in ? copy_in : copy_out)(flags, path, &result, &error)) {
        tell(COPIER_FAILED, error.text, strlen(error.text));
        _exit(1);
    }
    bulk_put64(counts, result.entries);
    bulk_put64(counts + 8, result.skipped);
    tell(COPIER_DONE, counts, sizeof(counts));
    _exit(0);
}

/* A deep tree needs an fd per level. */
static void raise_fd_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void prepare(int data, int news)
{
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "stepback-cp");
    /* By way of fds above those that are replaced. */
    data = fcntl(data, F_DUPFD_CLOEXEC, NEWS_FD + 1);
    news = fcntl(news, F_DUPFD_CLOEXEC, NEWS_FD + 1);
    if (dup2(data, DATA_FD) < 0 || dup2(news, NEWS_FD) < 0)
        _exit(1);
    close_range(NEWS_FD + 1, ~0U, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    raise_fd_limit();
    umask(022);
}

static int make_pipes(int data[2], int news[2])
{
    if (pipe2(data, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(news, O_CLOEXEC) < 0) {
        int result = -errno;

        close(data[0]);
        close(data[1]);
        return result;
    }
    fcntl(data[0], F_SETPIPE_SZ, PIPE_SIZE); /* for speed only */
    return 0;
}

pid_t copier_start(unsigned flags, const char *path, int *ret_data,
                   int *ret_news)
{
    int in = flags & BULK_OPEN_IN ? 1 : 0; /* our end of the data */
    int data[2], news[2], result = make_pipes(data, news);
    pid_t pid;

    if (result)
        return result;
    pid = fork();
    if (pid == 0) {
        prepare(data[!in], news[1]);
        run(flags, path);
    }
    if (pid < 0)
        pid = -errno;
    close(data[!in]);
    close(news[1]);
    if (pid < 0) {
        close(data[in]);
        close(news[0]);
        return pid;
    }
    fcntl(data[in], F_SETFL, O_NONBLOCK);
    fcntl(news[0], F_SETFL, O_NONBLOCK);
    *ret_data = data[in];
    *ret_news = news[0];
    return pid;
}

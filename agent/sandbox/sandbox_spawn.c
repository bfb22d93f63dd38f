/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_spawn - see sandbox_spawn.h.
 *
 * The supervisor is forked twice: its parent is then init, and this process,
 * which may live long, has nothing to reap.
 */
#include "agent/sandbox/sandbox_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/install_paths.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/message.h"

#define PROGRESS "event.progress" /* what is sent before the answer */

/* Of the supervisor. */
enum { READY_FD = 3, LOCK_FD = 4, FIRST_OTHER_FD = 5 };
#define READY_OPTION "--ready-fd=3"
#define LOCK_OPTION  "--lock-fd=4"

enum { ANSWER_MAX = 1 << 20 };

/* Move two fds to fixed numbers, and close all others but 0, 1 and 2. */
static bool place_fds(int ready, int lock)
{
    int null = open("/dev/null", O_RDWR);
    /* Beyond all targets, so that no dup2() closes a source. */
    int high_ready = fcntl(ready, F_DUPFD, FIRST_OTHER_FD);
    int high_lock = fcntl(lock, F_DUPFD, FIRST_OTHER_FD);

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (dup2(null, fd) < 0)
            return false;
    }
    return high_ready >= 0 && high_lock >= 0 &&
           dup2(high_ready, READY_FD) >= 0 && dup2(high_lock, LOCK_FD) >= 0 &&
           close_range(FIRST_OTHER_FD, ~0u, 0) == 0;
}

/* In the child. Makes only system calls. */
static _Noreturn void become_supervisor(char *const *argv, char *const *env,
                                        int ready, int lock)
{
    pid_t pid;

    setsid();
    pid = fork();
    if (pid != 0)
        _exit(pid < 0);
    if (chdir("/") == 0 && place_fds(ready, lock))
        execve(argv[0], argv, env);
    _exit(127);
}

/* Return the environment of the supervisor: a new list of borrowed strings. */
static char **join(char *const *env, char *const *more)
{
    GPtrArray *all = g_ptr_array_new();

    for (; *env; env++)
        g_ptr_array_add(all, *env);
    for (; more && *more; more++)
        g_ptr_array_add(all, *more);
    g_ptr_array_add(all, NULL);
    return (char **)g_ptr_array_free(all, FALSE);
}

int sandbox_spawn(const char *name, int lock_fd, char *const *more,
                  GError **error)
{
    g_autofree char *program = install_paths_self();
    char *argv[] = { program,
                     (char *)"supervise",
                     (char *)READY_OPTION,
                     (char *)LOCK_OPTION,
                     (char *)name,
                     NULL };
    g_auto(GStrv) own = g_get_environ();
    g_autofree char **env = join(own, more);
    int ends[2], status = -1;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0) {
        fd_close(&lock_fd);
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                    "cannot make a pipe: %s", g_strerror(errno));
        return -1;
    }
    pid = fork();
    if (pid == 0)
        become_supervisor(argv, env, ends[1], lock_fd);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    fd_close(&ends[1]);
    fd_close(&lock_fd);
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return ends[0];
    fd_close(&ends[0]);
    g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                "cannot fork: %s", g_strerror(errno));
    return -1;
}

void sandbox_spawn_tell(int ready_fd, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    g_autofree char *line = g_strdup_printf("%s\n", text);

    if (ready_fd >= 0)
        fd_write_all(ready_fd, line, strlen(line));
    free(text);
    json_decref(message);
}

void sandbox_spawn_note(int ready_fd, const char *key, const char *text)
{
    sandbox_spawn_tell(ready_fd,
                       message_event(PROGRESS, json_pack("{s:s}", key, text)));
}

/* Report a line of progress. Return false if it is something else. */
static bool take_progress(json_t *message,
                          const struct sandbox_spawn_watch *watch)
{
    json_t *payload = json_object_get(message, "payload");
    const char *type = json_string_value(json_object_get(message, "type"));
    const char *what = json_string_value(json_object_get(payload, "waits_for"));
    const char *line = json_string_value(json_object_get(payload, "recovered"));

    if (g_strcmp0(type, PROGRESS) != 0)
        return false;
    if (watch && what)
        watch->waits_for(what, watch->opaque);
    if (watch && line)
        watch->recovered(line, watch->opaque);
    return true;
}

/* Return the first message in text that is no progress, or NULL; remove what
 * was parsed. */
static json_t *take_lines(GString *text,
                          const struct sandbox_spawn_watch *watch)
{
    const char *end;

    while ((end = memchr(text->str, '\n', text->len))) {
        json_t *message = json_loadb(text->str, (size_t)(end - text->str), 0,
                                     NULL);

        if (!take_progress(message, watch))
            return message;
        json_decref(message);
        g_string_erase(text, 0, end + 1 - text->str);
    }
    return NULL;
}

static json_t *read_answer(int fd, const struct sandbox_spawn_watch *watch)
{
    g_autoptr(GString) text = g_string_new(NULL);
    json_t *answer = NULL;
    char chunk[4096];
    ssize_t n;

    while (!answer && text->len < ANSWER_MAX) {
        if (watch)
            watch->wait(fd, watch->opaque);
        n = read(fd, chunk, sizeof(chunk));
        if (n > 0)
            g_string_append_len(text, chunk, n);
        else if (n == 0 || errno != EINTR)
            break;
        answer = take_lines(text, watch);
    }
    return answer;
}

json_t *sandbox_spawn_wait(int ready_fd,
                           const struct sandbox_spawn_watch *watch,
                           GError **error)
{
    json_t *message = read_answer(ready_fd, watch), *session = NULL;

    fd_close(&ready_fd);
    if (!json_is_object(message))
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                            "the supervisor was killed, or could not be "
                            "started; its log is in 'stepback logs'");
    else if (!message_is_error(message, error))
        session = json_incref(json_object_get(message, "payload"));
    json_decref(message);
    return session;
}

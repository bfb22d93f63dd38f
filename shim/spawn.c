/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn - see spawn.h.
 *
 * A forked child of a program with one thread may use any function, but the
 * shim's rule of no allocation holds here too. The fixed memory below is only
 * ever written in the child.
 */
#include "shim/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/wire.h"

/* The kernel takes arguments shorter than 32 pages; a longer command goes by
 * a file in memory. */
#define MAX_ARGUMENT (32 * 4096)

static const char *const base_env[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/root",
    "USER=root",
    "LOGNAME=root",
    "SHELL=/bin/sh",
    "TERM=dumb",
    "LANG=C.UTF-8",
};

#define BASE_ENV_COUNT (sizeof(base_env) / sizeof(base_env[0]))

/* All variables came in one line, and "K":"V" is longer than K=V and NUL. */
static char env_text[WIRE_MAX_LINE];
static const char *env_list[BASE_ENV_COUNT + WIRE_MAX_ENV + 1];

static _Noreturn void give_up(int code, const char *what, const char *name)
{
    dprintf(STDERR_FILENO, "stepback-shim: cannot %s %s: %s\n", what, name,
            strerror(errno));
    _exit(code);
}

bool spawn_check_env(const struct json_value *env, const char **ret_error)
{
    size_t count = 0;

    if (!env)
        return true;
    *ret_error = "env must be an object of strings without NUL";
    if (env->type != JSON_READER_OBJECT)
        return false;
    for (const struct json_value *variable = env->first; variable;
         variable = variable->next) {
        if (variable->type != JSON_READER_STRING ||
            memchr(variable->text, '\0', variable->len))
            return false;
        if (variable->key_len == 0 ||
            memchr(variable->key, '=', variable->key_len) ||
            memchr(variable->key, '\0', variable->key_len)) {
            *ret_error = "env has a name that is empty or holds '=' or NUL";
            return false;
        }
        if (++count > WIRE_MAX_ENV) {
            *ret_error = "env has too many variables";
            return false;
        }
    }
    return true;
}

/* Whether the request sets the variable that this base entry sets. */
static bool is_replaced(const char *entry, const struct json_value *env)
{
    size_t len = strcspn(entry, "=");

    if (!env)
        return false;
    for (const struct json_value *variable = env->first; variable;
         variable = variable->next) {
        if (variable->key_len == len && memcmp(variable->key, entry, len) == 0)
            return true;
    }
    return false;
}

static char *const *build_env(const struct json_value *env)
{
    const char **entry = env_list;
    char *text = env_text;

    for (size_t i = 0; i < BASE_ENV_COUNT; i++) {
        if (!is_replaced(base_env[i], env))
            *entry++ = base_env[i];
    }
    for (const struct json_value *variable = env ? env->first : NULL; variable;
         variable = variable->next) {
        *entry++ = text;
        text = mempcpy(text, variable->key, variable->key_len);
        *text++ = '=';
        text = mempcpy(text, variable->text, variable->len + 1);
    }
    *entry = NULL;
    return (char *const *)env_list;
}

static void reset_signals(void)
{
    /* The kernel's struct sigaction, all zero: SIG_DFL. The library would not
     * touch the two signals that it keeps for its threads. */
    static const unsigned long defaults[8];
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        syscall(SYS_rt_sigaction, number, defaults, NULL, (NSIG - 1) / 8);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A file in memory that holds the text, to be read from its start. */
static int hold_text(const char *what, const char *text, size_t len)
{
    int fd = memfd_create("command", 0);

    if (fd < 0)
        give_up(126, "create", what);
    while (len > 0) {
        ssize_t put = write(fd, text, len);

        if (put < 0)
            give_up(126, "write", what);
        text += put;
        len -= (size_t)put;
    }
    lseek(fd, 0, SEEK_SET);
    return fd;
}

/* No pipe for the input: it would hold 64 KiB, and this process is about to
 * become the command. */
static void connect_streams(const struct spawn_request *request, int out,
                            int err)
{
    int in;

    if (dup2(err, STDERR_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
        _exit(126);
    if (request->input)
        in = hold_text("the input", request->input->text, request->input->len);
    else
        in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (in < 0 || dup2(in, STDIN_FILENO) < 0)
        give_up(126, "open", "/dev/null");
    if (request->input)
        close(in);
}

/* A long command as a path. Its fd stays open in the shell, which is what keeps
 * the path alive. */
static void write_script(const char *text, char *path, size_t size)
{
    snprintf(path, size, "/proc/self/fd/%d",
             hold_text("the script", text, strlen(text)));
}

/* The init has asked for an address, and removes the file when it has one. */
static void wait_for_network(void)
{
    enum { STEP_MS = 10, MOST_MS = 3000 };
    const struct timespec pause = { .tv_nsec = STEP_MS * 1000 * 1000 };

    for (int waited = 0; waited < MOST_MS; waited += STEP_MS) {
        if (access("/run/stepback-network-pending", F_OK) < 0)
            return;
        nanosleep(&pause, NULL);
    }
}

void spawn_exec(const struct spawn_request *request, int out, int err)
{
    char *const *env = build_env(request->env);
    char script[40];

    setsid();
    connect_streams(request, out, err);
    reset_signals();
    umask(022);
    wait_for_network();
    if (chdir(request->cwd) < 0)
        give_up(126, "enter", request->cwd);
    if (strlen(request->text) < MAX_ARGUMENT) {
        const char *const args[] = { "sh", "-c", request->text, NULL };

        execve("/bin/sh", (char *const *)args, env);
    } else {
        const char *const args[] = { "sh", script, NULL };

        write_script(request->text, script, sizeof(script));
        execve("/bin/sh", (char *const *)args, env);
    }
    give_up(errno == ENOENT ? 127 : 126, "run", "/bin/sh");
}

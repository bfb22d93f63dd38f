/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn - see spawn.h.
 *
 * The forked child of a single-threaded program may use any function. The
 * static memory below is written only in the child.
 */
#include "shim/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/account.h"
#include "shim/setup.h"
#include "shim/step_shell.h"
#include "shim/wire.h"

/* The kernel limits an argument to less than 32 pages; a longer command goes
 * through a memory-backed file. */
#define MAX_ARGUMENT (32 * 4096)

/* The last folder has "step" where /usr is the host's and cannot have it. */
static const char *const base_env[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    ":" STEP_SHELL_FOLDER,
    "TERM=dumb",
    "LANG=C.UTF-8",
};

#define BASE_ENV_COUNT (sizeof(base_env) / sizeof(base_env[0]))

enum { ACCOUNT_ENV_COUNT = 4, STEP_ENV_COUNT = 2 };

/* All variables came in one line, and "K":"V" is longer than K=V and NUL. */
static char env_text[WIRE_MAX_LINE];
static char account_text[ACCOUNT_ENV_COUNT][300];
static const char
    *env_list[BASE_ENV_COUNT + ACCOUNT_ENV_COUNT + STEP_ENV_COUNT +
              SETUP_VARIABLES + WIRE_MAX_ENV + 1];
static const char *arg_list[WIRE_MAX_ARGS + 1];

static _Noreturn void give_up(int code, const char *what, const char *name)
{
    dprintf(STDERR_FILENO, "stepback-shim: cannot %s %s: %s\n", what, name,
            strerror(errno));
    _exit(code);
}

static bool check_env(json_t *env, const char **ret_error)
{
    const char *name;
    json_t *value;

    *ret_error = "env must be an object of strings without NUL";
    if (!json_is_object(env))
        return false;
    json_object_foreach(env, name, value)
    {
        if (!wire_is_text(value))
            return false;
        if (*name == '\0' || strchr(name, '=')) {
            *ret_error = "env has a name that is empty or holds '='";
            return false;
        }
    }
    *ret_error = "env has too many variables";
    return json_object_size(env) <= WIRE_MAX_ENV;
}

static bool check_argv(json_t *argv, const char **ret_error)
{
    json_t *word;
    size_t i;

    *ret_error = "argv must be an array of strings without NUL";
    if (!json_is_array(argv))
        return false;
    json_array_foreach(argv, i, word)
    {
        if (!wire_is_text(word))
            return false;
    }
    *ret_error = "argv has too many words";
    if (json_array_size(argv) > WIRE_MAX_ARGS)
        return false;
    *ret_error = "argv is empty";
    return json_string_length(json_array_get(argv, 0)) > 0;
}

bool spawn_check(const struct spawn_request *request, const char **ret_error)
{
    if (request->argv && !check_argv(request->argv, ret_error))
        return false;
    return !request->env || check_env(request->env, ret_error);
}

/* Return whether the request replaces this variable of the base environment. */
static bool is_replaced(const char *entry, json_t *env)
{
    char name[64];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(entry, "="), entry);
    return json_object_get(env, name);
}

static void add_base(const char ***at, const char *entry, json_t *env)
{
    if (!is_replaced(entry, env))
        *(*at)++ = entry;
}

/* shell_variable: one more, or NULL. */
static char *const *build_env(const struct account *account, json_t *env,
                              const char *shell_variable)
{
    const char *const values[ACCOUNT_ENV_COUNT][2] = {
        { "HOME", account->home },
        { "USER", account->name },
        { "LOGNAME", account->name },
        { "SHELL", account->shell },
    };
    const char **entry = env_list;
    char *text = env_text;
    const char *name;
    json_t *value;

    for (size_t i = 0; i < BASE_ENV_COUNT; i++)
        add_base(&entry, base_env[i], env);
    for (size_t i = 0; i < ACCOUNT_ENV_COUNT; i++) {
        snprintf(account_text[i], sizeof(account_text[i]), "%s=%s",
                 values[i][0], values[i][1]);
        add_base(&entry, account_text[i], env);
    }
    for (size_t i = 0; setup_variable(i); i++)
        add_base(&entry, setup_variable(i), env);
    if (step_shell_socket_variable())
        add_base(&entry, step_shell_socket_variable(), env);
    if (shell_variable)
        *entry++ = shell_variable;
    json_object_foreach(env, name, value)
    {
        *entry++ = text;
        text = stpcpy(text, name);
        *text++ = '=';
        text = stpcpy(text, json_string_value(value)) + 1;
    }
    *entry = NULL;
    return (char *const *)env_list;
}

static void reset_signals(void)
{
    /* The kernel's struct sigaction, all zero: SIG_DFL. The C library would
     * skip the two signals that it reserves for its threads. */
    static const unsigned long defaults[8];
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        syscall(SYS_rt_sigaction, number, defaults, NULL, (NSIG - 1) / 8);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Create a memory-backed file with the text, positioned at its start. */
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

/* A known input needs no pipe, which would hold only 64 KiB: no process would
 * feed it, since this one becomes the command. */
static int open_input(const struct spawn_request *request,
                      const struct spawn_streams *streams)
{
    if (streams->in >= 0)
        return streams->in;
    if (request->input)
        return hold_text("the input", json_string_value(request->input),
                         json_string_length(request->input));
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void connect_streams(const struct spawn_request *request,
                            const struct spawn_streams *streams)
{
    int in;

    if (dup2(streams->err, STDERR_FILENO) < 0 ||
        dup2(streams->out, STDOUT_FILENO) < 0)
        _exit(126);
    in = open_input(request, streams);
    if (in < 0 || dup2(in, STDIN_FILENO) < 0)
        give_up(126, "open", "/dev/null");
    if (request->input)
        close(in);
}

/* Get a path for a long command. The shell inherits the fd, which keeps the
 * path valid. */
static void write_script(const char *text, char *path, size_t size)
{
    snprintf(path, size, "/proc/self/fd/%d",
             hold_text("the script", text, strlen(text)));
}

/* Undo the shim's PR_SET_DUMPABLE, with which /proc/self would belong to root.
 * Another command may trace this process from now on: it has no fd of the
 * shim's. */
static void become_traceable(void)
{
    close_range(STDERR_FILENO + 1, ~0U, 0);
    prctl(PR_SET_DUMPABLE, 1);
}

/* When memory is used up, the kernel ends commands before the shim, and before
 * the program that keeps the sandbox. It fails if the value is higher already.
 */
static void become_oom_victim(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    ssize_t put = fd >= 0 ? write(fd, "300", 3) : 0;

    (void)put;
    if (fd >= 0)
        close(fd);
}

/* The init has requested an address, and removes the file when it has one. */
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

static void enter_account(const struct spawn_request *request,
                          struct account *account)
{
    const char *what;
    int result;

    if (!account_find(request->user, account, &what)) {
        dprintf(STDERR_FILENO, "stepback-shim: %s: no such %s in the guest\n",
                request->user, what);
        _exit(126);
    }
    /* Without a user the command runs with the shim's identity. */
    result = account_enter(request->user ? account : NULL);
    if (result) {
        errno = -result;
        give_up(126, "become", request->user ? request->user : "a user");
    }
}

static void enter_folder(const struct spawn_request *request,
                         const struct account *account)
{
    const char *cwd = request->cwd ? request->cwd : WIRE_DEFAULT_CWD;

    if (chdir(cwd) == 0)
        return;
    /* A login without a given folder starts in its home, as with login(1). */
    if (request->cwd || !request->login || chdir(account->home) < 0)
        give_up(126, "enter", cwd);
}

/* Search in the PATH of the command's own environment. */
static _Noreturn void run(const char *program, char *const *env)
{
    environ = (char **)env;
    execvp(program, (char *const *)arg_list);
    give_up(errno == ENOENT ? 127 : 126, "run", program);
}

static _Noreturn void run_login(const struct account *account, char *const *env)
{
    static char name[sizeof(account->shell) + 1];
    const char *slash = strrchr(account->shell, '/');

    /* The dash makes it a login shell. */
    snprintf(name, sizeof(name), "-%s", slash ? slash + 1 : account->shell);
    arg_list[0] = name;
    run(account->shell, env);
}

/* A shell in which each line is a step. */
static _Noreturn void run_step_shell(const struct step_shell *shell,
                                     char *const *env)
{
    memcpy(arg_list, shell->words, sizeof(shell->words));
    run(shell->program, env);
}

static _Noreturn void run_argv(json_t *argv, char *const *env)
{
    json_t *word;
    size_t i;

    json_array_foreach(argv, i, word) arg_list[i] = json_string_value(word);
    run(arg_list[0], env);
}

static _Noreturn void run_shell(const char *command, char *const *env)
{
    static char script[40];
    size_t count = 0;

    arg_list[count++] = "sh";
    if (strlen(command) < MAX_ARGUMENT) {
        arg_list[count++] = "-c";
        arg_list[count++] = command;
    } else {
        write_script(command, script, sizeof(script));
        arg_list[count++] = script;
    }
    run("/bin/sh", env);
}

void spawn_exec(const struct spawn_request *request,
                const struct spawn_streams *streams)
{
    struct step_shell shell = { 0 };
    struct account account;
    char *const *env;

    if (!streams->connected) {
        setsid();
        connect_streams(request, streams);
    }
    reset_signals();
    umask(022);
    become_traceable();
    become_oom_victim();
    wait_for_network();
    enter_account(request, &account);
    enter_folder(request, &account);
    if (request->prompt)
        step_shell_choose(account.shell, &shell);
    env = build_env(&account, request->env, shell.variable);
    if (request->prompt)
        run_step_shell(&shell, env);
    if (request->login)
        run_login(&account, env);
    if (request->argv)
        run_argv(request->argv, env);
    run_shell(request->command, env);
}

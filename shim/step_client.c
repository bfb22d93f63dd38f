/* SPDX-License-Identifier: Apache-2.0
 *
 * step_client - see step_client.h; step_server.h describes the socket.
 */
#include "shim/step_client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/wire_json.h"
#include "shim/step_local.h"
#include "shim/utf8.h"
#include "shim/wire.h"

/* Exit codes, as of timeout(1) and env(1). */
enum { FAILED = 1, USAGE = 2, NOT_RUN = 125, NOT_EXECUTABLE = 126, MISSING };

static const char usage[] =
    "Usage: step run [-m TEXT] [--] COMMAND [ARGUMENT...]\n"
    "       step begin [TEXT]\n"
    "       step end [EXIT-CODE]\n"
    "       step list\n"
    "       step diff [STEP]\n"
    "       step undo [NUMBER]\n"
    "       step grant PATH [--rw] [REASON...]\n"
    "Divide what this command does into steps that can be undone.\n"
    "\n"
    "  run    run a command as a step; the exit code is that of the command\n"
    "  begin  open a step until \"end\", or until the next \"begin\"; for "
    "hooks\n"
    "  list   print the steps, the newest first\n"
    "  diff   print the paths that a step changed (default: the newest)\n"
    "  undo   undo the newest steps (default: 1)\n"
    "  grant  ask the user of the host for a folder of the host, to read it "
    "or, with\n"
    "         --rw, to change it, too; wait for the answer, and print its path "
    "here\n";

static char line[STEP_SERVER_ANSWER];

struct request {
    const char *op, *scope;
    const char *text;   /* or NULL */
    const char *reason; /* or NULL */
    bool writes;
    long number;   /* -1: none */
    int exit_code; /* -1: none */
    bool hold;
};

/* The process ends without freeing it. */
struct answer {
    json_t *message;
    const char *text, *error; /* error: NULL if it was carried out */
};

__attribute__((format(printf, 2, 3))) static int fail(int code,
                                                      const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("step: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return code;
}

/* ---- the connection ------------------------------------------------------ */

static int connect_server(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path = getenv(STEP_CLIENT_SOCKET);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (!path || !*path)
        path = STEP_SHELL_FOLDER "/step.sock";
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd >= 0 &&
        connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    fail(FAILED, "%s: %s; steps exist in a Stepback sandbox only", path,
         strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* A text that is too long ends in "...", at the start of a character. */
static size_t text_length(const char *text)
{
    size_t len = strlen(text);

    if (len <= WIRE_STEP_COMMAND)
        return len;
    len = WIRE_STEP_COMMAND;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    return len;
}

static size_t write_request(const struct request *request)
{
    json_t *message = json_pack("{s:s, s:o}", "op", request->op, "scope",
                                wire_text(request->scope));
    size_t len;

    if (request->text)
        wire_set_bytes(message, "text", request->text,
                       text_length(request->text));
    if (request->number >= 0)
        json_object_set_new(message, "number", json_integer(request->number));
    if (request->exit_code >= 0)
        json_object_set_new(message, "exit_code",
                            json_integer(request->exit_code));
    if (request->hold)
        json_object_set_new(message, "hold", json_true());
    if (request->writes)
        json_object_set_new(message, "write", json_integer(1));
    if (request->reason)
        json_object_set_new(message, "reason", wire_text(request->reason));
    len = json_dumpb(message, line, STEP_SERVER_LINE, JSON_COMPACT);
    json_decref(message);
    if (len == 0 || len >= STEP_SERVER_LINE)
        return 0;
    line[len] = '\n';
    return len + 1;
}

static bool read_answer(int fd, struct answer *answer)
{
    json_error_t error;
    size_t used = 0;
    char *end = NULL;

    while (!end && used < sizeof(line)) {
        ssize_t got = read(fd, line + used, sizeof(line) - used);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        used += (size_t)got;
        end = memchr(line, '\n', used);
    }
    answer->message = end ? wire_parse(line, (size_t)(end - line), &error)
                          : NULL;
    wire_get_string(answer->message, "text", &answer->text);
    wire_get_string(answer->message, "error", &answer->error);
    return answer->message;
}

/* Ask the server. Return false after an error was printed. */
static bool ask(int fd, const struct request *request, struct answer *answer)
{
    size_t len = write_request(request);

    *answer = (struct answer){ .text = "" };
    /* A server that refuses the connection answers without reading. */
    if (len > 0 && send(fd, line, len, MSG_NOSIGNAL) != (ssize_t)len &&
        errno != EPIPE && errno != ECONNRESET)
        len = 0;
    if (len == 0 || !read_answer(fd, answer)) {
        fail(FAILED, "%s: the sandbox did not answer", request->op);
        return false;
    }
    if (answer->error)
        fail(FAILED, "%s: %s", request->op, answer->error);
    return !answer->error;
}

static int ask_once(const struct request *request)
{
    struct answer answer;
    int fd = connect_server();
    bool done = fd >= 0 && ask(fd, request, &answer);

    if (done)
        fputs(answer.text, stdout);
    return done ? 0 : FAILED;
}

/* ---- run ----------------------------------------------------------------- */

/* Wait as system(3): the keys of a terminal are for the command. */
static int wait_for(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return NOT_RUN;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_command(char **words)
{
    void (*interrupt)(int) = signal(SIGINT, SIG_IGN);
    void (*quit)(int) = signal(SIGQUIT, SIG_IGN);
    pid_t pid = fork();

    if (pid < 0)
        return fail(NOT_RUN, "run: cannot fork: %s", strerror(errno));
    if (pid > 0)
        return wait_for(pid);
    signal(SIGINT, interrupt);
    signal(SIGQUIT, quit);
    execvp(words[0], words);
    _exit(fail(errno == ENOENT ? MISSING : NOT_EXECUTABLE, "run: %s: %s",
               words[0], strerror(errno)));
}

/* Join words for the history, quoted if a shell would divide or change them. */
static const char *join(char **words)
{
    static char text[2 * WIRE_STEP_COMMAND];
    size_t used = 0;

    for (; *words && used < sizeof(text) - 8; words++) {
        bool quote = **words == '\0' ||
                     strpbrk(*words, " \t\n\"'\\$`*?[](){}<>|&;#~");

        if (used > 0)
            text[used++] = ' ';
        if (quote)
            text[used++] = '\'';
        for (const char *at = *words; *at && used < sizeof(text) - 8; at++) {
            if (quote && *at == '\'')
                used += (size_t)sprintf(text + used, "'\\''");
            else
                text[used++] = *at;
        }
        if (quote)
            text[used++] = '\'';
    }
    text[used] = '\0';
    return text;
}

static int run(char **words)
{
    struct request request = {
        .scope = "run", .number = -1, .exit_code = -1, .hold = true
    };
    struct answer answer;
    int fd, code;

    if (words[0] && strcmp(words[0], "-m") == 0 && words[1]) {
        request.text = words[1];
        words += 2;
    }
    if (words[0] && strcmp(words[0], "--") == 0)
        words++;
    if (!words[0])
        return fail(USAGE, "run: a command is missing: step run -- COMMAND");
    if (!request.text)
        request.text = join(words);
    fd = connect_server();
    request.op = WIRE_STEP_BEGIN;
    if (fd < 0 || !ask(fd, &request, &answer))
        return NOT_RUN;
    code = run_command(words);
    request.op = WIRE_STEP_END;
    request.text = NULL;
    request.exit_code = code;
    if (!ask(fd, &request, &answer) && code == 0)
        return NOT_RUN;
    return code;
}

/* ---- the command line ---------------------------------------------------- */

/* Parse an optional number. */
static bool parse_number(char **words, long fallback, long *ret_number)
{
    char *end;

    *ret_number = fallback;
    if (!words[0])
        return true;
    errno = 0;
    *ret_number = strtol(words[0], &end, 10);
    return !errno && end != words[0] && !*end && *ret_number >= 0 && !words[1];
}

/* Hooks of shells pass their scope in the environment. */
static const char *hook_scope(void)
{
    const char *scope = getenv(STEP_SHELL_SCOPE);

    return scope && *scope ? scope : "hook";
}

static int ask_number(const char *op, char **words, long fallback)
{
    struct request request = { .op = op, .scope = "", .exit_code = -1 };

    if (!parse_number(words, fallback, &request.number) ||
        (strcmp(op, WIRE_STEP_UNDO) == 0 && request.number < 1))
        return fail(USAGE, "%s: '%s' is no %s", op, words[0],
                    strcmp(op, WIRE_STEP_DIFF) == 0 ? "step id"
                                                    : "number of steps");
    return ask_once(&request);
}

static int begin(char **words)
{
    struct request request = { .op = WIRE_STEP_BEGIN,
                               .number = -1,
                               .exit_code = -1 };

    request.scope = hook_scope();
    request.text = words[0] && words[1] ? join(words)
                   : words[0]           ? words[0]
                                        : "step begin";
    return ask_once(&request);
}

static int end(char **words)
{
    struct request request = { .op = WIRE_STEP_END, .number = -1 };
    long code;

    if (!parse_number(words, -1, &code) || code > 255)
        return fail(USAGE, "end: '%s' is no exit code", words[0]);
    request.scope = hook_scope();
    request.exit_code = (int)code;
    return ask_once(&request);
}

static int list(char **words)
{
    struct request request = {
        .op = WIRE_STEP_LIST, .scope = "", .number = -1, .exit_code = -1
    };

    if (words[0])
        return fail(USAGE, "list: unexpected argument '%s'", words[0]);
    return ask_once(&request);
}

/* Join the words that fit; wire_text() repairs a character that was cut. */
static const char *join_reason(char **words)
{
    static char text[WIRE_STEP_REASON + 1];
    size_t used = 0;

    for (; *words && used < WIRE_STEP_REASON; words++) {
        snprintf(text + used, sizeof(text) - used, "%s%s", used > 0 ? " " : "",
                 *words);
        used = strlen(text);
    }
    while (used == WIRE_STEP_REASON && used > 0 &&
           (unsigned char)text[used - 1] >= 0x80)
        text[--used] = '\0';
    return text;
}

static int grant(char **words)
{
    struct request request = {
        .op = WIRE_STEP_GRANT, .scope = "", .number = -1, .exit_code = -1
    };

    for (; *words && **words == '-'; words++) {
        if (strcmp(*words, "--") == 0)
            break;
        if (strcmp(*words, "--rw") != 0)
            return fail(USAGE, "grant: unknown option '%s'", *words);
        request.writes = true;
    }
    words += *words && strcmp(*words, "--") == 0;
    if (!*words || **words != '/')
        return fail(USAGE, "grant: give the absolute path of a folder of the "
                           "host");
    if (strlen(*words) > WIRE_STEP_COMMAND)
        return fail(USAGE, "grant: the path is too long");
    request.text = *words++;
    if (*words && strcmp(*words, "--rw") == 0) {
        request.writes = true;
        words++;
    }
    request.reason = join_reason(words);
    return ask_once(&request);
}

bool step_client_is_meant(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;

    return argc > 0 && getpid() != 1 &&
           strcmp(slash ? slash + 1 : argv[0], STEP_CLIENT_NAME) == 0;
}

int step_client_main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    char **words = argv + (argc > 1 ? 2 : 1);

    if (strcmp(verb, "run") == 0)
        return run(words);
    if (strcmp(verb, "begin") == 0)
        return begin(words);
    if (strcmp(verb, "end") == 0)
        return end(words);
    if (strcmp(verb, "list") == 0)
        return list(words);
    if (strcmp(verb, "diff") == 0)
        return ask_number(WIRE_STEP_DIFF, words, 0);
    if (strcmp(verb, "undo") == 0)
        return ask_number(WIRE_STEP_UNDO, words, 1);
    if (strcmp(verb, "grant") == 0)
        return grant(words);
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    fputs(usage, stderr);
    return USAGE;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * step_shell - see step_shell.h.
 */
#include "shim/step_shell.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Start-up files may have set another PATH. */
#define FIND_STEP                                                              \
    "type step >/dev/null 2>&1 || PATH=$PATH:${__stepback_step%/*}\n"

/* The first line sets __stepback_step. A line that the history leaves out would
 * have the text of the line before, so the history keeps all lines. A pattern
 * matches bytes that are no UTF-8 in the locale C only. */
static const char bash_text[] =
    "[ -r /etc/profile ] && . /etc/profile\n"
    "for __stepback_file in ~/.bash_profile ~/.bash_login ~/.profile ~/.bashrc;"
    " do\n"
    "    [ -r \"$__stepback_file\" ] && { . \"$__stepback_file\"; break; }\n"
    "done\n"
    "unset __stepback_file HISTCONTROL HISTIGNORE\n" FIND_STEP
    "__stepback_begin() {\n"
    "    local LC_ALL=C line\n"
    "    line=$(HISTTIMEFORMAT= builtin history 1)\n"
    "    [[ $line =~ ^\\ *[0-9]+[*\\ ]\\ (.*)$ ]] && line=${BASH_REMATCH[1]}\n"
    "    " STEP_SHELL_SCOPE "=prompt command \"$__stepback_step\" begin "
    "\"$line\" </dev/null\n"
    "}\n"
    "__stepback_end() {\n"
    "    local status=$?\n"
    "    " STEP_SHELL_SCOPE "=prompt command \"$__stepback_step\" end "
    "$status </dev/null\n"
    "    return $status\n"
    "}\n"
    "PS0='$(__stepback_begin)'\"$PS0\"\n"
    "PROMPT_COMMAND=(__stepback_end \"${PROMPT_COMMAND[@]}\")\n";

/* The same. zsh reads the user's other start-up files next, where
 * ZDOTDIR says then. */
static const char zsh_text[] =
    "unset ZDOTDIR\n"
    "[ -r ~/.zshenv ] && . ~/.zshenv\n" FIND_STEP "__stepback_begin() {\n"
    "    " STEP_SHELL_SCOPE "=prompt command \"$__stepback_step\" begin \"$1\" "
    "</dev/null\n"
    "}\n"
    "__stepback_end() {\n"
    "    local code=$?\n"
    "    " STEP_SHELL_SCOPE "=prompt command \"$__stepback_step\" end $code "
    "</dev/null\n"
    "    return $code\n"
    "}\n"
    "preexec_functions+=(__stepback_begin)\n"
    "precmd_functions=(__stepback_end $precmd_functions)\n";

static char folder[PATH_MAX / 2];
static char step_path[PATH_MAX], bash_path[PATH_MAX], zsh_variable[PATH_MAX];
static char socket_variable[PATH_MAX + 32];

static int write_file(const char *path, const char *text)
{
    int fd, length;

    unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    length = dprintf(fd, "__stepback_step='%s'\n%s", step_path, text);
    close(fd);
    return length < 0 ? -EIO : 0;
}

static int link_program(void)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

    if (length < 0)
        return -errno;
    program[length] = '\0';
    unlink(step_path);
    return symlink(program, step_path) < 0 ? -errno : 0;
}

/* Add the command to the PATH. A root that has it already keeps its own. */
static int link_command(void)
{
    static const char *const folders[] = { "/usr", "/usr/local",
                                           "/usr/local/bin" };

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        mkdir(folders[i], 0755);
    if (symlink(step_path, "/usr/local/bin/" STEP_CLIENT_NAME) < 0 &&
        errno != EEXIST)
        return -errno;
    return 0;
}

int step_shell_install(const char *socket, bool link)
{
    char path[PATH_MAX];
    int result;

    snprintf(folder, sizeof(folder), "%s", socket);
    if (!strrchr(folder, '/') || strchr(folder, '\''))
        return -EINVAL;
    *strrchr(folder, '/') = '\0';
    snprintf(step_path, sizeof(step_path), "%s/" STEP_CLIENT_NAME, folder);
    snprintf(bash_path, sizeof(bash_path), "%s/bashrc", folder);
    snprintf(zsh_variable, sizeof(zsh_variable), "ZDOTDIR=%s/zsh", folder);
    snprintf(path, sizeof(path), "%s/zsh", folder);
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return -errno;
    snprintf(path, sizeof(path), "%s/zsh/.zshenv", folder);
    result = link_program();
    if (!result)
        result = write_file(bash_path, bash_text);
    if (!result)
        result = write_file(path, zsh_text);
    if (!result)
        result = link ? link_command() : 0;
    if (!result)
        snprintf(socket_variable, sizeof(socket_variable),
                 STEP_CLIENT_SOCKET "=%s", socket);
    return result;
}

const char *step_shell_socket_variable(void)
{
    return *socket_variable ? socket_variable : NULL;
}

void step_shell_choose(const char *shell, struct step_shell *ret_choice)
{
    const char *slash = strrchr(shell, '/');
    const char *name = slash ? slash + 1 : shell;

    *ret_choice = (struct step_shell){ .program = shell };
    if (strcmp(name, "bash") == 0) {
        ret_choice->words[0] = "bash";
        ret_choice->words[1] = "--rcfile";
        ret_choice->words[2] = bash_path;
        ret_choice->words[3] = "-i";
    } else if (strcmp(name, "zsh") == 0) {
        ret_choice->words[0] = "-zsh";
        ret_choice->variable = zsh_variable;
    } else {
        ret_choice->program = step_path;
        ret_choice->words[0] = STEP_CLIENT_NAME;
        ret_choice->words[1] = "run";
        ret_choice->words[2] = "--";
        ret_choice->words[3] = shell;
        ret_choice->words[4] = "-l";
    }
}

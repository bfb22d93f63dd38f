/* SPDX-License-Identifier: Apache-2.0
 *
 * cli - the commands of the program.
 *
 * Each command gets its own arguments (argv[0] is its name) and returns the
 * exit code (below). Messages go to stderr, answers to stdout.
 */
#ifndef AGENT_CLI_CLI_H
#define AGENT_CLI_CLI_H

enum {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,

    /* Of "run", which otherwise returns the command's exit code: as timeout(1),
     * and as "docker run" if stepback itself fails. */
    CLI_TIMED_OUT = 124,
    CLI_RUN_FAILED = 125,
};

enum { CLI_MAX_STEPS = 1000000 };

#define CLI_PROGRAM "stepback"

int cli_agent(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_up(int argc, char **argv);
int cli_exec(int argc, char **argv);
int cli_shell(int argc, char **argv);
int cli_attach(int argc, char **argv);
int cli_jobs(int argc, char **argv);
int cli_cp(int argc, char **argv);
int cli_job(int argc, char **argv);
int cli_approve(int argc, char **argv);
int cli_audit(int argc, char **argv);
int cli_folder(int argc, char **argv);
int cli_pool(int argc, char **argv);
int cli_hold_machine(int argc, char **argv);
int cli_port(int argc, char **argv);
int cli_secret(int argc, char **argv);
int cli_net(int argc, char **argv);
int cli_ps(int argc, char **argv);
int cli_inspect(int argc, char **argv);
int cli_stats(int argc, char **argv);
int cli_logs(int argc, char **argv);
int cli_stop(int argc, char **argv);
int cli_kill(int argc, char **argv);
int cli_rm(int argc, char **argv);
int cli_prune(int argc, char **argv);
int cli_copy_worker(int argc, char **argv);
int cli_make_template(int argc, char **argv);
int cli_supervise(int argc, char **argv);
int cli_history(int argc, char **argv);
int cli_diff(int argc, char **argv);
int cli_undo(int argc, char **argv);
int cli_preview(int argc, char **argv);
int cli_redo(int argc, char **argv);
int cli_mcp(int argc, char **argv);
int cli_image(int argc, char **argv);
int cli_config(int argc, char **argv);
int cli_doctor(int argc, char **argv);

#endif

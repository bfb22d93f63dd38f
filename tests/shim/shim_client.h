/* SPDX-License-Identifier: Apache-2.0
 *
 * shim_client - the host's end of a shim that runs on a socket.
 *
 * The shim is configured never to power off. All functions fail the test if
 * what they expect does not arrive within SHIM_TIMEOUT_MS.
 */
#ifndef TESTS_SHIM_CLIENT_H
#define TESTS_SHIM_CLIENT_H

#include <glib.h>
#include <jansson.h>
#include <sys/types.h>

#define SHIM_TIMEOUT_MS 20000

/* Test data: walk /proc instead of using cgroups. */
#define SHIM_NO_CGROUPS GINT_TO_POINTER(1)

/* A GLib test fixture. */
struct shim_client {
    int fd;
    pid_t pid;
    GString *in;  /* read, and not yet returned */
    char *folder; /* where commands run by default */
};

void shim_set_up(struct shim_client *shim, gconstpointer no_cgroups);
void shim_tear_down(struct shim_client *shim, gconstpointer data);

/* Close the socket and wait for the shim's exit with status 0. */
void shim_end(struct shim_client *shim);

/* Run a shim whose host has closed the socket before. Return its wait status; a
 * shim that does not end is killed by SIGALRM. */
int shim_run_without_host(void);

void shim_send_bytes(struct shim_client *shim, const char *bytes, size_t len);
void shim_send_text(struct shim_client *shim, const char *text);

/* Takes the message. */
void shim_send(struct shim_client *shim, json_t *message);
void shim_send_exec(struct shim_client *shim, int id, const char *command);
void shim_send_cancel(struct shim_client *shim, int id);

/* Return the next message, a new reference; the second requires this type. */
json_t *shim_receive(struct shim_client *shim);
json_t *shim_expect(struct shim_client *shim, const char *type);

/* Return a member of a message: NULL if missing; the others require it. */
const char *shim_text(json_t *message, const char *key);
json_int_t shim_number(json_t *message, const char *key);

/* Require the next message to be an error whose text contains part; id -1:
 * none. */
void shim_expect_error(struct shim_client *shim, const char *part, int id);
void shim_expect_hello(struct shim_client *shim);
void shim_expect_started(struct shim_client *shim, int id);

struct shim_outcome {
    GString *out, *err;
    gboolean base64; /* at least one chunk was */
    json_int_t exit_code;
    json_int_t signal;    /* 0: none */
    json_int_t processes; /* 1: some processes of the command are left */
};

void shim_outcome_clear(struct shim_outcome *outcome);

/* Collect everything up to step_completed. Clear it. */
struct shim_outcome shim_finish(struct shim_client *shim, int id);

/* Run a command to its end. Clear it. */
struct shim_outcome shim_run(struct shim_client *shim, int id,
                             const char *command);

/* Run it and compare. */
void shim_check_run(struct shim_client *shim, int id, const char *command,
                    const char *out, const char *err, int exit_code);

struct shim_test {
    const char *name;
    void (*run)(struct shim_client *shim, gconstpointer data);
};

/* Add each test twice: with cgroups, and without. */
void shim_add_tests(const struct shim_test *tests, size_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_fixture - a daemon with one client, for the tests of its requests.
 */
#ifndef TESTS_P9_FIXTURE_H
#define TESTS_P9_FIXTURE_H

#include "tests/lib/control_client.h"
#include "tests/lib/p9_client.h"

#define OK(call)           g_assert_cmpint(call, ==, 0)
#define FAILS(error, call) g_assert_cmpint(call, ==, -(error))

struct fixture {
    struct p9_rig *rig;
    struct p9_client *client;
    struct control_client *control; /* by p9_control(); or NULL */
};

/* For g_test_add(): option is one of the daemon's, or NULL. */
void p9_fixture_set_up(struct fixture *f, gconstpointer option);
void p9_fixture_tear_down(struct fixture *f, gconstpointer option);

#define P9_ADD(suite, name, option, function)                                  \
    g_test_add("/" suite "/" name, struct fixture, option, p9_fixture_set_up,  \
               function, p9_fixture_tear_down)

/* SIGTERM, and no client is connected. */
void p9_pause(struct fixture *f);

/* Both the client's connection and that to the engine are new after these. */
void p9_resume(struct fixture *f, const char *option);
void p9_restart(struct fixture *f, const char *option);
void p9_kill_restart(struct fixture *f, const char *option);

/* Connect the client anew, as root. */
void p9_act_as_root(struct fixture *f);

/* Run the checks with the log on another file system, where a file that comes
 * back is made anew, with another number. */
void p9_log_elsewhere(struct fixture *f, const char *option,
                      void (*check)(struct fixture *f));

/* Send a request to the engine; it must succeed. The reply is new. */
json_t *p9_ask(struct fixture *f, const char *type,
               json_t *payload /* taken */);
void p9_control(struct fixture *f, const char *type,
                json_t *payload /* taken */);

/* Steps, of which the last is closed at once. Undo and redo the newest. */
void p9_step_open(struct fixture *f, int id);
void p9_step_close(struct fixture *f, int id);
void p9_undo(struct fixture *f, int steps);
void p9_redo(struct fixture *f, int steps);

/* Make a file in the folder, on the host; read one: a new string, or NULL. */
void p9_host_file(struct fixture *f, const char *name, const char *text);
char *p9_host_read(struct fixture *f, const char *name);

/* Attributes, by path: 0 or -errno, and the mode with its type. */
int p9_chmod(struct fixture *f, const char *path, uint32_t mode);
int p9_chown(struct fixture *f, const char *path, uint32_t uid, uint32_t gid);
mode_t p9_mode(struct fixture *f, const char *path);
void p9_mode_is(struct fixture *f, const char *path, mode_t mode);

/* Return the client's view of all files: a line each, sorted; new. */
char *p9_tree(struct fixture *f);
void p9_tree_is(struct fixture *f, const char *wanted);

/* New fids: of a path, of an open file, of a new file. */
uint32_t p9_fid(struct fixture *f, const char *path);
uint32_t p9_open_fid(struct fixture *f, const char *path, uint32_t flags);
uint32_t p9_create_fid(struct fixture *f, const char *name);

/* Tlcreate in the root, and nothing is left open. 0 or -errno. */
int p9_create(struct fixture *f, const char *name, uint32_t flags,
              uint32_t mode);

#endif

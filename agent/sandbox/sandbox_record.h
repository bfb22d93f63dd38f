/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_record - all that the state directory says of a sandbox.
 */
#ifndef AGENT_SANDBOX_SANDBOX_RECORD_H
#define AGENT_SANDBOX_SANDBOX_RECORD_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

enum sandbox_status {
    SANDBOX_STARTING,
    SANDBOX_RUNNING,
    SANDBOX_STOPPING,
    SANDBOX_STOPPED,
    SANDBOX_CRASHED, /* the supervisor was killed */
    SANDBOX_FAILED,  /* "error": it could not start, or lost its machine, or its
                        files cannot be read */
};

struct sandbox_record {
    char *name;
    int dir_fd; /* of the state directory, or -1 */
    enum sandbox_status status;
    char *problem;  /* why config.json cannot be read, or NULL */
    json_t *config; /* config.json, or NULL */
    json_t *run;    /* run.json, of the supervisor that runs or crashed */
    json_t *end;    /* end.json, or NULL */
};

/* Return the protocol's word for a status: static. */
const char *sandbox_status_name(enum sandbox_status status);

/* Read a sandbox. On failure return NULL with the errors of
 * sandbox_store_open(). */
struct sandbox_record *sandbox_record_load(const char *name, GError **error);
void sandbox_record_free(struct sandbox_record *record);
typedef struct sandbox_record sandbox_record;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(sandbox_record, sandbox_record_free)

/* Read all sandboxes (of struct sandbox_record; a new array). */
GPtrArray *sandbox_record_load_all(GError **error);

/* Return whether a supervisor holds the lock. */
bool sandbox_record_is_live(const struct sandbox_record *record);

/* Return the working folders (of char *; a new array). */
GPtrArray *sandbox_record_folders(const struct sandbox_record *record);

/* Return the working folder that is path or contains it (real paths): a new
 * string, or NULL. */
char *sandbox_record_folder_above(const struct sandbox_record *record,
                                  const char *path);

/* Return a member of run.json ("api_socket", "mcp_socket"): borrowed; NULL if
 * the sandbox does not run. */
const char *sandbox_record_socket(const struct sandbox_record *record,
                                  const char *member);

/* Build config.json: the payload of session.start (taken), the idle timeout (0:
 * none), and the time of the creation. Returns a new object. */
json_t *sandbox_config_new(const char *name, json_t *session,
                           gint64 idle_timeout_s);

/* Note in run.json the process whose child the machine's process is, although
 * it is no descendant of the supervisor; 0: none. Returns run. */
json_t *sandbox_run_holder(json_t *run, pid_t holder);

/* Build run.json for this process. Returns a new object. */
json_t *sandbox_run_new(const char *api_socket, const char *mcp_socket,
                        bool running);

/* Mark run.json (taken) as that of a supervisor that ends. */
json_t *sandbox_run_ending(json_t *run);

/* Build end.json. reason: stopped, idle, killed, start_failed or machine_lost;
 * message may be NULL. Returns a new object. */
json_t *sandbox_end_new(const char *reason, const char *message);

#endif

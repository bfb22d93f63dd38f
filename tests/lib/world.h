/* SPDX-License-Identifier: Apache-2.0
 *
 * world - a folder, its undo log, and a way to change it through the engine.
 *
 * The engine's tests are written once against this and run over several
 * backends: the library in this process, with the log on the same or another
 * file system; the real daemon under a real mount, driven by system calls and
 * its control socket; and the 9P server, driven by requests. Operations take
 * paths relative to the folder (or to the directory of the last chdir) and
 * return 0 or -errno.
 */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct world;

struct world_backend {
    const char *name;
    bool log_elsewhere; /* the log on another file system */

    /* Start serving world->share. False: not possible here (skip). */
    bool (*start)(struct world *world);
    void (*stop)(struct world *world); /* as on SIGTERM */
    void (*kill)(struct world *world); /* as on SIGKILL at this point */

    int (*put)(struct world *w, const char *path, int flags, const void *data,
               size_t len, off_t offset);
    int (*mkdir)(struct world *w, const char *path, mode_t mode);
    int (*mknod)(struct world *w, const char *path, mode_t mode, dev_t dev);
    int (*symlink)(struct world *w, const char *target, const char *path);
    int (*link)(struct world *w, const char *from, const char *path);
    int (*unlink)(struct world *w, const char *path);
    int (*rmdir)(struct world *w, const char *path);
    int (*rename)(struct world *w, const char *from, const char *to,
                  unsigned flags);
    int (*chmod)(struct world *w, const char *path, mode_t mode);
    int (*chown)(struct world *w, const char *path, uid_t uid, gid_t gid);
    int (*utimes)(struct world *w, const char *path,
                  const struct timespec times[2]);
    int (*truncate)(struct world *w, const char *path, off_t size);
    int (*setxattr)(struct world *w, const char *path, const char *name,
                    const void *value, size_t len);
    int (*removexattr)(struct world *w, const char *path, const char *name);
    int (*fallocate)(struct world *w, const char *path, int mode, off_t offset,
                     off_t len);
    int (*copy_range)(struct world *w, const char *from, const char *to,
                      off_t from_offset, off_t to_offset, size_t len);
    int (*stat)(struct world *w, const char *path, struct stat *ret_stat);

    /* Make the following paths relative to this directory: a name in the
     * present one, "..", or NULL for the share itself. */
    int (*chdir)(struct world *w, const char *name);

    /* Open a handle that stays open across other operations; NULL and errno. */
    void *(*open)(struct world *w, const char *path, int flags);
    /* O_TMPFILE: a file without a name. */
    void *(*tmpfile)(struct world *w, const char *dir, int flags);
    int (*write)(struct world *w, void *handle, const void *data, size_t len,
                 off_t offset);
    int (*handle_truncate)(struct world *w, void *handle, off_t size);
    int (*handle_link)(struct world *w, void *handle, const char *path);
    int (*handle_stat)(struct world *w, void *handle, struct stat *ret_stat);
    void (*close)(struct world *w, void *handle);

    /* Write as a user without privileges, which clears suid bits (needs root).
     */
    int (*write_as)(struct world *w, const char *path, uid_t uid,
                    const void *data, size_t len, off_t offset);
    /* Write through a shared mapping; -EOPNOTSUPP, -ENODEV: not supported here.
     */
    int (*mmap_write)(struct world *w, const char *path, const void *data,
                      size_t len, off_t offset);

    /* Send a request of the control protocol: a new payload, or NULL and error.
     */
    json_t *(*request)(struct world *w, const char *type, json_t *payload,
                       GError **error);

    /* Return the engine if it is in this process, else NULL. */
    struct ic *(*engine)(struct world *w);

    /* Return the data of the last request's error: borrowed; NULL: none. */
    json_t *(*error_data)(struct world *w);

    /* Take the oldest queued event of this type that arrived before the last
     * reply: its payload, a new reference; or NULL. */
    json_t *(*event)(struct world *w, const char *type);

    /* Wait for an event of this type: the payload, new. */
    json_t *(*wait_event)(struct world *w, const char *type);
};

struct world {
    const struct world_backend *backend;
    char *base;  /* holds all files of this world */
    char *share; /* the folder itself */
    char *undo_dir;
    char *mount;         /* the mount point (mount backend) */
    unsigned ambient_ms; /* 0: default */
    int fault_fd;        /* > 0: the mounting daemon's STEPBACK_FAULT_FD */
    int64_t next_id;
    json_t *recovery; /* payload of event.recovery at the last start */
    void *state;      /* the backend's */
};

extern const struct world_backend world_folder, world_folder_copy, world_mount,
    world_local, world_9p;

struct world_case {
    const char *name;
    void (*run)(gconstpointer backend);
    bool mount_only;
};

/* Add a test "PREFIX/BACKEND/NAME" of each case for the first n of these
 * backends: folder, folder that is copied, mount, 9P. */
enum { WORLD_WITHOUT_9P = 3, WORLD_BACKENDS };
void world_add_cases(const char *prefix, size_t n,
                     const struct world_case *cases, size_t count);

/* Make a world with an empty folder, not started. */
struct world *world_new(const struct world_backend *backend);
void world_free(struct world *world);

/* world_auto struct world *w = ...: freed when it leaves scope, unless NULL. */
void world_free_at(struct world **world);
#define world_auto __attribute__((cleanup(world_free_at)))

/* Start a daemon over the world's folder and log that ends with this thread,
 * and inherits the fds above 0. options: further ones, up to NULL. */
pid_t world_spawn(struct world *world, const char *program,
                  const char *const *options, const int *fds, size_t count);

/* Connect to that daemon's engine. Return a new fd, or -errno. */
int world_connect(struct world *world);

/* Start the world, or mark the test as skipped. */
bool world_start(struct world *world);

/* Send a request that must succeed. A new payload; payload is taken. */
json_t *world_request(struct world *world, const char *type, json_t *payload);

/* Send a request that must fail with this code. */
void world_refused(struct world *world, const char *type, json_t *payload,
                   int code);

/* Open a folder backend without control connection and timer, so that the
 * engine acts only for the caller. FALSE: ic_open_share() failed. Ends by the
 * backend's stop() or kill(). */
struct ic;
bool world_folder_open(struct world *world, GError **error);
struct ic *world_folder_ic(struct world *world); /* NULL: not open */

/* Mount backend: start the daemon, which may be killed meanwhile or, with
 * may_refuse, exit with an error. False: it did, and the world is not started.
 */
bool world_mount_try_start(struct world *world, bool may_refuse);

/* Steps; all assert success. Ids are assigned in order. A step is closed by
 * the open one's id, which is the last that was assigned. */
int64_t world_step(struct world *world);
json_t *world_close_step(struct world *world); /* the report */
json_t *world_undo(struct world *world, unsigned steps);
json_t *world_redo(struct world *world, unsigned steps);
void world_end_step(struct world *world); /* without the report */
guint world_history_count(struct world *world);

/* Take a snapshot of the tree, on the host; asserts that it is readable. */
GPtrArray *world_snapshot(struct world *world);
void world_assert_equal(struct world *world, GPtrArray *before);
void world_assert_changed(struct world *world, GPtrArray *before);

/* Undo or redo so many steps, after which the tree must equal this snapshot. */
void world_undo_to(struct world *world, unsigned steps, GPtrArray *wanted);
void world_redo_to(struct world *world, unsigned steps, GPtrArray *wanted);

/* Return a file's text through the backend's tree, on the host; NULL if none.
 */
char *world_read(struct world *world, const char *path);

/* Assert that the report's affected_paths are exactly these (NULL-terminated).
 */
void world_assert_affected(json_t *report, ...) G_GNUC_NULL_TERMINATED;

/* Make a file or directory on the host, before the world is started. */
void world_host_file(struct world *world, const char *path, const char *text);
void world_host_dir(struct world *world, const char *path);
char *world_host_path(struct world *world, const char *path);

#endif

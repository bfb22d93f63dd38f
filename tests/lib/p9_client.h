/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_client - a 9P client for tests, and a daemon to talk to.
 *
 * Calls that send a protocol request return 0 or -errno, by the server's reply.
 * A protocol error fails the test.
 */
#ifndef TESTS_P9_CLIENT_H
#define TESTS_P9_CLIENT_H

#include <glib.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "p9/wire/message.h"

/* ---- a daemon ------------------------------------------------------------ */

struct p9_rig {
    char *base, *share, *undo_dir, *socket, *control;
    pid_t pid; /* 0: not running */
};

/* Make a new folder with an empty share; no daemon yet. */
struct p9_rig *p9_rig_new(void);

/* Start the daemon with these further options (NULL-terminated). */
void p9_rig_start(struct p9_rig *rig, ...) G_GNUC_NULL_TERMINATED;

/* Send SIGTERM; the daemon must exit with 0. */
void p9_rig_stop(struct p9_rig *rig);

/* Send SIGKILL. */
void p9_rig_kill(struct p9_rig *rig);

/* Stop the daemon, too, and remove the folder. */
void p9_rig_free(struct p9_rig *rig);

char *p9_rig_path(struct p9_rig *rig, const char *name);

/* Return the memory of the daemon, in bytes. */
size_t p9_rig_memory(struct p9_rig *rig);

const char *p9_daemon_path(void);

/* ---- messages ------------------------------------------------------------ */

struct p9_client {
    int fd;
    uint32_t msize;
    uint16_t next_tag;
    uint32_t next_fid;
    uint32_t gid; /* of created files */
    uint8_t *out, *in;
    size_t room;
};

#define P9_ROOT 0u /* the fid that p9_client_connect() attaches */

/* Connect, start a session with this msize and attach P9_ROOT as uid. */
struct p9_client *p9_client_connect(const char *socket, uint32_t msize,
                                    uint32_t uid);

/* Connect only. NULL: no listener. */
struct p9_client *p9_client_open(const char *socket);
void p9_client_free(struct p9_client *client);

void p9_client_send(struct p9_client *client, const struct p9_message *message);
void p9_client_send_bytes(struct p9_client *client, const void *bytes,
                          size_t size);

/* Receive the next reply; borrowed until the next call. False: the server hung
 * up. */
bool p9_client_receive(struct p9_client *client,
                       struct p9_message *ret_message);

/* Return whether anything arrives within ms milliseconds. */
bool p9_client_is_readable(struct p9_client *client, int ms);

/* Send the message with a tag of its own, and receive its reply. 0 or -errno.
 */
int p9_client_call(struct p9_client *client, struct p9_message *message,
                   struct p9_message *ret_reply);

/* ---- requests ------------------------------------------------------------ */

uint32_t p9_client_new_fid(struct p9_client *client);

int p9_version(struct p9_client *client, uint32_t msize, const char *version,
               uint32_t *ret_msize, char **ret_version);
int p9_attach(struct p9_client *client, uint32_t fid, const char *aname,
              uint32_t uid);

/* path: any number of names separated by '/'; symlinks are not followed.
 * *ret_fid is new. */
int p9_walk(struct p9_client *client, uint32_t from, const char *path,
            uint32_t *ret_fid);
int p9_clunk(struct p9_client *client, uint32_t fid);
int p9_remove(struct p9_client *client, uint32_t fid);
int p9_lopen(struct p9_client *client, uint32_t fid, uint32_t flags);
int p9_lcreate(struct p9_client *client, uint32_t fid, const char *name,
               uint32_t flags, uint32_t mode);

/* Read to the end of the file or of data, in as many requests as needed. A
 * count, or -errno. */
ssize_t p9_read(struct p9_client *client, uint32_t fid, void *data, size_t size,
                uint64_t offset);
ssize_t p9_write(struct p9_client *client, uint32_t fid, const void *data,
                 size_t size, uint64_t offset);

int p9_getattr(struct p9_client *client, uint32_t fid, uint64_t mask,
               struct p9_message *ret_reply);
int p9_stat(struct p9_client *client, uint32_t fid, struct stat *ret_stat);
int p9_mkdir(struct p9_client *client, uint32_t dir, const char *name,
             uint32_t mode);
int p9_mknod(struct p9_client *client, uint32_t dir, const char *name,
             uint32_t mode, dev_t dev);
int p9_symlink(struct p9_client *client, uint32_t dir, const char *name,
               const char *target);
int p9_readlink(struct p9_client *client, uint32_t fid, char **ret_target);
int p9_link(struct p9_client *client, uint32_t dir, uint32_t fid,
            const char *name);
int p9_rename(struct p9_client *client, uint32_t fid, uint32_t dir,
              const char *name);
int p9_renameat(struct p9_client *client, uint32_t old_dir,
                const char *old_name, uint32_t new_dir, const char *new_name);
int p9_unlinkat(struct p9_client *client, uint32_t dir, const char *name,
                uint32_t flags);
int p9_fsync(struct p9_client *client, uint32_t fid);

/* List the names in an open directory, also "." and "..", count bytes at a
 * time. */
int p9_list(struct p9_client *client, uint32_t fid, uint32_t count,
            GPtrArray **ret_names);

int p9_setxattr(struct p9_client *client, uint32_t fid, const char *name,
                const void *value, size_t size, uint32_t flags);
ssize_t p9_getxattr(struct p9_client *client, uint32_t fid, const char *name,
                    void *value, size_t room);

/* Return a Tlock, not sent yet. length 0: to the end. */
struct p9_message p9_lock_message(uint32_t fid, uint8_t type, uint32_t flags,
                                  uint64_t start, uint64_t length,
                                  uint32_t process);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_server - serves a shared folder to a FUSE client.
 *
 * The server is independent of the transport: a virtqueue or /dev/fuse. Every
 * change of the folder is a call of the undo engine; reads go straight to the
 * files.
 *
 * Threads: any number of threads may call fuse_server_handle() at once, each
 * with its own scratch.
 */
#ifndef VIRTIOFS_FUSE_FUSE_SERVER_H
#define VIRTIOFS_FUSE_FUSE_SERVER_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "daemon/parked.h"
#include "interceptor/interceptor.h"
#include "virtiofs/fuse/fuse_config.h"
#include "virtiofs/fuse/fuse_lease.h"
#include "virtiofs/fuse/fuse_request.h"

struct fuse_server;

/* Return a new server. ic is borrowed for its lifetime. */
struct fuse_server *fuse_server_new(struct ic *ic,
                                    const struct fuse_server_config *config);

/* Releases all inodes. No request may be running. NULL is allowed. */
void fuse_server_free(struct fuse_server *server);

/* Handle one request. The iovecs are borrowed for the call, at most
 * FUSE_MAX_IOV on each side. Return the length of the reply that was written to
 * out, or 0 if the request has none. Return FUSE_SERVER_PARKED if the request
 * was not begun and must be handled again later; scratch->unique is its id.
 * Return FUSE_SERVER_LONG if it was not begun because it may take longer than
 * scratch->pace allows. */
size_t fuse_server_handle(struct fuse_server *server,
                          struct fuse_scratch *scratch, const struct iovec *in,
                          unsigned n_in, const struct iovec *out,
                          unsigned n_out);

#define FUSE_SERVER_PARKED SIZE_MAX
#define FUSE_SERVER_LONG   (SIZE_MAX - 1)

/* Answer a request with this error (-errno) without handling it. Return as
 * above. */
size_t fuse_server_refuse(struct fuse_server *server,
                          struct fuse_scratch *scratch, const struct iovec *in,
                          unsigned n_in, const struct iovec *out,
                          unsigned n_out, int error);

/* Announce that the share is mounted on this host with this st_dev; 0: no
 * longer mounted. Any thread. */
void fuse_server_set_mount_dev(struct fuse_server *server, dev_t dev);

/* See ic_set_stale(); the tags are node ids. While no request runs. */
void fuse_server_set_stale(struct fuse_server *server,
                           void (*tell)(const struct ic_stale *list, size_t n,
                                        bool wait, void *opaque),
                           void *opaque);

/* With leases: fuse_lease_set_teller(), and fuse_lease_keep_long(). */
void fuse_server_set_teller(struct fuse_server *server,
                            const struct fuse_lease_teller *teller,
                            void *opaque);
void fuse_server_keep_long(struct fuse_server *server, bool can);

/* See ic_stale_undos(). Any thread. */
uint64_t fuse_server_undos(const struct fuse_server *server);

/* Call each with everything that the client knows, as far as the server knows
 * that: each inode with its last name. The argument is borrowed. */
void fuse_server_each_known(struct fuse_server *server,
                            void (*each)(const struct ic_stale *known,
                                         void *opaque),
                            void *opaque);

/* The same with each inode that the client can have mapped for writing. */
void fuse_server_each_mappable(struct fuse_server *server,
                               void (*each)(const struct ic_stale *known,
                                            void *opaque),
                               void *opaque);

/* Return the last name of a node's inode, a new string, and its folder's node;
 * NULL: unknown. */
char *fuse_server_last_name(struct fuse_server *server, uint64_t node,
                            uint64_t *ret_dir);

/* Return the parking facility that transports use for their requests. */
struct parked *fuse_server_parked(struct fuse_server *server);

#endif

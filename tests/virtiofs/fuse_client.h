/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_client - FUSE requests for tests, like those of a guest's kernel.
 *
 * Replies are returned by their place in guest memory, valid until the next
 * request of the same queue. Errors are -errno.
 */
#ifndef TESTS_FUSE_CLIENT_H
#define TESTS_FUSE_CLIENT_H

#include "tests/virtiofs/vhost_user_client.h"
#include "virtiofs/fuse/fuse_abi.h"

/* The queue that the helpers below use. */
#define FUSE_QUEUE 1

#define ROOT FUSE_ROOT_ID

/* A struct iovec of x itself, which must stay alive. */
#define PIECE(x)                                                               \
    {                                                                          \
        (void *)&(x), sizeof(x)                                                \
    }

/* A struct iovec of a string, with its end. */
#define TEXT(s)                                                                \
    {                                                                          \
        (void *)(s), strlen(s) + 1                                             \
    }

/* Send a request with up to three pieces of arguments; *ret_reply is what
 * follows the reply's header, *ret_len its length (both may be NULL). */
int fuse_client_call(struct client *client, unsigned queue, uint32_t opcode,
                     uint64_t node, const struct iovec *args, unsigned n_args,
                     uint32_t reply_size, const void **ret_reply,
                     uint32_t *ret_len);

/* INIT as a Linux 6.12 guest sends it; returns its reply. */
struct fuse_init_out fuse_client_init(struct client *client);

/* A client that has done INIT. */
struct client *fuse_client_new(uint64_t want, const char *const *arguments);

int fuse_client_lookup(struct client *client, uint64_t dir, const char *name,
                       struct fuse_entry_out *ret_entry);
void fuse_client_forget(struct client *client, uint64_t node, uint64_t n);
int fuse_client_getattr(struct client *client, uint64_t node,
                        struct fuse_attr *ret_attr);
int fuse_client_setattr(struct client *client, uint64_t node,
                        const struct fuse_setattr_in *in,
                        struct fuse_attr *ret_attr);
int fuse_client_create(struct client *client, uint64_t dir, const char *name,
                       uint32_t flags, uint64_t *ret_node, uint64_t *ret_fh);
int fuse_client_mkdir(struct client *client, uint64_t dir, const char *name,
                      uint64_t *ret_node);
int fuse_client_open(struct client *client, uint64_t node, uint32_t flags,
                     uint32_t open_flags, uint64_t *ret_fh);
int fuse_client_opendir(struct client *client, uint64_t node, uint64_t *ret_fh);
int fuse_client_release(struct client *client, uint32_t opcode, uint64_t node,
                        uint64_t fh);

/* UNLINK or RMDIR. */
int fuse_client_remove(struct client *client, uint32_t opcode, uint64_t dir,
                       const char *name);
int fuse_client_rename(struct client *client, uint64_t dir, const char *name,
                       uint64_t new_dir, const char *new_name, uint32_t flags);

/* Bytes or -errno. */
int fuse_client_write(struct client *client, uint64_t fh, uint64_t offset,
                      const void *data, uint32_t size, uint32_t flags);
int fuse_client_read(struct client *client, uint64_t fh, uint64_t offset,
                     uint32_t size, const void **ret_data);

/* READDIR or READDIRPLUS: bytes or -errno. */
int fuse_client_readdir(struct client *client, uint32_t opcode, uint64_t fh,
                        uint64_t offset, uint32_t size, const void **ret_data);

#endif

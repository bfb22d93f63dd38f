/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_client - see fuse_client.h.
 */
#include "tests/virtiofs/fuse_client.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

int fuse_client_call(struct client *client, unsigned queue, uint32_t opcode,
                     uint64_t node, const struct iovec *args, unsigned n_args,
                     uint32_t reply_size, const void **ret_reply,
                     uint32_t *ret_len)
{
    static _Atomic uint64_t unique = 2;
    struct fuse_in_header head = { .len = sizeof(head),
                                   .opcode = opcode,
                                   .unique = atomic_fetch_add(&unique, 2),
                                   .nodeid = node,
                                   .pid = MAX(client->thread, 1) };
    struct iovec in[4] = { PIECE(head) };
    struct fuse_out_header out;
    const char *reply;
    uint32_t len;

    g_assert_cmpuint(n_args, <, G_N_ELEMENTS(in));
    for (unsigned i = 0; i < n_args; i++) {
        in[i + 1] = args[i];
        head.len += (uint32_t)args[i].iov_len;
    }
    client_submit(client, queue, in, n_args + 1,
                  (uint32_t)sizeof(out) + reply_size);
    reply = client_reap(client, queue, &len);
    g_assert_cmpuint(len, >=, sizeof(out));
    memcpy(&out, reply, sizeof(out));
    g_assert_cmpuint(out.len, ==, len);
    g_assert_cmpuint(out.unique, ==, head.unique);
    if (out.error)
        g_assert_cmpuint(len, ==, sizeof(out));
    if (ret_reply)
        *ret_reply = reply + sizeof(out);
    if (ret_len)
        *ret_len = len - (uint32_t)sizeof(out);
    return out.error;
}

/* Send a request whose reply, unless an error, is one struct. */
static int call_struct(struct client *client, uint32_t opcode, uint64_t node,
                       const struct iovec *args, unsigned n_args, void *reply,
                       uint32_t reply_size)
{
    const void *p;
    uint32_t len;
    int r = fuse_client_call(client, FUSE_QUEUE, opcode, node, args, n_args,
                             reply_size, &p, &len);

    if (r == 0) {
        g_assert_cmpuint(len, ==, reply_size);
        if (reply_size > 0)
            memcpy(reply, p, reply_size);
    }
    return r;
}

struct fuse_init_out fuse_client_init(struct client *client)
{
    /* All flags, as from a kernel that supports everything. */
    struct fuse_init_in in = { .major = 7,
                               .minor = 41,
                               .max_readahead = 128 << 10,
                               .flags = ~0u,
                               .flags2 = ~0u };
    struct iovec args[] = { PIECE(in) };
    struct fuse_init_out out;

    g_assert_cmpint(
        call_struct(client, FUSE_INIT, 0, args, 1, &out, sizeof(out)), ==, 0);
    return out;
}

struct client *fuse_client_new(uint64_t want, const char *const *arguments)
{
    struct client *client = client_new(want, arguments);

    fuse_client_init(client);
    return client;
}

int fuse_client_lookup(struct client *client, uint64_t dir, const char *name,
                       struct fuse_entry_out *ret_entry)
{
    struct iovec args[] = { TEXT(name) };

    return call_struct(client, FUSE_LOOKUP, dir, args, 1, ret_entry,
                       sizeof(*ret_entry));
}

void fuse_client_forget(struct client *client, uint64_t node, uint64_t n)
{
    struct fuse_in_header head = { .opcode = FUSE_FORGET, .nodeid = node };
    struct fuse_forget_in forget = { .nlookup = n };
    struct iovec in[] = { PIECE(head), PIECE(forget) };
    uint32_t len;

    head.len = sizeof(head) + sizeof(forget);
    client_submit(client, 0, in, 2, 0);
    client_reap(client, 0, &len);
    g_assert_cmpuint(len, ==, 0);
}

int fuse_client_getattr(struct client *client, uint64_t node,
                        struct fuse_attr *ret_attr)
{
    struct fuse_getattr_in in = { 0 };
    struct iovec args[] = { PIECE(in) };
    struct fuse_attr_out out;
    int r = call_struct(client, FUSE_GETATTR, node, args, 1, &out, sizeof(out));

    if (r == 0)
        *ret_attr = out.attr;
    return r;
}

int fuse_client_setattr(struct client *client, uint64_t node,
                        const struct fuse_setattr_in *in,
                        struct fuse_attr *ret_attr)
{
    struct iovec args[] = { PIECE(*in) };
    struct fuse_attr_out out;
    int r = call_struct(client, FUSE_SETATTR, node, args, 1, &out, sizeof(out));

    if (r == 0)
        *ret_attr = out.attr;
    return r;
}

int fuse_client_create(struct client *client, uint64_t dir, const char *name,
                       uint32_t flags, uint64_t *ret_node, uint64_t *ret_fh)
{
    struct fuse_create_in in = { .flags = flags, .mode = S_IFREG | 0644 };
    struct iovec args[] = { PIECE(in), TEXT(name) };
    struct {
        struct fuse_entry_out entry;
        struct fuse_open_out open;
    } out;
    int r = call_struct(client, FUSE_CREATE, dir, args, 2, &out, sizeof(out));

    if (r == 0) {
        *ret_node = out.entry.nodeid;
        *ret_fh = out.open.fh;
    }
    return r;
}

int fuse_client_mkdir(struct client *client, uint64_t dir, const char *name,
                      uint64_t *ret_node)
{
    struct fuse_mkdir_in in = { .mode = 0755 };
    struct iovec args[] = { PIECE(in), TEXT(name) };
    struct fuse_entry_out out;
    int r = call_struct(client, FUSE_MKDIR, dir, args, 2, &out, sizeof(out));

    if (r == 0)
        *ret_node = out.nodeid;
    return r;
}

static int open_node(struct client *client, uint32_t opcode, uint64_t node,
                     uint32_t flags, uint32_t open_flags, uint64_t *ret_fh)
{
    struct fuse_open_in in = { .flags = flags, .open_flags = open_flags };
    struct iovec args[] = { PIECE(in) };
    struct fuse_open_out out;
    int r = call_struct(client, opcode, node, args, 1, &out, sizeof(out));

    if (r == 0)
        *ret_fh = out.fh;
    return r;
}

int fuse_client_open(struct client *client, uint64_t node, uint32_t flags,
                     uint32_t open_flags, uint64_t *ret_fh)
{
    return open_node(client, FUSE_OPEN, node, flags, open_flags, ret_fh);
}

int fuse_client_opendir(struct client *client, uint64_t node, uint64_t *ret_fh)
{
    return open_node(client, FUSE_OPENDIR, node, 0, 0, ret_fh);
}

int fuse_client_release(struct client *client, uint32_t opcode, uint64_t node,
                        uint64_t fh)
{
    struct fuse_release_in in = { .fh = fh };
    struct iovec args[] = { PIECE(in) };

    return call_struct(client, opcode, node, args, 1, NULL, 0);
}

int fuse_client_remove(struct client *client, uint32_t opcode, uint64_t dir,
                       const char *name)
{
    struct iovec args[] = { TEXT(name) };

    return call_struct(client, opcode, dir, args, 1, NULL, 0);
}

int fuse_client_rename(struct client *client, uint64_t dir, const char *name,
                       uint64_t new_dir, const char *new_name, uint32_t flags)
{
    struct fuse_rename2_in in = { .newdir = new_dir, .flags = flags };
    struct iovec args[] = { PIECE(in), TEXT(name), TEXT(new_name) };

    return call_struct(client, FUSE_RENAME2, dir, args, 3, NULL, 0);
}

int fuse_client_write(struct client *client, uint64_t fh, uint64_t offset,
                      const void *data, uint32_t size, uint32_t flags)
{
    struct fuse_write_in in = {
        .fh = fh, .offset = offset, .size = size, .flags = flags
    };
    struct iovec args[] = { PIECE(in), { (void *)data, size } };
    struct fuse_write_out out;
    int r = call_struct(client, FUSE_WRITE, 0, args, 2, &out, sizeof(out));

    return r == 0 ? (int)out.size : r;
}

static int read_from(struct client *client, uint32_t opcode, uint64_t fh,
                     uint64_t offset, uint32_t size, const void **ret_data)
{
    struct fuse_read_in in = { .fh = fh, .offset = offset, .size = size };
    struct iovec args[] = { PIECE(in) };
    uint32_t len;
    int r = fuse_client_call(client, FUSE_QUEUE, opcode, 0, args, 1, size,
                             ret_data, &len);

    g_assert_cmpuint(len, <=, size);
    return r == 0 ? (int)len : r;
}

int fuse_client_read(struct client *client, uint64_t fh, uint64_t offset,
                     uint32_t size, const void **ret_data)
{
    return read_from(client, FUSE_READ, fh, offset, size, ret_data);
}

int fuse_client_readdir(struct client *client, uint32_t opcode, uint64_t fh,
                        uint64_t offset, uint32_t size, const void **ret_data)
{
    return read_from(client, opcode, fh, offset, size, ret_data);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_request - see fuzz_request.h.
 */
#include "tests/fuzz/fuzz_request.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "virtiofs/fuse/fuse_abi.h"

enum { MAX_REQUEST = 300000, HUGE_NAME = 65536, LONG_NAME = 256 };

/* ---- arguments ----------------------------------------------------------- */

/* n: a node, h: a handle, q, d: a number of 64 or 32 bits, z: 32 bits of 0,
 * N: a name, D: data. */
static const char *const arguments[] = {
    [FUSE_LOOKUP] = "N",
    [FUSE_FORGET] = "q",
    [FUSE_GETATTR] = "dzh",
    [FUSE_SETATTR] = "dzhqqqqqdddddddz",
    [FUSE_READLINK] = "",
    [FUSE_SYMLINK] = "NN",
    [FUSE_MKNOD] = "dddzN",
    [FUSE_MKDIR] = "ddN",
    [FUSE_UNLINK] = "N",
    [FUSE_RMDIR] = "N",
    [FUSE_RENAME] = "nNN",
    [FUSE_LINK] = "nN",
    [FUSE_OPEN] = "dd",
    [FUSE_READ] = "hqddqdz",
    [FUSE_WRITE] = "hqddqdzD",
    [FUSE_STATFS] = "",
    [FUSE_RELEASE] = "hddq",
    [FUSE_FSYNC] = "hdz",
    [FUSE_SETXATTR] = "ddND",
    [FUSE_GETXATTR] = "dzN",
    [FUSE_LISTXATTR] = "dz",
    [FUSE_REMOVEXATTR] = "N",
    [FUSE_FLUSH] = "hzzq",
    [FUSE_INIT] = "dddddD",
    [FUSE_OPENDIR] = "dd",
    [FUSE_READDIR] = "hqddqdz",
    [FUSE_RELEASEDIR] = "hddq",
    [FUSE_FSYNCDIR] = "hdz",
    [FUSE_GETLK] = "hqqqdddz",
    [FUSE_SETLK] = "hqqqdddz",
    [FUSE_SETLKW] = "hqqqdddz",
    [FUSE_ACCESS] = "dz",
    [FUSE_CREATE] = "ddddN",
    [FUSE_INTERRUPT] = "q",
    [FUSE_DESTROY] = "",
    [FUSE_FALLOCATE] = "hqqdz",
    [FUSE_READDIRPLUS] = "hqddqdz",
    [FUSE_RENAME2] = "ndzNN",
    [FUSE_LSEEK] = "hqdz",
    [FUSE_COPY_FILE_RANGE] = "hqnhqqq",
    [FUSE_SYNCFS] = "q",
    [FUSE_TMPFILE] = "dddd",
    [FUSE_STATX] = "dzhdd",
    [FUSE_BATCH_FORGET] = "dznqnq",
};

static const char *const names[] = {
    "a",      "d",
    "f",      "h1",
    "h2",     "l",
    "new",    "n2",
    "sparse", "..",
    ".",      "",
    "a/b",    "../outside/canary",
    "user.x", "security.capability",
    "/",      "d/..",
};

static void add(GByteArray *out, const void *bytes, size_t size)
{
    g_byte_array_append(out, bytes, (guint)size);
}

static void add_fill(GByteArray *out, size_t size)
{
    g_autofree char *bytes = g_strnfill(size, 'n');

    add(out, bytes, size);
}

/* Add a name of the table, an overlong one, one without a terminator, or its
 * own. */
static void add_name(GByteArray *out, struct fuzz_input *input)
{
    uint8_t which = fuzz_input_byte(input);
    size_t size = which - G_N_ELEMENTS(names);
    const uint8_t *bytes;

    if (which < G_N_ELEMENTS(names)) {
        add(out, names[which], strlen(names[which]) + 1);
        return;
    }
    if (which == 255)
        add_fill(out, HUGE_NAME);
    else if (which == 254)
        add_fill(out, LONG_NAME);
    if (which >= 253) {
        add(out, "x", which == 253 ? 1 : 2);
        return;
    }
    bytes = fuzz_input_bytes(input, &size);
    add(out, bytes, size);
    add(out, "", 1);
}

static void add_data(GByteArray *out, struct fuzz_input *input)
{
    static const size_t sizes[] = { 0, 1, 8, 100, 4096, 4097, 65536, 131073 };
    uint8_t which = fuzz_input_byte(input);
    size_t size = which - G_N_ELEMENTS(sizes);
    const uint8_t *bytes;

    if (which < G_N_ELEMENTS(sizes)) {
        add_fill(out, sizes[which]);
        return;
    }
    bytes = fuzz_input_bytes(input, &size);
    add(out, bytes, size);
}

static uint64_t pick(const GArray *known, struct fuzz_input *input)
{
    uint8_t which = fuzz_input_byte(input);

    if (which >= 224 || known->len == 0)
        return fuzz_input_number(input);
    return g_array_index(known, uint64_t, which % known->len);
}

static void add_field(struct fuzz_client *client, GByteArray *out, char field,
                      struct fuzz_input *input)
{
    uint64_t number = 0;

    if (field == 'N')
        return add_name(out, input);
    if (field == 'D')
        return add_data(out, input);
    if (field == 'n')
        number = pick(client->nodes, input);
    else if (field == 'h')
        number = pick(client->handles, input);
    else if (field != 'z')
        number = fuzz_input_number(input);
    add(out, &number, field == 'd' || field == 'z' ? 4 : 8);
}

/* ---- requests ------------------------------------------------------------ */

static struct fuse_in_header *head_of(GByteArray *request)
{
    return (struct fuse_in_header *)request->data;
}

static void bend(GByteArray *request, uint8_t shape, struct fuzz_input *input)
{
    if (shape & 0x10)
        head_of(request)->len = (uint32_t)fuzz_input_number(input);
    if (shape & 0x20)
        head_of(request)->unique = fuzz_input_byte(input);
    if (shape & 0x40) {
        head_of(request)->uid = (uint32_t)fuzz_input_number(input);
        head_of(request)->gid = (uint32_t)fuzz_input_number(input);
    }
    if (shape & 0x80)
        g_byte_array_set_size(request,
                              (guint)(fuzz_input_number(input) % request->len));
}

static uint32_t pick_opcode(struct fuzz_input *input)
{
    uint8_t which = fuzz_input_byte(input);

    return which < 240 ? which % G_N_ELEMENTS(arguments)
                       : (uint32_t)fuzz_input_number(input);
}

GByteArray *fuzz_request_make(struct fuzz_client *client,
                              struct fuzz_input *input)
{
    GByteArray *request = g_byte_array_new();
    struct fuse_in_header head = { .uid = getuid(), .gid = getgid() };
    const char *fields = "D";
    uint8_t shape;

    head.opcode = pick_opcode(input);
    head.nodeid = pick(client->nodes, input);
    head.unique = client->unique += 2;
    shape = fuzz_input_byte(input);
    add(request, &head, sizeof(head));
    if (head.opcode < G_N_ELEMENTS(arguments) && arguments[head.opcode])
        fields = arguments[head.opcode];
    for (; *fields && request->len < MAX_REQUEST; fields++)
        add_field(client, request, *fields, input);
    head_of(request)->len = request->len;
    bend(request, shape, input);
    return request;
}

GByteArray *fuzz_request_init(struct fuzz_client *client)
{
    GByteArray *request = g_byte_array_new();
    struct fuse_init_in in = {
        .major = 7, .minor = 41, .flags = ~0u, .flags2 = ~0u
    };
    struct fuse_in_header head = { .len = sizeof(head) + sizeof(in),
                                   .opcode = FUSE_INIT,
                                   .unique = client->unique += 2 };

    add(request, &head, sizeof(head));
    add(request, &in, sizeof(in));
    return request;
}

/* ---- answers ------------------------------------------------------------- */

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void learn_node(struct fuzz_client *client, const void *entry)
{
    struct fuse_entry_out out;

    memcpy(&out, entry, sizeof(out));
    if (out.nodeid)
        g_array_append_val(client->nodes, out.nodeid);
}

static void learn_handle(struct fuzz_client *client, const void *opened)
{
    struct fuse_open_out out;

    memcpy(&out, opened, sizeof(out));
    g_array_append_val(client->handles, out.fh);
}

static void learn_names(struct fuzz_client *client, const char *at, size_t len,
                        bool plus)
{
    size_t entry = plus ? sizeof(struct fuse_entry_out) : 0;

    while (len > 0) {
        struct fuse_dirent dirent;
        size_t size;

        must(len >= entry + FUSE_NAME_OFFSET);
        memcpy(&dirent, at + entry, FUSE_NAME_OFFSET);
        size = FUSE_DIRENT_ALIGN(entry + FUSE_NAME_OFFSET + dirent.namelen);
        must(dirent.namelen > 0 && dirent.namelen < 256 && size <= len);
        if (plus)
            learn_node(client, at);
        at += size;
        len -= size;
    }
}

static void learn_body(struct fuzz_client *client, uint32_t opcode,
                       const char *body, size_t len)
{
    size_t entry = sizeof(struct fuse_entry_out);

    switch (opcode) {
    case FUSE_LOOKUP:
    case FUSE_SYMLINK:
    case FUSE_MKNOD:
    case FUSE_MKDIR:
    case FUSE_LINK:
        must(len == entry);
        learn_node(client, body);
        break;
    case FUSE_OPEN:
    case FUSE_OPENDIR:
        must(len == sizeof(struct fuse_open_out));
        learn_handle(client, body);
        break;
    case FUSE_CREATE:
    case FUSE_TMPFILE:
        must(len == entry + sizeof(struct fuse_open_out));
        learn_node(client, body);
        learn_handle(client, body + entry);
        break;
    case FUSE_READDIR:
    case FUSE_READDIRPLUS:
        learn_names(client, body, len, opcode == FUSE_READDIRPLUS);
        break;
    default:
        break;
    }
}

void fuzz_client_learn(struct fuzz_client *client, const GByteArray *request,
                       const void *answer, size_t len, size_t room)
{
    struct fuse_in_header head = { 0 };
    struct fuse_out_header out;

    if (len == 0)
        return;
    if (request->len >= sizeof(head))
        memcpy(&head, request->data, sizeof(head));
    must(len >= sizeof(out) && len <= room);
    memcpy(&out, answer, sizeof(out));
    must(out.len == len && out.unique == head.unique);
    must(out.error <= 0 && out.error > -4096);
    must(out.error == 0 || len == sizeof(out));
    if (out.error == 0)
        learn_body(client, head.opcode, (const char *)answer + sizeof(out),
                   len - sizeof(out));
}

void fuzz_client_init(struct fuzz_client *client)
{
    uint64_t root = FUSE_ROOT_ID;

    client->nodes = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    client->handles = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    client->unique = 1000;
    g_array_append_val(client->nodes, root);
}

void fuzz_client_clear(struct fuzz_client *client)
{
    g_array_unref(client->nodes);
    g_array_unref(client->handles);
}

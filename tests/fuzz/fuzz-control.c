/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-control - requests of the control protocol, executed by an engine.
 *
 * An input is lines: requests, or changes of the share between them: "c" makes
 * a file, "w" writes to one, "u" removes one, "r" renames one. Each request
 * must get a reply.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interceptor/control/control_ops.h"
#include "interceptor/control/control_outside.h"
#include "interceptor/interceptor.h"
#include "tests/fuzz/fuzz_world.h"

enum { MAX_LINES = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fuzz_world world;

/* ---- changes ------------------------------------------------------------- */

static void write_file(struct ic *ic, const char *name, int flags)
{
    struct ic_cred cred = { .uid = getuid(), .gid = getgid() };
    struct iovec iov = { (void *)"fuzzed", 6 };
    struct ic_inode *inode;
    int fd;

    if (ic_create(ic, &cred, ic_root(ic), name, flags, 0644, &inode, NULL,
                  &fd) < 0)
        return;
    ic_pwritev(ic, inode, fd, &iov, 1, 3, 0, false);
    close(fd);
    ic_inode_unref(inode);
}

static void change(struct ic *ic, char what)
{
    switch (what) {
    case 'c':
        write_file(ic, "new", O_RDWR | O_EXCL);
        break;
    case 'w':
        write_file(ic, "a", O_RDWR);
        break;
    case 'u':
        ic_unlinkat(ic, ic_root(ic), "a", 0);
        break;
    case 'r':
        ic_renameat2(ic, ic_root(ic), "h1", ic_root(ic), "new", 0);
        break;
    default:
        break;
    }
}

/* ---- requests ------------------------------------------------------------ */

/* Remove every wait for a quiet period. */
static void hurry(json_t *request)
{
    const char *type = json_string_value(json_object_get(request, "type"));
    json_t *payload = json_object_get(request, "payload");

    if (g_strcmp0(type, "step.close") == 0 && json_is_object(payload))
        json_object_set_new(payload, "quiet_ms", json_integer(0));
}

static void carry_out(struct ic *ic, const char *line, size_t len)
{
    json_t *request = json_loadb(line, len, 0, NULL);
    json_t *answer;

    if (!json_is_object(request)) {
        json_decref(request);
        return;
    }
    hurry(request);
    answer = control_ops_carry_out(ic, request);
    if (!json_string_value(json_object_get(answer, "status")))
        abort();
    json_decref(control_outside_history_event(request, answer));
    json_decref(answer);
    json_decref(request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ic_options options = { .no_timer = true };
    const char *line = (const char *)data;
    struct ic *ic;

    fuzz_world_reset(&world);
    options.share = world.share;
    options.undo_dir = world.undo_dir;
    ic = ic_open_share(&options, NULL);
    if (!ic)
        abort();
    for (int i = 0; size > 0 && i < MAX_LINES; i++) {
        const char *end = memchr(line, '\n', size);
        size_t len = end ? (size_t)(end - line) : size;

        if (len == 1)
            change(ic, line[0]);
        else
            carry_out(ic, line, len);
        line += MIN(len + 1, size);
        size -= MIN(len + 1, size);
    }
    ic_close(ic);
    fuzz_world_check(&world);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch - see dispatch.h.
 */
#include "p9/server/dispatch.h"

#include <errno.h>

#include "common/log.h"

/* Tversion and Tflush are handled by the connection. */
static const struct p9_op ops[] = {
    [P9_TSTATFS] = { p9_op_statfs },
    [P9_TLOPEN] = { p9_op_lopen },
    [P9_TLCREATE] = { p9_op_lcreate },
    [P9_TSYMLINK] = { p9_op_symlink },
    [P9_TMKNOD] = { p9_op_mknod },
    [P9_TRENAME] = { p9_op_rename },
    [P9_TREADLINK] = { p9_op_readlink },
    [P9_TGETATTR] = { p9_op_getattr },
    [P9_TSETATTR] = { p9_op_setattr },
    [P9_TXATTRWALK] = { p9_op_xattrwalk },
    [P9_TXATTRCREATE] = { p9_op_xattrcreate },
    [P9_TREADDIR] = { p9_op_readdir, P9_OP_DATA },
    [P9_TFSYNC] = { p9_op_fsync, P9_OP_SLOW },
    [P9_TLOCK] = { p9_op_lock, P9_OP_LOCK },
    [P9_TGETLOCK] = { p9_op_getlock },
    [P9_TLINK] = { p9_op_link },
    [P9_TMKDIR] = { p9_op_mkdir },
    [P9_TRENAMEAT] = { p9_op_renameat },
    [P9_TUNLINKAT] = { p9_op_unlinkat },
    [P9_TAUTH] = { p9_op_auth },
    [P9_TATTACH] = { p9_op_attach },
    [P9_TWALK] = { p9_op_walk },
    [P9_TREAD] = { p9_op_read, P9_OP_DATA },
    [P9_TWRITE] = { p9_op_write, P9_OP_DATA },
    [P9_TCLUNK] = { p9_op_clunk },
    [P9_TREMOVE] = { p9_op_remove },
};

const struct p9_op *p9_dispatch_find(uint8_t type)
{
    return type < G_N_ELEMENTS(ops) && ops[type].handle ? &ops[type] : NULL;
}

void p9_dispatch_run(struct p9_request *request, p9_dispatch_done *done)
{
    struct p9_server *server = request->server;
    size_t size = p9_request_reply_size(request) + P9_DATA_AT;
    uint64_t releases = parked_releases(server->parked);
    uint8_t small[P9_SMALL_REPLY];
    bool big = size > sizeof(small);
    uint8_t *out = big ? p9_buffers_get(server->buffers, size) : small;
    int r = -ENOMEM;

    request->out = out ? out : small;
    request->room = out && big ? size : sizeof(small);
    request->r.type = (uint8_t)(request->m.type + 1);
    ic_set_writer(IC_WRITER_UNKNOWN); /* 9P does not name the process */
    if (out)
        r = request->op->handle(request);
    log_trace(LOG_FS_BACKEND, "%s tag %u: %d", p9_message_name(request->m.type),
              request->m.tag, r);
    done(request, r, releases);
    if (big)
        p9_buffers_put(server->buffers, out, size);
}

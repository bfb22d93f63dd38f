/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_flow - see p9_flow.h.
 */
#include "tests/p9/p9_flow.h"

#include <fcntl.h>

void p9_flow_set_up(struct fixture *f, gconstpointer data)
{
    f->rig = p9_rig_new();
    p9_rig_start(f->rig, NULL);
    f->client = p9_client_connect(f->rig->socket, 1 << 20, 0);
    f->other = p9_client_connect(f->rig->socket, 65536, 0);
    f->control = control_client_connect(f->rig->control);
}

void p9_flow_tear_down(struct fixture *f, gconstpointer data)
{
    control_client_free(f->control);
    p9_client_free(f->other);
    p9_client_free(f->client);
    p9_rig_free(f->rig);
}

uint32_t p9_flow_new_file(struct p9_client *client, const char *name)
{
    uint32_t fid;

    OK(p9_walk(client, P9_ROOT, "", &fid));
    OK(p9_lcreate(client, fid, name, O_RDWR, 0644));
    return fid;
}

uint32_t p9_flow_open_file(struct p9_client *client, const char *name)
{
    uint32_t fid;

    OK(p9_walk(client, P9_ROOT, name, &fid));
    OK(p9_lopen(client, fid, O_RDWR));
    return fid;
}

void p9_flow_send(struct p9_client *client, struct p9_message m, uint16_t tag)
{
    m.tag = tag;
    p9_client_send(client, &m);
}

void p9_flow_flush(struct p9_client *client, uint16_t oldtag, uint16_t tag)
{
    struct p9_message m = { .type = P9_TFLUSH };

    m.oldtag = oldtag;
    p9_flow_send(client, m, tag);
}

void p9_flow_getattr(struct p9_client *client, uint16_t tag)
{
    struct p9_message m = { .type = P9_TGETATTR };

    m.getattr.fid = P9_ROOT;
    m.getattr.mask = P9_GETATTR_BASIC;
    p9_flow_send(client, m, tag);
}

void p9_flow_expect(struct p9_client *client, uint8_t type, uint16_t tag,
                    struct p9_message *ret_reply)
{
    g_assert_true(p9_client_receive(client, ret_reply));
    if (ret_reply->type != type && ret_reply->type == P9_RLERROR)
        g_test_message("error %u", ret_reply->ecode);
    g_assert_cmpuint(ret_reply->type, ==, type);
    g_assert_cmpuint(ret_reply->tag, ==, tag);
}

void p9_flow_expect_error(struct p9_client *client, uint32_t error,
                          uint16_t tag)
{
    struct p9_message reply;

    p9_flow_expect(client, P9_RLERROR, tag, &reply);
    g_assert_cmpuint(reply.ecode, ==, error);
}

uint8_t p9_flow_lock(struct p9_client *client, struct p9_message m)
{
    struct p9_message reply;

    OK(p9_client_call(client, &m, &reply));
    return reply.status;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_flow - a daemon with two clients and its control socket.
 *
 * For tests of many requests at a time.
 */
#ifndef TESTS_P9_FLOW_H
#define TESTS_P9_FLOW_H

#include "tests/lib/control_client.h"
#include "tests/lib/p9_client.h"

#define OK(call) g_assert_cmpint(call, ==, 0)

enum { NEVER_MS = 100 };

struct fixture {
    struct p9_rig *rig;
    struct p9_client *client, *other;
    struct control_client *control;
};

void p9_flow_set_up(struct fixture *f, gconstpointer data);
void p9_flow_tear_down(struct fixture *f, gconstpointer data);

#define P9_FLOW_ADD(suite, name, function)                                     \
    g_test_add("/" suite "/" name, struct fixture, NULL, p9_flow_set_up,       \
               function, p9_flow_tear_down)

/* In the root; the fid is open for reading and writing. */
uint32_t p9_flow_new_file(struct p9_client *client, const char *name);
uint32_t p9_flow_open_file(struct p9_client *client, const char *name);

/* Without waiting for the reply. */
void p9_flow_send(struct p9_client *client, struct p9_message m, uint16_t tag);
void p9_flow_flush(struct p9_client *client, uint16_t oldtag, uint16_t tag);
void p9_flow_getattr(struct p9_client *client, uint16_t tag);

/* Expect the next reply. */
void p9_flow_expect(struct p9_client *client, uint8_t type, uint16_t tag,
                    struct p9_message *ret_reply);
void p9_flow_expect_error(struct p9_client *client, uint32_t error,
                          uint16_t tag);

/* Send a Tlock; returns its status. */
uint8_t p9_flow_lock(struct p9_client *client, struct p9_message m);

#endif

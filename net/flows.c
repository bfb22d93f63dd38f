/* SPDX-License-Identifier: Apache-2.0
 *
 * flows - see flows.h.
 */
#include "net/flows.h"

#include <string.h>

#include "net/neighbours.h"

/* Compared as bytes, so padding must be 0. */
struct key {
    struct network_address source;
    struct network_address target; /* of an echo request */
    uint32_t number;               /* the port; or identifier and sequence */
    uint32_t kind;
};

struct flow {
    struct key key;
    struct flows *flows;
    struct slirp_stack *stack;
    uint8_t mac[FRAME_MAC]; /* the guest's, as announced to the stack */
    uint64_t asked, answered;
    guint first_fd, end_fd; /* range in the polled fds */
    GList link;             /* in idle[kind] */
};

struct flows {
    GHashTable *table;   /* of struct flow, by key */
    GQueue idle[SHARES]; /* most recently used first */
    uint8_t dns[4];
    slirp_stack_send send;
    void *opaque;
    int64_t polled_us; /* when all flows were polled last */
};

/* ---- the table ----------------------------------------------------------- */

static guint hash_key(gconstpointer data)
{
    const uint8_t *bytes = data;
    guint hash = 5381;

    for (size_t i = 0; i < sizeof(struct key); i++)
        hash = hash * 33 + bytes[i];
    return hash;
}

static gboolean equal_keys(gconstpointer one, gconstpointer other)
{
    return memcmp(one, other, sizeof(struct key)) == 0;
}

static void free_flow(gpointer data)
{
    struct flow *flow = data;

    g_queue_unlink(&flow->flows->idle[flow->key.kind], &flow->link);
    slirp_stack_free(flow->stack);
    g_free(flow);
}

static void note_use(struct flow *flow)
{
    GQueue *queue = &flow->flows->idle[flow->key.kind];

    if (queue->head == &flow->link)
        return;
    g_queue_unlink(queue, &flow->link);
    g_queue_push_head_link(queue, &flow->link);
}

static void on_answer(const uint8_t *data, size_t length, void *opaque)
{
    struct flow *flow = opaque;

    note_use(flow);
    flow->answered++;
    flow->flows->send(data, length, flow->flows->opaque);
}

struct flows *flows_new(const uint8_t dns[4], slirp_stack_send send,
                        void *opaque)
{
    struct flows *flows = g_new0(struct flows, 1);

    flows->table = g_hash_table_new_full(hash_key, equal_keys, NULL, free_flow);
    memcpy(flows->dns, dns, 4);
    flows->send = send;
    flows->opaque = opaque;
    return flows;
}

void flows_free(struct flows *flows)
{
    if (!flows)
        return;
    g_hash_table_unref(flows->table);
    g_free(flows);
}

/* ---- frames -------------------------------------------------------------- */

static void set_key(struct key *key, enum share kind, const struct frame *frame)
{
    memset(key, 0, sizeof(*key));
    key->kind = kind;
    key->source = frame->source;
    key->number = frame->source_port;
    if (kind == SHARE_ECHO) {
        key->target = frame->target;
        key->number = frame_get32(frame->data + frame->payload + 4);
    }
}

static struct flow *add_flow(struct flows *flows, const struct key *key)
{
    struct flow *flow = g_new0(struct flow, 1);

    flow->key = *key;
    flow->flows = flows;
    flow->link.data = flow;
    memset(flow->mac, 0xff, FRAME_MAC); /* not a guest's */
    flow->stack = slirp_stack_new(flows->dns, false, on_answer, flow);
    g_queue_push_head_link(&flows->idle[key->kind], &flow->link);
    g_hash_table_insert(flows->table, &flow->key, flow);
    return flow;
}

/* Announce the guest to the stack, which would otherwise ask for its hardware
 * address, and queue the reply. */
static void announce(struct flow *flow, const struct frame *frame)
{
    uint8_t announcement[NEIGHBOURS_FRAME];
    const uint8_t *mac = frame->data + FRAME_MAC;

    if (memcmp(flow->mac, mac, FRAME_MAC) == 0)
        return;
    memcpy(flow->mac, mac, FRAME_MAC);
    slirp_stack_input(flow->stack, announcement,
                      neighbours_announce(frame, announcement));
}

static bool evict(struct flows *flows, enum share kind, unsigned limit)
{
    GQueue *queue = &flows->idle[kind];

    if (queue->length < limit)
        return false;
    g_hash_table_remove(flows->table, &((struct flow *)queue->tail->data)->key);
    return true;
}

/* Remove the flow if slirp has not made a socket, or has closed it: after the
 * reply to an echo request, or after four minutes. A DNS lookup ends with its
 * reply. */
static void remove_if_over(struct flow *flow)
{
    if (slirp_stack_sockets(flow->stack) == 0 ||
        (flow->key.kind == SHARE_DNS && flow->answered >= flow->asked))
        g_hash_table_remove(flow->flows->table, &flow->key);
}

bool flows_input(struct flows *flows, enum share kind, unsigned limit,
                 const struct frame *frame)
{
    bool evicted = false;
    struct flow *flow;
    struct key key;

    set_key(&key, kind, frame);
    /* slirp uses another socket for a repeated echo request. */
    if (kind == SHARE_ECHO)
        g_hash_table_remove(flows->table, &key);
    flow = g_hash_table_lookup(flows->table, &key);
    if (!flow) {
        evicted = evict(flows, kind, limit);
        flow = add_flow(flows, &key);
    }
    note_use(flow);
    flow->asked++;
    announce(flow, frame);
    slirp_stack_input(flow->stack, frame->data, frame->length);
    remove_if_over(flow);
    return evicted;
}

/* ---- waiting ------------------------------------------------------------- */

void flows_fill(struct flows *flows, GArray *fds, int *timeout)
{
    for (size_t kind = 0; kind < SHARES; kind++) {
        for (GList *item = flows->idle[kind].head, *next; item; item = next) {
            struct flow *flow = item->data;

            next = item->next;
            flow->first_fd = fds->len;
            slirp_stack_fill(flow->stack, fds, timeout);
            flow->end_fd = fds->len;
            remove_if_over(flow);
        }
    }
}

static bool has_event(const struct flow *flow, const GArray *fds)
{
    for (guint i = flow->first_fd; i < flow->end_fd; i++) {
        if (g_array_index(fds, GPollFD, i).revents)
            return true;
    }
    return false;
}

/* Quiet flows, of which there may be hundreds beside a busy connection, are
 * polled once a second. */
void flows_poll(struct flows *flows, GArray *fds, bool failed)
{
    int64_t now_us = g_get_monotonic_time();
    bool all = failed || now_us - flows->polled_us >= G_USEC_PER_SEC;

    if (all)
        flows->polled_us = now_us;
    for (size_t kind = 0; kind < SHARES; kind++) {
        for (GList *item = flows->idle[kind].head, *next; item; item = next) {
            struct flow *flow = item->data;

            next = item->next; /* a flow with a reply becomes the head */
            if (!all && !has_event(flow, fds))
                continue;
            slirp_stack_poll(flow->stack, fds, failed);
            remove_if_over(flow);
        }
    }
}

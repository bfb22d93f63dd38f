/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_keeper - see pool_keeper.h.
 */
#include "agent/vm/pool_keeper.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/machine/guest_image.h"
#include "agent/vm/pool_holder.h"
#include "agent/vm/pool_link.h"
#include "agent/vm/pool_memory.h"
#include "agent/vm/template_key.h"
#include "agent/vm/template_maker.h"
#include "agent/vm/template_store.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/unix_socket.h"

enum {
    TICK_S = 2,
    /* A machine that was just taken starts without its successor beside it. */
    REFILL_MS = 1000,
    RETRY_S = 30,     /* after a failed restore */
    DISTRUST_S = 600, /* after a taken machine has failed */
    MAKER_S = 5,      /* until a maker of templates has the store's lock */
};

#define FAILED "the last machine has failed"

struct slot {
    struct pool_keeper *keeper;
    int link;
    guint source;
    char *key;
    struct pool_entry entry;
};

struct pool_keeper {
    struct pool_plan plan;
    GPtrArray *slots; /* the oldest first */
    guint tick, refill;
    gint64 retry_at, making_until; /* monotonic, us; 0: none */
    guint64 taken, discarded;
    const char *waits_for;
    char *problem;
};

static void fill(struct pool_keeper *keeper);

/* ---- machines ------------------------------------------------------------ */

static void free_slot(gpointer data)
{
    struct slot *slot = data;

    g_clear_handle_id(&slot->source, g_source_remove);
    fd_close(&slot->link);
    g_free(slot->key);
    g_free(slot);
}

static void discard(struct slot *slot)
{
    slot->keeper->discarded++;
    g_ptr_array_remove(slot->keeper->slots, slot);
}

static void wait_after(struct pool_keeper *keeper, const char *problem,
                       unsigned seconds)
{
    g_free(keeper->problem);
    keeper->problem = g_utf8_make_valid(problem, -1);
    keeper->waits_for = FAILED;
    keeper->retry_at = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;
}

/* A restore has failed. */
static void fail(struct pool_keeper *keeper, const char *problem)
{
    wait_after(keeper, problem, RETRY_S);
}

static gboolean on_lost(int fd, GIOCondition condition, gpointer data)
{
    struct slot *slot = data;

    slot->source = 0;
    discard(slot);
    return G_SOURCE_REMOVE;
}

/* Of a machine that is being restored. */
static gboolean on_message(int fd, GIOCondition condition, gpointer data)
{
    struct slot *slot = data;
    struct pool_keeper *keeper = slot->keeper;
    struct pool_message message;
    int rc = pool_link_peek(fd, &message);

    if (rc == -EAGAIN)
        return G_SOURCE_CONTINUE;
    slot->source = 0;
    if (rc <= 0 || message.type != POOL_READY) {
        fail(keeper, rc > 0 && message.type == POOL_FAILED
                         ? message.text
                         : "the process that held the machine has ended");
        g_ptr_array_remove(keeper->slots, slot);
        return G_SOURCE_REMOVE;
    }
    slot->entry.waits = true;
    slot->entry.born = g_get_monotonic_time();
    slot->entry.holder = message.a;
    slot->entry.qemu = message.b;
    slot->source = g_unix_fd_add(fd, G_IO_HUP | G_IO_ERR, on_lost, slot);
    g_clear_pointer(&keeper->problem, g_free);
    fill(keeper);
    return G_SOURCE_REMOVE;
}

/* Takes key. */
static gboolean restore(struct pool_keeper *keeper,
                        const struct vm_config *config, char *key,
                        GError **error)
{
    struct slot *slot = g_new0(struct slot, 1);
    int link[2] = { -1, -1 };
    gboolean ok;

    slot->keeper = keeper;
    slot->key = key;
    slot->link = -1;
    if (!unix_socket_pair(SOCK_SEQPACKET, ERROR_VM_LAUNCH_FAILED, link,
                          error)) {
        free_slot(slot);
        return FALSE;
    }
    slot->link = link[0];
    ok = pool_holder_spawn(link[1], config, error);
    fd_close(&link[1]);
    if (!ok) {
        free_slot(slot);
        return FALSE;
    }
    slot->entry.born = g_get_monotonic_time();
    slot->source = g_unix_fd_add(slot->link, G_IO_IN | G_IO_HUP | G_IO_ERR,
                                 on_message, slot);
    g_ptr_array_add(keeper->slots, slot);
    return TRUE;
}

/* ---- filling ------------------------------------------------------------- */

struct shape {
    char *qemu;
    struct guest_image *image;
    struct vm_config config;
    char *key;
};

static void clear_shape(struct shape *shape)
{
    g_free(shape->qemu);
    guest_image_free(shape->image);
    g_free(shape->key);
}

/* Find what a machine would be like now: an image may have been built anew. */
static gboolean find_shape(const struct pool_keeper *keeper,
                           struct shape *ret_shape, GError **error)
{
    const struct session_config *config = keeper->plan.config;
    g_autofree char *slow = NULL;

    *ret_shape = (struct shape){ .qemu = vm_command_find_qemu(error) };
    if (!ret_shape->qemu)
        return FALSE;
    ret_shape->image = guest_image_find(config->image, config->kernel,
                                        config->initrd, config->disk, error);
    if (!ret_shape->image)
        return FALSE;
    ret_shape->config = (struct vm_config){
        .qemu = ret_shape->qemu,
        .image = ret_shape->image,
        .accel = accel_choose(config->accel, &slow),
        .memory_mb = session_config_memory(config),
        .cpus = config->cpus,
        .network_fd = config->network.kind == NETWORK_DISABLED ? -1 : 0,
        .backend = config->backend,
        .state_fd = -1,
    };
    ret_shape->key = template_key_new(&ret_shape->config);
    if (ret_shape->key)
        return TRUE;
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                        "a file of the guest image is missing");
    return FALSE;
}

static bool is_filling(const struct pool_keeper *keeper)
{
    for (guint i = 0; i < keeper->slots->len; i++) {
        const struct slot *slot = g_ptr_array_index(keeper->slots, i);

        if (!slot->entry.waits)
            return true;
    }
    return false;
}

/* Have the template made. Return what is waited for. */
static const char *make_template(struct pool_keeper *keeper,
                                 const struct shape *shape, GError **error)
{
    gint64 now = g_get_monotonic_time();

    if (now < keeper->making_until || template_store_is_locked())
        return "the machine's template is being made";
    if (!template_store_prepare(error) ||
        !template_maker_spawn(&shape->config, error))
        return NULL;
    keeper->making_until = now + MAKER_S * G_USEC_PER_SEC;
    return "the machine's template is being made";
}

static void begin_restore(struct pool_keeper *keeper, struct shape *shape)
{
    g_autoptr(GError) error = NULL;

    if (template_store_is_refused(shape->key)) {
        keeper->waits_for = "the machine's template has failed";
    } else if (!template_store_exists(shape->key)) {
        keeper->waits_for = make_template(keeper, shape, &error);
    } else {
        keeper->making_until = 0;
        keeper->waits_for = NULL;
        restore(keeper, &shape->config, g_steal_pointer(&shape->key), &error);
    }
    if (error)
        fail(keeper, error->message);
}

static void fill(struct pool_keeper *keeper)
{
    const struct pool_plan *plan = &keeper->plan;
    g_autoptr(GError) error = NULL;
    struct shape shape;

    keeper->waits_for = NULL;
    if (keeper->refill || keeper->slots->len >= plan->size ||
        is_filling(keeper))
        return;
    if (g_get_monotonic_time() < keeper->retry_at) {
        keeper->waits_for = FAILED;
        return;
    }
    keeper->waits_for = pool_memory_problem(
        session_config_memory(plan->config));
    if (keeper->waits_for)
        return;
    if (find_shape(keeper, &shape, &error))
        begin_restore(keeper, &shape);
    else
        fail(keeper, error->message);
    clear_shape(&shape);
}

static gboolean on_refill(gpointer data)
{
    struct pool_keeper *keeper = data;

    keeper->refill = 0;
    fill(keeper);
    return G_SOURCE_REMOVE;
}

/* ---- discarding ---------------------------------------------------------- */

static void discard_old(struct pool_keeper *keeper)
{
    gint64 now = g_get_monotonic_time();
    struct shape shape;
    bool found = find_shape(keeper, &shape, NULL);

    for (guint i = keeper->slots->len; i > 0; i--) {
        struct slot *slot = g_ptr_array_index(keeper->slots, i - 1);

        if (!found || strcmp(slot->key, shape.key) != 0 ||
            now - slot->entry.born >= keeper->plan.max_age_s * G_USEC_PER_SEC)
            discard(slot);
    }
    clear_shape(&shape);
}

static gboolean on_tick(gpointer data)
{
    struct pool_keeper *keeper = data;

    discard_old(keeper);
    /* One at a time, until it is enough. */
    if (keeper->slots->len > 0 && pool_memory_problem(0))
        discard(g_ptr_array_index(keeper->slots, 0));
    fill(keeper);
    return G_SOURCE_CONTINUE;
}

/* ---- the pool ------------------------------------------------------------ */

struct pool_keeper *pool_keeper_new(const struct pool_plan *plan)
{
    struct pool_keeper *keeper = g_new0(struct pool_keeper, 1);

    keeper->plan = *plan;
    keeper->slots = g_ptr_array_new_with_free_func(free_slot);
    keeper->tick = g_timeout_add_seconds(TICK_S, on_tick, keeper);
    fill(keeper);
    return keeper;
}

void pool_keeper_free(struct pool_keeper *keeper)
{
    if (!keeper)
        return;
    g_clear_handle_id(&keeper->tick, g_source_remove);
    g_clear_handle_id(&keeper->refill, g_source_remove);
    g_ptr_array_unref(keeper->slots);
    g_free(keeper->problem);
    g_free(keeper);
}

int pool_keeper_take(struct pool_keeper *keeper, const char *key,
                     const char **ret_reason)
{
    *ret_reason = "no machine waits";
    for (guint i = 0; i < keeper->slots->len; i++) {
        struct slot *slot = g_ptr_array_index(keeper->slots, i);
        int link;

        if (!slot->entry.waits)
            continue;
        if (strcmp(slot->key, key) != 0) {
            *ret_reason = "the machines that wait are of another kind";
            continue;
        }
        link = fd_steal(&slot->link);
        g_ptr_array_remove_index(keeper->slots, i);
        keeper->taken++;
        g_clear_handle_id(&keeper->refill, g_source_remove);
        keeper->refill = g_timeout_add(REFILL_MS, on_refill, keeper);
        return link;
    }
    return -1;
}

void pool_keeper_distrust(struct pool_keeper *keeper, const char *reason)
{
    keeper->discarded += keeper->slots->len;
    g_ptr_array_set_size(keeper->slots, 0);
    wait_after(keeper, reason, DISTRUST_S);
}

void pool_keeper_count(const struct pool_keeper *keeper,
                       struct pool_counts *ret_counts)
{
    *ret_counts = (struct pool_counts){
        .size = keeper->plan.size,
        .entries = keeper->slots->len,
        .taken = keeper->taken,
        .discarded = keeper->discarded,
        .waits_for = keeper->waits_for,
        .problem = keeper->problem,
    };
}

void pool_keeper_get(const struct pool_keeper *keeper, unsigned index,
                     struct pool_entry *ret_entry)
{
    const struct slot *slot = g_ptr_array_index(keeper->slots, index);

    *ret_entry = slot->entry;
}

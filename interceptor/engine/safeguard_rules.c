/* SPDX-License-Identifier: Apache-2.0
 *
 * safeguard_rules - see safeguard.h: checks before a change is made.
 *
 * The open step may destroy what it created itself and what it was allowed to
 * destroy. Counting starts with the step, or when the rule is set.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "common/json_bytes.h"
#include "interceptor/engine/core.h"
#include "interceptor/engine/gate.h"
#include "interceptor/engine/parking.h"
#include "interceptor/engine/restoring.h"
#include "interceptor/engine/safeguard.h"
#include "interceptor/sys/sys.h"

enum { PATH_LIMIT = 4096 }; /* bytes of a path in an event */

/* ---- paths --------------------------------------------------------------- */

/* Return the path of dir/name as far as known, for users. name may be NULL;
 * "..." replaces what exceeds PATH_LIMIT. */
static char *path_of(struct ic *ic, struct ic_inode *dir, const char *name)
{
    g_autoptr(GString) path = g_string_new(name);
    struct ic_inode *at = ic_inode_ref(dir), *parent;
    char *own;

    while (at != ic->root && inode_get_place(at, &parent, &own) > 0) {
        if (path->len > 0)
            g_string_prepend_c(path, '/');
        g_string_prepend(path, own);
        g_free(own);
        ic_inode_unref(at);
        at = parent;
        /* Also ends a circle of last known locations. */
        if (path->len > PATH_LIMIT) {
            g_string_prepend(path, ".../");
            break;
        }
    }
    ic_inode_unref(at);
    return g_string_free(g_steal_pointer(&path), FALSE);
}

/* ---- begin and end of a check -------------------------------------------- */

static bool is_armed(const struct ic *ic, unsigned rules)
{
    return atomic_load_explicit(&ic->guard.armed, memory_order_relaxed) & rules;
}

/* Restart the counts for another step. */
static void renew_locked(struct ic *ic)
{
    struct safeguard *guard = &ic->guard;

    if (guard->epoch == ic->wal.epoch)
        return;
    guard->epoch = ic->wal.epoch;
    guard->allowed = 0;
    guard->deleted = 0;
    g_ptr_array_set_size(guard->samples, 0);
    g_clear_pointer(&guard->deleting, g_free);
}

/* With names held. Returns 1, with guard.lock held: check the rule; 0: it does
 * not apply; IC_PARKED or -EPERM: another rule came first. */
static int begin_check(struct ic *ic, enum safeguard_rule rule)
{
    struct safeguard *guard = &ic->guard;
    const struct step *step = ic->wal.step;
    int rc = 1;

    if (!step || step->type == IC_STEP_AMBIENT)
        return 0;
    pthread_mutex_lock(&guard->lock);
    renew_locked(ic);
    if (guard->pending)
        rc = IC_PARKED;
    else if (guard->denied_id || guard->refuses)
        rc = -EPERM;
    else if (!is_armed(ic, rule) || guard->allowed & rule || restoring_is_set())
        rc = 0;
    if (rc <= 0)
        pthread_mutex_unlock(&guard->lock);
    return rc;
}

static int end_check(struct ic *ic, int rc)
{
    pthread_mutex_unlock(&ic->guard.lock);
    return rc;
}

static bool is_created(struct ic *ic, uint64_t ino)
{
    const struct step_inode *inode = step_find_inode(ic->wal.step, ino);

    return inode && inode->flags & STEP_CREATED;
}

/* ---- deleting ------------------------------------------------------------ */

static int ask_delete_locked(struct ic *ic)
{
    struct safeguard *guard = &ic->guard;
    uint64_t count = guard->deleted + 1;
    json_t *samples = json_array();

    for (guint i = 0; i < guard->samples->len; i++)
        json_array_append_new(
            samples, json_bytes_path(g_ptr_array_index(guard->samples, i)));
    json_array_append_new(samples, json_bytes_path(guard->deleting));
    g_clear_pointer(&guard->deleting, g_free);
    return safeguard_ask_locked(
        ic, SAFEGUARD_DELETE,
        json_pack("{s:s, s:I, s:I, s:o, s:o}", "kind", "delete", "delete_count",
                  (json_int_t)count, "threshold",
                  (json_int_t)guard->rules.delete_threshold, "sample_paths",
                  samples, "message",
                  json_sprintf("Step %" PRId64 " is attempting to delete "
                               "%" PRIu64
                               " files/directories. Awaiting confirmation.",
                               ic->wal.step->id, count)));
}

int safeguard_check_delete(struct ic *ic, struct ic_inode *dir,
                           const char *name, const struct stat *now)
{
    struct safeguard *guard = &ic->guard;
    int rc;

    if (!is_armed(ic, ~0u))
        return 0;
    rc = begin_check(ic, SAFEGUARD_DELETE);
    if (rc <= 0)
        return rc;
    g_clear_pointer(&guard->deleting, g_free);
    if (is_created(ic, now->st_ino))
        return end_check(ic, 0);
    guard->deleting = path_of(ic, dir, name);
    if (guard->deleted + 1 < guard->rules.delete_threshold)
        return end_check(ic, 0);
    return end_check(ic, ask_delete_locked(ic));
}

void safeguard_note_deleted(struct ic *ic)
{
    struct safeguard *guard = &ic->guard;

    if (!is_armed(ic, SAFEGUARD_DELETE))
        return;
    pthread_mutex_lock(&guard->lock);
    if (guard->deleting) {
        guard->deleted++;
        /* One slot is for the deletion that will be held. */
        if (guard->samples->len < SAFEGUARD_SAMPLES - 1)
            g_ptr_array_add(guard->samples, g_steal_pointer(&guard->deleting));
        g_clear_pointer(&guard->deleting, g_free);
    }
    pthread_mutex_unlock(&guard->lock);
}

/* ---- replacing and overwriting ------------------------------------------- */

/* Ask about one file. Takes ownership of path; from (may be NULL) is borrowed.
 */
static int ask_file_locked(struct ic *ic, enum safeguard_rule rule, char *path,
                           const char *from, off_t size)
{
    bool rename = rule == SAFEGUARD_RENAME;
    json_t *payload = json_object(), *samples = json_array();
    g_autofree char *shown = g_utf8_make_valid(path, -1);

    if (!json_bytes_is_text(path, strlen(path)) ||
        (from && !json_bytes_is_text(from, strlen(from))))
        json_bytes_force_base64(payload);
    json_bytes_set(payload, "path", path, strlen(path));
    if (from)
        json_bytes_set(payload, "from", from, strlen(from));
    json_array_append_new(samples, json_bytes_path(path));
    json_object_update_new(
        payload,
        json_pack("{s:s, s:I, s:o, s:o}", "kind",
                  rename ? "rename_over_existing" : "overwrite", "file_size",
                  (json_int_t)size, "sample_paths", samples, "message",
                  json_sprintf("Step %" PRId64 " is attempting to %s %s. "
                               "Awaiting confirmation.",
                               ic->wal.step->id,
                               rename ? "replace" : "overwrite", shown)));
    if (!rename)
        json_object_set_new(
            payload, "threshold",
            json_integer(ic->guard.rules.overwrite_file_size_threshold));
    g_free(path);
    return safeguard_ask_locked(ic, rule, payload);
}

/* Return a file's size before the step. */
static off_t size_before(struct ic *ic, uint64_t ino, const struct stat *now)
{
    const struct step_inode *inode = step_find_inode(ic->wal.step, ino);

    return inode && inode->flags & STEP_DATA ? inode->data_size : now->st_size;
}

/* Return the bytes that a step destroys with this file, as the overwrite rule
 * counts: its size before the step; 0 if the rule does not apply. */
static off_t size_at_risk(struct ic *ic, const struct stat *now)
{
    off_t size;

    if (!S_ISREG(now->st_mode) || is_created(ic, now->st_ino))
        return 0;
    size = size_before(ic, now->st_ino, now);
    return size > ic->guard.rules.overwrite_file_size_threshold ? size : 0;
}

int safeguard_check_rename(struct ic *ic, struct ic_inode *from_dir,
                           const char *from, struct ic_inode *dir,
                           const char *name, const struct stat *target)
{
    static const enum safeguard_rule rules[] = { SAFEGUARD_RENAME,
                                                 SAFEGUARD_OVERWRITE };
    int rc = 0;

    if (!is_armed(ic, ~0u))
        return 0;
    for (size_t i = 0; i < G_N_ELEMENTS(rules) && rc == 0; i++) {
        g_autofree char *source = NULL;

        rc = begin_check(ic, rules[i]);
        if (rc <= 0)
            continue;
        if (is_created(ic, target->st_ino) ||
            (rules[i] == SAFEGUARD_OVERWRITE && !size_at_risk(ic, target))) {
            rc = end_check(ic, 0);
            continue;
        }
        source = path_of(ic, from_dir, from);
        rc = end_check(ic, ask_file_locked(ic, rules[i], path_of(ic, dir, name),
                                           source, target->st_size));
    }
    return rc;
}

/* Ask no more about this inode in this step. */
static void set_silent(struct ic *ic, struct ic_inode *inode)
{
    atomic_store_explicit(
        &inode->guard_epoch,
        atomic_load_explicit(&ic->epoch, memory_order_relaxed),
        memory_order_relaxed);
}

/* With names held. */
static int check_overwrite(struct ic *ic, struct ic_inode *inode, off_t from)
{
    struct stat st;
    off_t size;
    int rc = sys_stat_fd(inode->fd, &st);

    if (rc == 0) {
        inode_take_stat(inode, &st);
        rc = begin_check(ic, SAFEGUARD_OVERWRITE);
    }
    if (rc == 0)
        set_silent(ic, inode);
    if (rc <= 0)
        return rc;
    size = size_at_risk(ic, &st);
    if (size == 0 || st.st_nlink == 0) {
        set_silent(ic, inode);
        return end_check(ic, 0);
    }
    if (from >= size)
        return end_check(ic, 0);
    return end_check(ic, ask_file_locked(ic, SAFEGUARD_OVERWRITE,
                                         path_of(ic, inode, NULL), NULL, size));
}

static bool is_silent(struct ic *ic, struct ic_inode *inode)
{
    uint64_t epoch = atomic_load_explicit(&ic->epoch, memory_order_relaxed);

    return epoch != 0 && atomic_load_explicit(&inode->guard_epoch,
                                              memory_order_relaxed) == epoch;
}

int safeguard_enter(struct ic *ic, struct ic_inode *inode, off_t from)
{
    uint64_t seq;
    int rc;

    do {
        seq = parking_seq(&ic->parking);
        rc = engine_enter(ic, inode);
        if (rc < 0 || !is_armed(ic, SAFEGUARD_OVERWRITE) ||
            is_silent(ic, inode) || !S_ISREG(inode->type))
            return rc;
        pthread_mutex_lock(&ic->names);
        rc = check_overwrite(ic, inode, from);
        pthread_mutex_unlock(&ic->names);
        if (rc < 0)
            engine_leave(ic);
    } while (parking_again(&ic->parking, seq, &rc));
    return rc;
}

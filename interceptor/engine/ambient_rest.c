/* SPDX-License-Identifier: Apache-2.0
 *
 * ambient_rest - see ambient_rest.h.
 */
#include "interceptor/engine/ambient_rest.h"

#include "interceptor/log/packer.h"

enum { MOST_CHANGES = 10000 }; /* of a step that may continue */

bool ambient_is_open(const struct ic *ic)
{
    return ic->wal.step && ic->wal.step->type == IC_STEP_AMBIENT;
}

static bool may_go_on(const struct ic *ic, const struct ic_step_info *info)
{
    const struct wal *wal = &ic->wal;

    return ambient_is_open(ic) && wal->step->knows_created &&
           !wal->step->unprotected && info->affected <= MOST_CHANGES &&
           wal->step->records <= MOST_CHANGES &&
           capture_copied(wal) <= wal->limit / 2;
}

void ambient_put_down(struct ic *ic, const struct ic_step_info *info,
                      int64_t size)
{
    struct ambient_rest *rest = &ic->ambient_rest;

    ambient_forget(ic);
    rest->whole = false;
    if (!may_go_on(ic, info)) {
        if (ic->wal.pack)
            packer_add(ic->packer, ic->wal.blobs, ic->wal.sync);
        capture_clear(&ic->wal);
        return;
    }
    rest->wal = ic->wal;
    rest->size = size;
    ic->wal = (struct wal){ .dir = -1, .blobs = -1 };
}

void ambient_forget(struct ic *ic)
{
    struct wal *wal = &ic->ambient_rest.wal;

    if (!wal->step)
        return;
    if (wal->pack && ic->log && undo_log_has(ic->log, wal->step->id))
        packer_add(ic->packer, wal->blobs, wal->sync);
    capture_clear(wal);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * redo_stack - see redo_stack.h.
 */
#include "interceptor/engine/redo_stack.h"

#include <dirent.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/engine/limits.h"
#include "interceptor/engine/redo_target.h"
#include "interceptor/engine/rollback_extent.h"
#include "interceptor/log/step_mark.h"
#include "interceptor/sys/sys.h"

/* Inverses smaller than this are not worth dropping. */
enum { LITTLE = 1 << 20 };

/* ---- counting ------------------------------------------------------------ */

/* index counts from the end. An unreadable record counts as changed. */
static bool left_all_as_it_was(struct ic *ic, const int64_t *seqs, size_t count,
                               size_t index)
{
    fd_auto int dir = undo_log_open_redo(ic->log, seqs[count - 1 - index]);
    g_autoptr(step_auto) step = NULL;

    return dir >= 0 && step_load_summary(dir, &step) == 0 &&
           step_is_unchanged(step);
}

unsigned redo_stack_count(struct ic *ic, const struct rollback_extent *extent)
{
    size_t count, steps = 0;
    const int64_t *seqs = undo_log_redos(ic->log, &count);

    if (extent->counts == ROLLBACK_COUNTS_ALL || extent->steps > count)
        return extent->steps;
    for (unsigned i = 0; i < extent->steps && steps < count; i++) {
        steps++;
        while (steps < count && left_all_as_it_was(ic, seqs, count, steps))
            steps++;
    }
    return (unsigned)steps;
}

/* ---- a disk that is nearly full ------------------------------------------ */

static int add_size(int fd, const struct dirent *entry, void *opaque)
{
    int64_t *bytes = opaque;
    struct stat st;
    int rc;

    if (entry->d_name[0] == '.')
        return 0;
    rc = sys_stat_name(fd, entry->d_name, &st);
    if (rc == 0) /* the content of a folder is not counted: it may be large */
        *bytes += S_ISDIR(st.st_mode) ? LITTLE : st.st_blocks * 512;
    return rc;
}

/* Return the inverse's size; -1: it must stay. */
static int64_t measure(struct ic *ic, int64_t seq)
{
    fd_auto int dir = undo_log_open_redo(ic->log, seq);
    int64_t bytes = 0;

    if (dir < 0 || step_is_marked(dir, STEP_MARK_OWN) != 1 ||
        sys_dir_each(dir, STEP_BLOBS, add_size, &bytes) < 0)
        return -1;
    return bytes;
}

/* Returns true if all may be dropped. */
static bool measure_all(struct ic *ic, int64_t *ret_bytes)
{
    size_t count;
    const int64_t *seqs = undo_log_redos(ic->log, &count);

    *ret_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t bytes = measure(ic, seqs[i]);

        if (bytes < 0)
            return false;
        *ret_bytes += bytes;
    }
    return true;
}

static void tell(struct ic *ic, const char *text,
                 struct ic_rollback_result *result)
{
    log_warn(LOG_UNDO, "%s", text);
    events_send(
        ic->events, "event.warning",
        json_pack("{s:s, s:s}", "message", text, "code", "redo_dropped"));
    g_ptr_array_add(result->warnings, g_strdup(text));
}

void redo_stack_make_room(struct ic *ic, struct ic_rollback_result *result)
{
    int64_t bytes;
    int rc;

    if (!limits_is_nearly_full(ic) || !measure_all(ic, &bytes) ||
        bytes < LITTLE)
        return;
    rc = redo_drop_all(ic);
    if (rc < 0)
        log_warn(LOG_UNDO, "cannot drop the redo data: %s", g_strerror(-rc));
    else
        tell(ic,
             "the disk is nearly full: redo data was removed to make room; the "
             "undone steps cannot be redone",
             result);
}

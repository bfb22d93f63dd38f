/* SPDX-License-Identifier: Apache-2.0
 *
 * grants - see grants.h.
 */
#include "interceptor/engine/grants.h"

#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "interceptor/engine/core.h"
#include "interceptor/engine/restoring.h"
#include "interceptor/log/undo_log_origin.h"
#include "interceptor/sys/sys.h"

/* Report the first refusal of each step. */
static int refuse(struct ic *ic, _Atomic uint64_t *told, const char *what,
                  const char *option)
{
    uint64_t now = atomic_load(&ic->epoch) + 1;
    g_autofree char *text = NULL;

    if (restoring_is_set())
        return 0;
    if (atomic_exchange(told, now) == now)
        return -EPERM;
    text = g_strdup_printf("%s: refused %s, which gives rights on this host to "
                           "other users; %s allows it, in a virtual machine",
                           ic->share, what, option);
    log_warn(LOG_UNDO, "%s", text);
    events_send(
        ic->events, "event.warning",
        json_pack("{s:s, s:s}", "message", text, "code", "rights_refused"));
    return -EPERM;
}

static int refuse_suid(struct ic *ic)
{
    return refuse(ic, &ic->grants.told_suid,
                  "to set a set-user-ID or set-group-ID bit or a capability of "
                  "a file, or to write to a file with such a bit",
                  "--allow-suid");
}

static int refuse_device(struct ic *ic)
{
    return refuse(ic, &ic->grants.told_device, "to make a device node",
                  "--allow-devices");
}

int grants_check_mode(struct ic *ic, mode_t mode)
{
    return S_ISREG(mode) && mode & (S_ISUID | S_ISGID) && !ic->grants.suid
               ? refuse_suid(ic)
               : 0;
}

int grants_check_node(struct ic *ic, mode_t mode, dev_t rdev)
{
    if (S_ISBLK(mode) || (S_ISCHR(mode) && rdev != 0))
        return ic->grants.devices ? 0 : refuse_device(ic);
    return grants_check_mode(ic, mode);
}

int grants_check_xattr(struct ic *ic, const char *name)
{
    if (strcmp(name, UNDO_LOG_ORIGIN) == 0 && !restoring_is_set())
        return -EPERM;
    return strcmp(name, "security.capability") == 0 && !ic->grants.suid
               ? refuse_suid(ic)
               : 0;
}

int grants_check_write(struct ic *ic, const struct ic_inode *inode)
{
    struct stat st;

    /* On a write by another user than root, the kernel clears the bits. */
    if (ic->grants.suid || !ic->switch_ids || !S_ISREG(inode->type) ||
        sys_stat_fd(inode->fd, &st) < 0)
        return 0;
    return grants_check_mode(ic, st.st_mode);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * notify_device - see notify_device.h.
 */
#include "virtiofs/fuse/notify_device.h"

#include <errno.h>
#include <glib.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "virtiofs/fuse/fuse_abi.h"

struct inval_entry {
    uint64_t parent;
    uint32_t namelen;
    uint32_t flags;
};
_Static_assert(sizeof(struct inval_entry) ==
                   sizeof(struct fuse_notify_inval_entry_out),
               "what was padding before 7.38 is flags");

#define EXPIRE_ONLY 1u
#define BODY_MAX    sizeof(struct fuse_notify_delete_out)

static void notify(const int *device, enum fuse_notify_code code,
                   const void *body, size_t size, const char *name)
{
    struct fuse_out_header head = { .error = (int32_t)code };
    char message[sizeof(head) + BODY_MAX + NAME_MAX + 1];
    size_t name_size = name ? strlen(name) + 1 : 0;

    head.len = (uint32_t)(sizeof(head) + size + name_size);
    memcpy(message, &head, sizeof(head));
    memcpy(message + sizeof(head), body, size);
    if (name)
        memcpy(message + sizeof(head) + size, name, name_size);
    /* ENOENT: the kernel does not have it cached. */
    if (write(*device, message, head.len) < 0 && errno != ENOENT)
        log_debug(LOG_FS_BACKEND, "cannot notify the kernel (code %d): %s",
                  (int)code, g_strerror(errno));
}

static void notify_name(const int *device, const struct notifier_item *item,
                        bool again)
{
    struct inval_entry entry = { .parent = item->dir, .flags = EXPIRE_ONLY };
    struct fuse_notify_delete_out removal = { .parent = item->dir,
                                              .child = item->inode };

    entry.namelen = removal.namelen = (uint32_t)strlen(item->name);
    if (entry.namelen > NAME_MAX)
        return;
    if (item->removed && !again)
        notify(device, FUSE_NOTIFY_DELETE, &removal, sizeof(removal),
               item->name);
    else
        notify(device, FUSE_NOTIFY_INVAL_ENTRY, &entry, sizeof(entry),
               item->name);
}

static void send_item(const struct notifier_item *item, bool again,
                      void *opaque)
{
    /* A negative offset: attributes only. */
    struct fuse_notify_inval_inode_out inode = { .ino = item->inode,
                                                 .off = again ? -1 : 0 };

    /* The name first: the kernel accepts that after the lookups in its folder
     * that are under way, so it then has the inode which they find. */
    if (item->name)
        notify_name(opaque, item, again);
    if (item->inode != 0 && !item->removed)
        notify(opaque, FUSE_NOTIFY_INVAL_INODE, &inode, sizeof(inode), NULL);
}

static void drop_pages(uint64_t tag, void *opaque)
{
    const struct fuse_notify_inval_inode_out inode = { .ino = tag };

    notify(opaque, FUSE_NOTIFY_INVAL_INODE, &inode, sizeof(inode), NULL);
}

const struct notifier_way notify_device = {
    .item = send_item,
    .drop_pages = drop_pages,
    .repeats = true,
};

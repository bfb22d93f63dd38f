/* SPDX-License-Identifier: Apache-2.0
 *
 * rights - see rights.h.
 */
#include "interceptor/sys/rights.h"

#include <errno.h>
#include <glib.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/proc_fd.h"
#include "interceptor/sys/sys.h"

enum { NOBODY = 65534 }; /* kernel.overflowuid, overflowgid (proc(5)) */

static atomic_bool unknown_user, unknown_group, no_capabilities;
static atomic_bool no_attributes, has_labels, other_namespace;
static atomic_int overrides; /* 0: not known yet, else 1 or -1 */

/* A capability cannot be set either in a namespace whose map lacks its root;
 * CAP_SETFCAP does not help there (capabilities(7)). */
static bool may_set_capabilities(int fd)
{
    static const unsigned char value[20] = { 0, 0, 0, 2, 1 };

    return sys_setxattr_fd(fd, "security.capability", value, sizeof(value),
                           0) == 0;
}

/* If a security module labels all files, that module itself decides whether a
 * process may set its labels. */
static void prepare_attributes(int fd)
{
    int rc = sys_setxattr_fd(fd, "security.stepback", "", 0, 0);
    struct proc_fd_path path = proc_fd_path(fd);

    atomic_store(&no_attributes, rc == -EPERM);
    atomic_store(&has_labels,
                 getxattr(path.text, "security.selinux", NULL, 0) >= 0 ||
                     getxattr(path.text, "security.SMACK64", NULL, 0) >= 0);
}

/* The initial namespace has a fixed number. /proc may be absent. */
static bool is_other_namespace(void)
{
    static const char first[] = "user:[4026531837]";
    char text[64];
    ssize_t len = readlink("/proc/self/ns/user", text, sizeof(text));

    return len > 0 && ((size_t)len != strlen(first) ||
                       memcmp(text, first, (size_t)len) != 0);
}

/* chown(2) returns EINVAL for an id that the namespace's map lacks. Every probe
 * uses a memfd, since the sandbox has no /proc. */
void rights_prepare(void)
{
    fd_auto int fd = memfd_create("rights", MFD_CLOEXEC);

    if (fd < 0)
        return;
    atomic_store(&unknown_user, sys_chown_fd(fd, NOBODY, (gid_t)-1) == -EINVAL);
    atomic_store(&unknown_group,
                 sys_chown_fd(fd, (uid_t)-1, NOBODY) == -EINVAL);
    atomic_store(&no_capabilities, !may_set_capabilities(fd));
    prepare_attributes(fd);
    atomic_store(&other_namespace,
                 atomic_load(&unknown_user) || is_other_namespace());
    atomic_store(&overrides, 0);
}

uid_t rights_uid(uid_t uid)
{
    return uid == NOBODY && atomic_load(&unknown_user) ? RIGHTS_UNKNOWN : uid;
}

gid_t rights_gid(gid_t gid)
{
    return gid == NOBODY && atomic_load(&unknown_group) ? RIGHTS_UNKNOWN : gid;
}

bool rights_differ(uint32_t a, uint32_t b)
{
    return a != b && a != RIGHTS_UNKNOWN && b != RIGHTS_UNKNOWN;
}

/* Test this thread's capability. In a user namespace it applies only to inodes
 * whose ids are known. */
static bool has_capability(unsigned capability)
{
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct caps[2];

    return syscall(SYS_capget, &header, caps) == 0 &&
           caps[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability);
}

static bool is_in_group(gid_t gid)
{
    int count = getgroups(0, NULL);
    g_autofree gid_t *groups = g_new(gid_t, MAX(count, 1));

    if (gid == getegid())
        return true;
    count = getgroups(count, groups);
    for (int i = 0; i < count; i++) {
        if (groups[i] == gid)
            return true;
    }
    return false;
}

bool rights_may_give_user(uid_t uid)
{
    return uid == geteuid() ||
           (rights_uid(uid) != RIGHTS_UNKNOWN && has_capability(CAP_CHOWN));
}

bool rights_may_give_group(gid_t gid)
{
    return rights_gid(gid) != RIGHTS_UNKNOWN &&
           (has_capability(CAP_CHOWN) || is_in_group(gid));
}

/* If the group is unknown, the code cannot see whether it is one of this
 * process's own unknown groups. Assume so for folders, which teams share by a
 * group, and not for files. */
bool rights_may_set_group_bit(const struct stat *st)
{
    bool known = rights_gid(st->st_gid) != RIGHTS_UNKNOWN;

    if (is_in_group(st->st_gid))
        return known || S_ISDIR(st->st_mode);
    return known && rights_uid(st->st_uid) != RIGHTS_UNKNOWN &&
           has_capability(CAP_FSETID);
}

int rights_lack_capability(int fd)
{
    if (!atomic_load(&no_capabilities))
        return 0;
    if (getxattr(proc_fd_path(fd).text, "security.capability", NULL, 0) >= 0)
        return 1;
    return errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
}

static bool is_lacked(const char *name)
{
    if (strncmp(name, "security.", strlen("security.")) != 0 ||
        strcmp(name, "security.capability") == 0)
        return false;
    return !atomic_load(&has_labels) ||
           (strcmp(name, "security.selinux") != 0 &&
            strncmp(name, "security.SMACK64", strlen("security.SMACK64")) != 0);
}

int rights_lack_attributes(int fd)
{
    struct proc_fd_path path = proc_fd_path(fd);
    g_autofree char *names = NULL;
    ssize_t len;

    if (!atomic_load(&no_attributes))
        return 0;
    len = listxattr(path.text, NULL, 0);
    if (len > 0) {
        names = g_malloc0((size_t)len + 1);
        len = listxattr(path.text, names, (size_t)len);
    }
    if (len < 0)
        return errno == EOPNOTSUPP ? 0 : errno == ERANGE ? -EAGAIN : -errno;
    for (const char *name = names; name && name < names + len;
         name += strlen(name) + 1) {
        if (is_lacked(name))
            return 1;
    }
    return 0;
}

/* Tested at the first use, since a daemon drops capabilities after it has
 * opened the share, and once, since every rename needs the answer. */
bool rights_override_mode(void)
{
    int known = atomic_load_explicit(&overrides, memory_order_relaxed);

    if (known == 0) {
        known = !atomic_load(&other_namespace) &&
                        has_capability(CAP_DAC_OVERRIDE)
                    ? 1
                    : -1;
        atomic_store(&overrides, known);
    }
    return known > 0;
}

bool rights_see_trusted(void)
{
    return has_capability(CAP_SYS_ADMIN);
}

bool rights_may_set_project(const struct stat *st)
{
    return !atomic_load(&other_namespace) &&
           (st->st_uid == geteuid() || has_capability(CAP_FOWNER));
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * as_user - see as_user.h.
 */
#include "interceptor/sys/as_user.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The raw system calls change the calling thread alone; glibc's wrappers change
 * all threads. The real ids stay 0, so that the thread can return to root. The
 * client's kernel has already checked the user's rights, with groups that this
 * process does not know; so the thread keeps CAP_DAC_OVERRIDE. It keeps
 * CAP_FSETID because since Linux 6.0 the client's kernel itself clears
 * set-group-ID bits where they must not be. */
int as_user_begin(bool may, const struct ic_cred *cred)
{
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct caps[2];

    if (!may || (cred->uid == 0 && cred->gid == 0))
        return 0;
    if (syscall(SYS_setresgid, -1, cred->gid, -1) < 0)
        return -errno;
    if (syscall(SYS_setresuid, -1, cred->uid, -1) < 0) {
        int rc = -errno;

        syscall(SYS_setresgid, -1, 0, -1);
        return rc;
    }
    if (cred->uid != 0 && syscall(SYS_capget, &header, caps) == 0) {
        caps[0].effective = caps[0].permitted & (CAP_TO_MASK(CAP_DAC_OVERRIDE) |
                                                 CAP_TO_MASK(CAP_FSETID));
        caps[1].effective = 0;
        syscall(SYS_capset, &header, caps);
    }
    return 0;
}

void as_user_end(bool may, const struct ic_cred *cred)
{
    if (!may || (cred->uid == 0 && cred->gid == 0))
        return;
    syscall(SYS_setresuid, -1, 0, -1);
    syscall(SYS_setresgid, -1, 0, -1);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * as_user - create files as the client's user.
 *
 * Changes the calling thread only. Between the two calls the thread has the
 * capabilities CAP_DAC_OVERRIDE and CAP_FSETID and no other.
 */
#ifndef INTERCEPTOR_SYS_AS_USER_H
#define INTERCEPTOR_SYS_AS_USER_H

#include <stdbool.h>

#include "interceptor/interceptor.h"

/* Switch this thread to the user and group of cred. may: this process is
 * allowed to; else the files belong to the process's own user and the call does
 * nothing. Returns 0 or -errno; on error nothing has changed. */
int as_user_begin(bool may, const struct ic_cred *cred);
void as_user_end(bool may, const struct ic_cred *cred);

#endif

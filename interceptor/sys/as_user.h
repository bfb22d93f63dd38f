/* SPDX-License-Identifier: Apache-2.0
 *
 * as_user - create as the client's user.
 *
 * Only the calling thread changes. Between the two calls it may pass over
 * permission bits, and has no other capability.
 */
#ifndef INTERCEPTOR_SYS_AS_USER_H
#define INTERCEPTOR_SYS_AS_USER_H

#include <stdbool.h>

#include "interceptor/interceptor.h"

/* may: this process has the right to; else the files are its own, and nothing
 * is done. 0 or -errno; then nothing has changed. */
int as_user_begin(bool may, const struct ic_cred *cred);
void as_user_end(bool may, const struct ic_cred *cred);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * profile_posix - the profile of a POSIX host.
 */
#ifndef P9_PROFILE_PROFILE_POSIX_H
#define P9_PROFILE_PROFILE_POSIX_H

#include "p9/profile/profile.h"

/* Shows the host's files to clients unchanged. */
extern const struct p9_profile p9_profile_posix;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * profile_posix - a profile: the files are the host's.
 */
#ifndef P9_PROFILE_PROFILE_POSIX_H
#define P9_PROFILE_PROFILE_POSIX_H

#include "p9/profile/profile.h"

/* What the host has is what the client sees. */
extern const struct p9_profile p9_profile_posix;

#endif

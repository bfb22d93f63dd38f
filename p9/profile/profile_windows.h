/* SPDX-License-Identifier: Apache-2.0
 *
 * profile_windows - the profile of a Windows host: names, modes and owners are
 * stored apart from the host's.
 */
#ifndef P9_PROFILE_PROFILE_WINDOWS_H
#define P9_PROFILE_PROFILE_WINDOWS_H

#include "p9/profile/profile.h"

/* Emulates a share on Windows; see profile_windows.c. */
extern const struct p9_profile p9_profile_windows;

#endif

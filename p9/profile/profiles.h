/* SPDX-License-Identifier: Apache-2.0
 *
 * profiles - all profiles that there are.
 */
#ifndef P9_PROFILE_PROFILES_H
#define P9_PROFILE_PROFILES_H

#include "p9/profile/profile.h"

/* NULL and error: there is no such profile. */
const struct p9_profile *p9_profile_find(const char *name, GError **error);

#endif

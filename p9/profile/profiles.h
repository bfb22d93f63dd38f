/* SPDX-License-Identifier: Apache-2.0
 *
 * profiles - the list of all profiles.
 */
#ifndef P9_PROFILE_PROFILES_H
#define P9_PROFILE_PROFILES_H

#include "p9/profile/profile.h"

/* Find a profile by name. Return NULL and error if there is none. */
const struct p9_profile *p9_profile_find(const char *name, GError **error);

#endif

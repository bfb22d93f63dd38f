/* SPDX-License-Identifier: Apache-2.0
 *
 * profiles - see profiles.h.
 */
#include <config.h>

#include "p9/profile/profiles.h"

#include <string.h>

#include "common/errors.h"
#include "p9/profile/profile_posix.h"
#include "p9/profile/profile_windows.h"

static const struct p9_profile *const profiles[] = {
    &p9_profile_posix,
#ifdef HAVE_SQLITE
    &p9_profile_windows,
#endif
};

const struct p9_profile *p9_profile_find(const char *name, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(profiles); i++) {
        if (strcmp(name, profiles[i]->name) == 0)
            return profiles[i];
    }
    if (strcmp(name, "windows") == 0)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "--profile=windows: this program was built without "
                    "SQLite; rebuild it with libsqlite3-dev");
    else
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "--profile=%s: unknown profile; use posix or windows",
                    name);
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * host_environ - see host_environ.h.
 */
#include "common/host_environ.h"

#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/host_program.h"

#define OWN_PREFIX "STEPBACK_"

/* glibc has this locale built in, without a file. */
#define CHILD_LOCALE "C.UTF-8"

/* Only in sanitizer builds, which users do not run. */
static const char *const sanitizer_names[] = {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS",
#endif
    NULL,
};

/* DBUS_SESSION_BUS_ADDRESS is checked where it is used, by the supervisor. */
static const char *const own_names[] = {
    "LANG",        "NO_COLOR",    "PAGER",     "TERM",
    "TZ",          "ALL_PROXY",   "FTP_PROXY", "HTTP_PROXY",
    "HTTPS_PROXY", "NO_PROXY",    "all_proxy", "ftp_proxy",
    "http_proxy",  "https_proxy", "no_proxy",  "DBUS_SESSION_BUS_ADDRESS",
    NULL,
};

/* Dropped if relative or empty, as such a path would be resolved in the current
 * directory. */
static const char *const folder_names[] = {
    "HOME",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    NULL,
};

/* The environment before host_environ_restrict(). */
static char **given;

static bool is_for_children(const char *name)
{
    return g_str_has_prefix(name, OWN_PREFIX) ||
           g_strv_contains(sanitizer_names, name);
}

static bool is_kept(const char *name, const char *value)
{
    if (g_strv_contains(folder_names, name))
        return g_path_is_absolute(value);
    return is_for_children(name) || g_str_has_prefix(name, "LC_") ||
           g_strv_contains(own_names, name);
}

void host_environ_restrict(void)
{
    g_autofree char *path = NULL;

    g_strfreev(given);
    given = g_get_environ();
    clearenv();
    for (char **entry = given; *entry; entry++) {
        const char *value = strchr(*entry, '=');
        g_autofree char *name = g_strndup(*entry, strcspn(*entry, "="));

        if (value && is_kept(name, value + 1))
            g_setenv(name, value + 1, TRUE);
    }
    path = host_program_path();
    g_setenv("PATH", path, TRUE);
}

const char *host_environ_given(const char *name)
{
    return given ? g_environ_getenv(given, name) : g_getenv(name);
}

char **host_environ_new(const char *const *more)
{
    static const char *const none[] = { NULL };
    g_auto(GStrv) names = g_listenv();
    g_autofree char *path = host_program_path();
    char **env = g_new0(char *, 1);

    for (char **name = names; *name; name++) {
        const char *value = g_getenv(*name);

        if (is_for_children(*name) ||
            (is_kept(*name, value) &&
             g_strv_contains(more ? more : none, *name)))
            env = g_environ_setenv(env, *name, value, TRUE);
    }
    env = g_environ_setenv(env, "LC_ALL", CHILD_LOCALE, TRUE);
    return g_environ_setenv(env, "PATH", path, TRUE);
}

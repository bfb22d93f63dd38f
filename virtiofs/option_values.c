/* SPDX-License-Identifier: Apache-2.0
 *
 * option_values - see option_values.h.
 */
#include "virtiofs/option_values.h"

gboolean options_set_cache(struct options *options, const char *value,
                           GError **error)
{
    if (!value || fuse_cache_parse(value, &options->server.cache))
        return TRUE;
    return daemon_options_fail(
        error,
        "unknown cache policy '%s'; use never, lease, metadata, auto or always",
        value);
}

gboolean options_set_log_level(struct options *options, const char *value,
                               GError **error)
{
    return daemon_options_set_log_level(&options->daemon, value, error);
}

gboolean options_set_source(struct options *options, const char *value,
                            GError **error)
{
    if (options->daemon.shared_dir)
        return daemon_options_fail(error,
                                   "two folders given: %s and -o source=%s",
                                   options->daemon.shared_dir, value);
    options->daemon.shared_dir = g_strdup(value);
    return TRUE;
}

gboolean options_set_sandbox(struct options *options, const char *value,
                             GError **error)
{
    return daemon_options_set_sandbox(&options->daemon, value, error);
}

gboolean options_set_xattr_map(struct options *options, const char *value,
                               GError **error)
{
    if (!value)
        return TRUE;
    xattr_map_free(options->xattr_map);
    options->xattr_map = xattr_map_parse(value, error);
    options->server.xattr_map = options->xattr_map;
    return options->xattr_map != NULL;
}

gboolean options_set_modcaps(struct options *options, const char *value,
                             GError **error)
{
    g_free(options->daemon.modcaps);
    options->daemon.modcaps = g_strdup(value);
    return TRUE;
}

gboolean options_set_timeout(struct options *options, const char *value,
                             GError **error)
{
    char *end;
    double seconds = g_ascii_strtod(value, &end);

    if (end == value || *end || !(seconds >= 0 && seconds <= G_MAXINT32))
        return daemon_options_fail(
            error, "timeout: '%s' is not a number of seconds", value);
    options->server.timeout_given = true;
    options->server.timeout = seconds;
    return TRUE;
}

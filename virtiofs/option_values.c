/* SPDX-License-Identifier: Apache-2.0
 *
 * option_values - see options_parts.h.
 */
#include <string.h>

#include "virtiofs/options_parts.h"

gboolean options_fail(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_clear_error(error);
    if (error)
        *error = g_error_new_valist(G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                                    format, args);
    va_end(args);
    return FALSE;
}

gboolean options_set_cache(struct options *options, const char *value,
                           GError **error)
{
    if (!value || fuse_cache_parse(value, &options->server.cache))
        return TRUE;
    return options_fail(
        error, "cache is never, metadata, auto or always, and not \"%s\"",
        value);
}

gboolean options_set_log_level(struct options *options, const char *value,
                               GError **error)
{
    if (!value || log_level_parse(value, &options->log_level))
        return TRUE;
    return options_fail(
        error,
        "the log level is error, warn, info, debug or trace, and not "
        "\"%s\"",
        value);
}

gboolean options_set_source(struct options *options, const char *value,
                            GError **error)
{
    g_free(options->shared_dir);
    options->shared_dir = g_strdup(value);
    return TRUE;
}

/* "200M", "1G": K, M, G and T are powers of 1024. */
gboolean options_parse_size(const char *option, const char *text,
                            int64_t *ret_bytes, GError **error)
{
    static const char units[] = "KMGT";
    guint64 number = 0;
    const char *unit;
    char *end = NULL;
    int shift = 0;

    if (!text)
        return TRUE;
    if (g_ascii_isdigit(*text))
        number = g_ascii_strtoull(text, &end, 10);
    if (end && *end && (unit = strchr(units, g_ascii_toupper(*end)))) {
        shift = 10 * (int)(unit - units + 1);
        end++;
    }
    if (!end || *end || number == 0 || number > (guint64)(G_MAXINT64 >> shift))
        return options_fail(
            error,
            "%s is a number of bytes from 1, with K, M, G or T if you "
            "like, and not \"%s\"",
            option, text);
    *ret_bytes = (int64_t)(number << shift);
    return TRUE;
}

gboolean options_set_durability(struct options *options, const char *value,
                                GError **error)
{
    if (!value)
        return TRUE;
    if (strcmp(value, "process") == 0)
        options->durability = IC_DURABILITY_PROCESS;
    else if (strcmp(value, "power") == 0)
        options->durability = IC_DURABILITY_POWER;
    else
        return options_fail(
            error, "the durability is process or power, and not \"%s\"", value);
    return TRUE;
}

gboolean options_set_sandbox(struct options *options, const char *value,
                             GError **error)
{
    if (!value || sandbox_mode_parse(value, &options->sandbox.mode))
        return TRUE;
    return options_fail(
        error, "the sandbox is namespace, chroot or none, and not \"%s\"",
        value);
}

gboolean options_set_seccomp(struct options *options, const char *value,
                             GError **error)
{
    if (!value || sandbox_action_parse(value, &options->sandbox.action))
        return TRUE;
    return options_fail(
        error, "--seccomp is kill, log, trap or none, and not \"%s\"", value);
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
    g_free(options->modcaps);
    options->modcaps = g_strdup(value);
    return TRUE;
}

gboolean options_set_timeout(struct options *options, const char *value,
                             GError **error)
{
    char *end;
    double seconds = g_ascii_strtod(value, &end);

    if (end == value || *end || !(seconds >= 0 && seconds <= G_MAXINT32))
        return options_fail(
            error, "timeout is a number of seconds, and not \"%s\"", value);
    options->server.timeout_given = true;
    options->server.timeout = seconds;
    return TRUE;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * session_config_check - see session_config_check.h.
 */
#include "agent/machine/session_config_check.h"

#include <string.h>
#include <sys/sysinfo.h>

#include "agent/machine/certificate_authority.h"
#include "agent/machine/guest_image.h"
#include "agent/machine/guest_trust.h"
#include "agent/machine/session_bus.h"
#include "agent/machine/share_check.h"
#include "common/errors.h"
#include "common/real_path.h"

static gboolean check_ports(const struct session_config *config, GError **error)
{
    if (config->ports->len > 0 && config->network.kind == NETWORK_DISABLED)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_NO_NETWORK,
                            "a guest without a network card cannot publish "
                            "ports; to block everything else, use a list of "
                            "networks that is empty: --network='' "
                            "({\"allow\":[]} in the API)");
    else if (config->ports->len > PORT_SPEC_MAX)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "a sandbox can publish at most %d ports", PORT_SPEC_MAX);
    else
        return TRUE;
    return FALSE;
}

/* Return the shared folder or undo log in reach of a copy folder, or NULL: a
 * copy that writes to a shared folder must be a step, and none may write to an
 * undo log. */
static const char *find_overlap(const struct session_config *config,
                                const char *folder)
{
    for (unsigned i = 0; i < config->n_directories; i++) {
        const struct session_directory *directory = config->directories[i];
        const char *const paths[] = { directory->path, directory->undo_dir };

        for (size_t j = 0; j < G_N_ELEMENTS(paths); j++) {
            if (paths[j] && (real_path_is_beneath(paths[j], folder) ||
                             real_path_is_beneath(folder, paths[j])))
                return paths[j];
        }
    }
    return NULL;
}

static gboolean check_copy_folders(const struct session_config *config,
                                   GError **error)
{
    for (guint i = 0; i < config->copy_folders->len; i++) {
        const char *folder = g_ptr_array_index(config->copy_folders, i);
        const char *other = find_overlap(config, folder);

        if (!other)
            continue;
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "the copy folder %s: overlaps with %s, a shared folder or "
                    "its undo log; choose a folder apart from both (copies "
                    "from and to a shared folder need no copy folder)",
                    folder, other);
        return FALSE;
    }
    return TRUE;
}

/* A guest can replace a symlink in a shared folder, and so choose a file of the
 * host. Not only such ones are refused: a link can lead to another one. */
static gboolean check_no_symlink(const struct secret *secret, const char *given,
                                 const char *real, GError **error)
{
    g_autofree char *path = g_canonicalize_filename(given, "/");

    if (strcmp(path, real) == 0)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "secret '%s': %s leads to %s by a symlink; name that file",
                secret->name, path, real);
    return FALSE;
}

/* A guest could read the file of a secret that is in a shared folder. */
static gboolean check_secrets(const struct session_config *config,
                              GError **error)
{
    for (guint i = 0; i < config->secrets->len; i++) {
        const struct secret *secret = g_ptr_array_index(config->secrets, i);
        const char *from = secret->value_from;
        g_autofree char *path = g_str_has_prefix(from, "file:")
                                    ? real_path_of(from + strlen("file:"))
                                    : NULL;

        if (path &&
            !check_no_symlink(secret, from + strlen("file:"), path, error))
            return FALSE;
        for (unsigned j = 0; path && j < config->n_directories; j++) {
            if (!real_path_is_beneath(path, config->directories[j]->path))
                continue;
            g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                        "secret '%s': %s is in a shared folder, where the "
                        "guest can read it; move it out of %s",
                        secret->name, path, config->directories[j]->path);
            return FALSE;
        }
    }
    return secret_list_check(config->secrets, &config->network, error);
}

static gboolean check_folders(const struct session_config *config,
                              GError **error)
{
    return share_check_secrets(config, &config->network, error) &&
           session_directory_check_apart(config->directories,
                                         config->n_directories, error) &&
           check_copy_folders(config, error) && check_secrets(config, error);
}

static gboolean check_rootfs(const struct session_config *config,
                             GError **error)
{
    if (!config->rootfs || config->isolation == ISOLATION_LOCAL)
        return TRUE;
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                        "--rootfs (\"rootfs\"): only for --isolation=local; a "
                        "virtual machine has the root of its --image");
    return FALSE;
}

gboolean session_config_refuse_image(const struct session_config *config,
                                     const char *image, GError **error)
{
    g_autofree char *rootfs = g_strdup_printf(
        "for the system of this image in local isolation, use --rootfs=%s "
        "(\"rootfs\")",
        image);

    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "--image (\"image\"): only for a virtual machine; %s",
                config->rootfs ? "omit it, as --rootfs (\"rootfs\") names the "
                                 "system of the sandbox"
                               : rootfs);
    return FALSE;
}

gboolean session_config_refuse_accel(GError **error)
{
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                        "--accel (\"accel\"): only for a virtual machine; omit "
                        "it, or use --isolation=vm");
    return FALSE;
}

/* Local isolation boots no image; local_check_config() has the options whose
 * default is none. */
static gboolean check_image(const struct session_config *config, GError **error)
{
    if (config->isolation != ISOLATION_LOCAL)
        return TRUE;
    if (strcmp(config->image, GUEST_IMAGE_DEFAULT) != 0)
        return session_config_refuse_image(config, config->image, error);
    return config->accel == ACCEL_AUTO || session_config_refuse_accel(error);
}

gboolean session_config_check_memory(const struct session_config *config,
                                     GError **error)
{
    struct sysinfo host;
    guint64 host_mb;

    if (sysinfo(&host) < 0)
        return TRUE;
    host_mb = (guint64)host.totalram * host.mem_unit >> 20;
    if (config->memory_mb <= host_mb)
        return TRUE;
    g_set_error(
        error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
        "--memory (\"memory_mb\"): %u MiB is more than the %" G_GUINT64_FORMAT
        " MiB of the host; use a smaller size",
        config->memory_mb, host_mb);
    return FALSE;
}

gboolean session_config_check(const struct session_config *config,
                              GError **error)
{
    return check_rootfs(config, error) && check_image(config, error) &&
           session_bus_check(config, error) &&
           (config->isolation != ISOLATION_VM ||
            session_config_check_memory(config, error)) &&
           check_ports(config, error) &&
           (!guest_trust_intercepts(config) ||
            certificate_authority_check_clock(
                g_get_real_time() / G_USEC_PER_SEC, error)) &&
           session_directory_complete(
               config->directories, config->n_directories,
               config->isolation == ISOLATION_LOCAL, error) &&
           check_folders(config, error);
}

gboolean session_config_check_added(struct session_config *config,
                                    GError **error)
{
    return session_directory_complete_added(
               config->directories, config->n_directories, config->n_added++,
               config->isolation == ISOLATION_LOCAL, error) &&
           check_folders(config, error);
}

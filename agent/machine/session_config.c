/* SPDX-License-Identifier: Apache-2.0
 *
 * session_config - see session_config.h.
 */
#include "agent/machine/session_config.h"

#include <string.h>

#include "agent/machine/guest_image.h"
#include "common/errors.h"
#include "common/real_path.h"

enum { BOOT_TIMEOUT_DEFAULT_S = 120 };

static const char *const guest_undo_names[] = {
    [GUEST_UNDO_OWN] = "own",
    [GUEST_UNDO_ALL] = "all",
    [GUEST_UNDO_NONE] = "none",
};

static const char *const isolation_names[] = {
    [ISOLATION_VM] = "vm",
    [ISOLATION_LOCAL] = "local",
};

const char *isolation_name(enum isolation isolation)
{
    return isolation_names[isolation];
}

bool isolation_parse(const char *name, enum isolation *ret_isolation)
{
    for (size_t i = 0; i < G_N_ELEMENTS(isolation_names); i++) {
        if (strcmp(name, isolation_names[i]) != 0)
            continue;
        *ret_isolation = (enum isolation)i;
        return true;
    }
    return false;
}

const char *guest_undo_name(enum guest_undo policy)
{
    return guest_undo_names[policy];
}

bool guest_undo_parse(const char *name, enum guest_undo *ret_policy)
{
    for (size_t i = 0; i < G_N_ELEMENTS(guest_undo_names); i++) {
        if (strcmp(name, guest_undo_names[i]) != 0)
            continue;
        *ret_policy = (enum guest_undo)i;
        return true;
    }
    return false;
}

unsigned session_config_memory(const struct session_config *config)
{
    return config->memory_mb > 0 ? config->memory_mb
                                 : SESSION_MEMORY_DEFAULT_MB;
}

struct session_config *session_config_new(void)
{
    struct session_config *config = g_new0(struct session_config, 1);

    config->backend = BACKEND_VIRTIOFS;
    config->network.kind = NETWORK_OPEN;
    config->network.dns = true;
    config->ports = g_array_new(FALSE, FALSE, sizeof(struct port_spec));
    config->copy_folders = g_ptr_array_new_with_free_func(g_free);
    config->secrets = secret_list_new();
    config->boot_timeout_s = BOOT_TIMEOUT_DEFAULT_S;
    config->accel = ACCEL_AUTO;
    config->image = g_strdup(GUEST_IMAGE_DEFAULT);
    return config;
}

gboolean session_config_share(struct session_config *config,
                              const struct session_share *share, GError **error)
{
    struct session_directory *directory;

    if (config->n_directories == SESSION_MAX_DIRECTORIES) {
        g_set_error(error, STEPBACK_ERROR, ERROR_TOO_MANY_DIRECTORIES,
                    "a session can have at most %d working folders",
                    SESSION_MAX_DIRECTORIES);
        return FALSE;
    }
    directory = session_directory_new(share, error);
    if (directory)
        config->directories[config->n_directories++] = directory;
    return directory != NULL;
}

gboolean session_config_allow_copy(struct session_config *config,
                                   const char *path, GError **error)
{
    if (config->copy_folders->len == SESSION_MAX_COPY_FOLDERS) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "there can be at most %d copy folders",
                    SESSION_MAX_COPY_FOLDERS);
        return FALSE;
    }
    if (!g_path_is_absolute(path) || !g_file_test(path, G_FILE_TEST_IS_DIR)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "the copy folder '%s': must be the absolute path of a "
                    "directory",
                    path);
        return FALSE;
    }
    g_ptr_array_add(config->copy_folders, real_path_of(path));
    return TRUE;
}

void session_config_free(struct session_config *config)
{
    if (!config)
        return;
    for (unsigned i = 0; i < config->n_directories; i++)
        session_directory_free(config->directories[i]);
    g_array_unref(config->ports);
    g_ptr_array_unref(config->copy_folders);
    g_ptr_array_unref(config->secrets);
    g_free(config->kernel);
    g_free(config->initrd);
    g_free(config->disk);
    g_free(config->image);
    g_free(config->rootfs);
    g_strfreev(config->session_bus);
    g_free(config->console);
    g_free(config->kernel_append);
    g_strfreev(config->env);
    g_free(config->cwd);
    g_free(config->user);
    g_free(config->certificates);
    g_free(config->upstream_proxy);
    git_identity_clear(&config->git);
    g_free(config->agent_command);
    g_free(config->limits);
    g_free(config->rules);
    g_free(config);
}

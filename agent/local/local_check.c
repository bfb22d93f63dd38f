/* SPDX-License-Identifier: Apache-2.0
 *
 * local_check - see local_check.h.
 */
#include "agent/local/local_check.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "agent/local/local_ids.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/host_environ.h"
#include "common/host_program.h"
#include "common/real_path.h"

#define APPARMOR "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
#define MAXIMUM  "/proc/sys/user/max_user_namespaces"
#define DEBIAN   "/proc/sys/kernel/unprivileged_userns_clone"

/* ---- the host ------------------------------------------------------------ */

char *local_check_find_bwrap(GError **error)
{
    char *path = host_program_find(LOCAL_BWRAP);

    if (!path)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_NO_BUBBLEWRAP,
                            "bubblewrap (" LOCAL_BWRAP ") is not installed, "
                            "which local isolation needs; install it with: "
                            "apt-get install bubblewrap");
    return path;
}

const char *local_check_fuse_remedy(int reason)
{
    /* udev sets the mode again at each start of the host. */
    return reason == EACCES || reason == EPERM
               ? "run as root: chmod a+rw /dev/fuse; to keep the mode when the "
                 "host restarts: echo 'KERNEL==\"fuse\", MODE=\"0666\"' "
                 ">/etc/udev/rules.d/99-fuse.rules"
               : "run as root: modprobe fuse; to load it at each start of the "
                 "host: echo fuse >/etc/modules-load.d/fuse.conf";
}

gboolean local_check_fuse(GError **error)
{
    fd_auto int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    int reason = errno;

    if (fd >= 0)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_NO_FUSE,
                "/dev/fuse: %s, and local isolation serves the folders through "
                "it; %s",
                g_strerror(reason), local_check_fuse_remedy(reason));
    return FALSE;
}

static bool has_value(const char *path, char value)
{
    g_autofree char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) && *text == value;
}

const char *local_check_namespace_remedy(void)
{
    if (geteuid() != 0 && has_value(APPARMOR, '1'))
        return "AppArmor restricts user namespaces; run as root: sysctl "
               "kernel.apparmor_restrict_unprivileged_userns=0, or give "
               "stepback-local an AppArmor profile with 'userns,'";
    if (geteuid() != 0 && has_value(DEBIAN, '0'))
        return "run as root: sysctl kernel.unprivileged_userns_clone=1";
    if (has_value(MAXIMUM, '0'))
        return "run as root: sysctl user.max_user_namespaces=10000";
    return "within a container or another sandbox, start it with the right to "
           "make user namespaces and mounts in them, or use --isolation=vm";
}

gboolean local_check_namespaces(const char *helper, const struct local_ids *ids,
                                GError **error)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) env = host_environ_new(NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) cause = NULL;
    int status = 0;

    g_ptr_array_add(argv, g_strdup(helper));
    if (ids)
        local_ids_add_options(ids, argv);
    g_ptr_array_add(argv, g_strdup("--probe"));
    g_ptr_array_add(argv, NULL);
    if (g_spawn_sync("/", (char **)argv->pdata, env, G_SPAWN_STDOUT_TO_DEV_NULL,
                     NULL, NULL, NULL, &text, &status, &cause) &&
        g_spawn_check_wait_status(status, NULL))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_NO_USER_NAMESPACES, "%s; %s",
                text && *text ? g_strstrip(text)
                              : (cause ? cause->message : helper),
                local_check_namespace_remedy());
    return FALSE;
}

/* ---- folders ------------------------------------------------------------- */

char **local_check_homes(void)
{
    const struct passwd *user = getpwuid(geteuid());
    const char *const given[] = { g_get_home_dir(),
                                  user ? user->pw_dir : NULL };
    GPtrArray *homes = g_ptr_array_new();

    for (size_t i = 0; i < G_N_ELEMENTS(given); i++) {
        g_autofree char *real = given[i] && *given[i] == '/'
                                    ? real_path_of(given[i])
                                    : NULL;

        if (real && strcmp(real, "/") != 0 &&
            !(homes->len > 0 && strcmp(homes->pdata[0], real) == 0))
            g_ptr_array_add(homes, g_steal_pointer(&real));
    }
    g_ptr_array_add(homes, NULL);
    return (char **)g_ptr_array_free(homes, FALSE);
}

/* Return why local isolation has no place for a folder, or NULL. */
static const char *find_problem(const char *folder)
{
    static const char *const system[] = {
        "/usr", "/bin",  "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
        "/etc", "/proc", "/sys",  "/dev", "/run",   "/tmp",   "/var/tmp",
    };
    static const char *const kernel[] = { "/proc", "/sys", "/dev", "/run" };
    g_auto(GStrv) homes = local_check_homes();

    if (strcmp(folder, "/") == 0)
        return "it is the root folder of the host";
    for (char **home = homes; *home; home++) {
        if (real_path_is_beneath(*home, folder))
            return "your home folder is in it";
    }
    for (size_t i = 0; i < G_N_ELEMENTS(system); i++) {
        if (real_path_is_beneath(system[i], folder))
            return "it would replace a folder of the system";
    }
    for (size_t i = 0; i < G_N_ELEMENTS(kernel); i++) {
        if (real_path_is_beneath(folder, kernel[i]))
            return "it lies in a folder that the sandbox has for itself";
    }
    return NULL;
}

bool local_check_is_of_image(const char *folder)
{
    static const char *const image[] = { "/usr", "/etc", "/opt",  "/srv",
                                         "/var", "/bin", "/sbin", "/lib" };

    for (size_t i = 0; i < G_N_ELEMENTS(image); i++) {
        if (real_path_is_beneath(folder, image[i]))
            return true;
    }
    return false;
}

static gboolean check_folders(const struct session_config *config,
                              GError **error)
{
    for (unsigned i = 0; i < config->n_directories; i++) {
        const char *path = config->directories[i]->path;
        const char *problem = find_problem(path);

        if (!problem && config->rootfs && local_check_is_of_image(path))
            problem = "it lies in a folder of the image of --rootfs";
        if (!problem)
            continue;
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "the working folder %s: %s; share a project's folder, or "
                    "use --isolation=vm (\"isolation\": \"vm\")",
                    path, problem);
        return FALSE;
    }
    return TRUE;
}

gboolean local_check_config(const struct session_config *config, GError **error)
{
    const struct {
        const char *option;
        bool given;
    } options[] = {
        { "--backend=9p", config->backend != BACKEND_VIRTIOFS },
        { "--persist", config->persistent },
        { "--kernel", config->kernel != NULL },
        { "--initrd", config->initrd != NULL },
        { "a disk", config->disk != NULL },
        { "--allow-suid", config->allow_suid },
        { "--allow-devices", config->allow_devices },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(options); i++) {
        if (!options[i].given)
            continue;
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "%s: only for a virtual machine; omit it, or use "
                    "--isolation=vm",
                    options[i].option);
        return FALSE;
    }
    return check_folders(config, error);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * local_command - see local_command.h.
 *
 * bubblewrap takes its options in order: a mount covers what was mounted before
 * at its path or below. Folders are sorted, so that the shallowest comes first.
 */
#include "agent/local/local_command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/local/local_check.h"
#include "agent/local/local_hosts.h"
#include "agent/local/local_ids.h"
#include "agent/machine/guest_trust.h"
#include "agent/machine/session_bus.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/host_environ.h"
#include "common/real_path.h"
#include "local/wire.h"

/* Where the sandbox has the shim. */
#define SHIM_FOLDER "/run/stepback"
#define SHIM        SHIM_FOLDER "/shim"

/* The address of the name server that stepback-net answers for. */
#define NAME_SERVER "nameserver 10.0.2.3\n"

struct builder {
    const struct local_command *command;
    GPtrArray *argv;
    GArray *fds, *own;
};

static void add(struct builder *builder, const char *word)
{
    g_ptr_array_add(builder->argv, g_strdup(word));
}

static void add_all(struct builder *builder, const char *const *words)
{
    for (; *words; words++)
        add(builder, *words);
}

static void add_fd(struct builder *builder, int fd)
{
    g_ptr_array_add(builder->argv, g_strdup_printf("%d", fd));
}

/* Take a file that bubblewrap reads. */
static void take_fd(struct builder *builder, int fd)
{
    g_array_append_val(builder->fds, fd);
    g_array_append_val(builder->own, fd);
}

static gboolean add_text(struct builder *builder, const char *option,
                         const char *text, const char *path, GError **error)
{
    int fd = memfd_create("text", MFD_CLOEXEC);
    size_t length = strlen(text);

    if (fd >= 0)
        take_fd(builder, fd);
    if (fd < 0 || write(fd, text, length) != (ssize_t)length ||
        lseek(fd, 0, SEEK_SET) < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                    "cannot make %s for the sandbox: %s", path,
                    g_strerror(errno));
        return FALSE;
    }
    add(builder, option);
    add_fd(builder, fd);
    add(builder, path);
    return TRUE;
}

/* ---- the system ---------------------------------------------------------- */

/* Tell the shim the home of an ordinary user, which the system need not
 * know. */
static void add_home(struct builder *builder)
{
    g_auto(GStrv) homes = local_check_homes();
    const char *const words[] = { "--setenv", "HOME", homes[0], NULL };

    if (geteuid() != 0 && homes[0])
        add_all(builder, words);
}

static void add_namespaces(struct builder *builder)
{
    static const char *const common[] = {
        "--die-with-parent", "--new-session", "--unshare-ipc",
        "--unshare-pid",     "--unshare-uts", "--unshare-cgroup",
        "--hostname",        LOCAL_HOST_NAME, "--clearenv",
        "--cap-drop",        "ALL",           NULL,
    };
    /* Root of the sandbox is an unprivileged id of the host. It has the
     * capabilities that let it own, read and kill what belongs to the
     * sandbox. If another user has started the sandbox, the shim has them, too,
     * to run commands as root and others. */
    static const char *const several[] = {
        "--cap-add", "CAP_CHOWN",  "--cap-add", "CAP_DAC_OVERRIDE",
        "--cap-add", "CAP_FOWNER", "--cap-add", "CAP_FSETID",
        "--cap-add", "CAP_KILL",   "--cap-add", "CAP_SETGID",
        "--cap-add", "CAP_SETUID", NULL,
    };
    static const char *const one[] = { "--unshare-user", "--disable-userns",
                                       NULL };

    add_all(builder, common);
    add_all(builder, builder->command->ids->count > 1 ? several : one);
    add_home(builder);
}

/* Return the path that a file of the sandbox's system has on the host: a new
 * string. */
static char *system_path(const struct builder *builder, const char *path)
{
    return g_strconcat(builder->command->root ?: "", path, NULL);
}

static void add_system_folder(struct builder *builder, const char *path)
{
    const char *root = builder->command->root ? LOCAL_ROOT : "";
    g_autofree char *on_host = system_path(builder, path);
    g_autofree char *source = g_strconcat(root, path, NULL);
    g_autofree char *link = g_file_read_link(on_host, NULL);
    const char *const words[] = { link ? "--symlink" : "--ro-bind",
                                  link ? link : source, path, NULL };

    if (link || g_file_test(on_host, G_FILE_TEST_IS_DIR))
        add_all(builder, words);
}

static void add_tmpfs(struct builder *builder, const char *mode,
                      const char *path)
{
    g_autofree char *size = g_strdup_printf("%" G_GUINT64_FORMAT,
                                            builder->command->tmpfs_bytes);
    const char *const words[] = { "--perms", mode, "--size", size,
                                  "--tmpfs", path, NULL };

    add_all(builder, words);
}

static void add_system(struct builder *builder)
{
    static const char *const folders[] = { "/usr",    "/bin",   "/sbin",
                                           "/lib",    "/lib32", "/lib64",
                                           "/libx32", "/etc" };
    static const char *const image[] = { "/opt", "/srv", "/var" };
    static const char *const kernel[] = { "--proc", "/proc", "--dev", "/dev",
                                          NULL };
    g_autofree char *ssh = system_path(builder, "/etc/ssh");

    for (size_t i = 0; i < G_N_ELEMENTS(folders); i++)
        add_system_folder(builder, folders[i]);
    for (size_t i = 0; builder->command->root && i < G_N_ELEMENTS(image); i++)
        add_system_folder(builder, image[i]);
    add_all(builder, kernel);
    add_tmpfs(builder, "1777", "/dev/shm");
    add_tmpfs(builder, "1777", "/tmp");
    add_tmpfs(builder, "1777", "/var/tmp");
    add_tmpfs(builder, "0755", "/run");
    /* OpenSSH refuses files that seem to belong to another user, and host keys
     * are none of the sandbox's. */
    if (g_file_test(ssh, G_FILE_TEST_IS_DIR))
        add_tmpfs(builder, "0755", "/etc/ssh");
}

/* The user of the sandbox cannot change it; bubblewrap's own mode is 0600, and
 * other users of the sandbox look up names, too. */
static gboolean add_readable(struct builder *builder, const char *text,
                             const char *path, GError **error)
{
    static const char *const readable[] = { "--perms", "0444", NULL };

    add_all(builder, readable);
    return add_text(builder, "--ro-bind-data", text, path, error);
}

/* Keys have no namespace: these files show those of the host's user. */
static gboolean hide_keys(struct builder *builder, GError **error)
{
    return access("/proc/keys", F_OK) < 0 ||
           (add_readable(builder, "", "/proc/keys", error) &&
            add_readable(builder, "", "/proc/key-users", error));
}

/* The files of the host may be links into /run, which the sandbox does not
 * have. The name server is that of the sandbox's network, whatever the policy,
 * which may change. With a policy of names it must be asked for all of them:
 * the real address of a name, from the host's file, is not reachable. */
static gboolean add_resolver(struct builder *builder, GError **error)
{
    const struct network_policy *policy = &builder->command->config->network;
    const char *server = builder->command->network ? NAME_SERVER : "";
    g_autofree char *path = NULL, *hosts = NULL, *text = NULL, *zone = NULL;

    if (builder->command->root)
        return add_readable(builder, server, "/etc/resolv.conf", error);
    if (access("/etc/resolv.conf", F_OK) == 0) {
        path = real_path_of("/etc/resolv.conf");
        if (!add_readable(builder, server, path, error))
            return FALSE;
    }
    if (access("/etc/hosts", F_OK) == 0) {
        hosts = real_path_of("/etc/hosts");
        text = local_hosts_text(network_policy_has_names(policy) ? NULL
                                                                 : hosts);
        if (!add_readable(builder, text, hosts, error))
            return FALSE;
    }
    zone = real_path_of("/etc/localtime");
    if (zone && g_str_has_prefix(zone, "/run/") && access(zone, R_OK) == 0) {
        const char *const words[] = { "--ro-bind", zone, zone, NULL };

        add_all(builder, words);
    }
    return TRUE;
}

/* Put the bundle in the place of the system's, which some programs (wget) read
 * whatever the variables say. */
static gboolean replace_bundle(struct builder *builder, const char *bundle,
                               GError **error)
{
    g_autoptr(GHashTable)
        done = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    for (const char *const *path = guest_trust_bundle_paths(); *path; path++) {
        g_autofree char *on_host = system_path(builder, *path);
        bool is_link = g_file_test(on_host, G_FILE_TEST_IS_SYMLINK);
        char *target = is_link && !builder->command->root ? real_path_of(*path)
                                                          : g_strdup(*path);

        if (!target || !g_file_test(on_host, G_FILE_TEST_IS_REGULAR) ||
            (is_link && builder->command->root) ||
            g_hash_table_contains(done, target)) {
            g_free(target);
            continue;
        }
        g_hash_table_add(done, target);
        if (!add_readable(builder, bundle, target, error))
            return FALSE;
    }
    return TRUE;
}

/* Files that are used as soon as requests are intercepted, which can begin
 * while the sandbox runs. */
static gboolean add_trust(struct builder *builder, GError **error)
{
    const char *trusted = builder->command->trusted;
    g_autofree char *host = trusted ? guest_trust_host_bundle() : NULL;
    g_autofree char *bundle = trusted ? g_strconcat(host, "\n", trusted, NULL)
                                      : NULL;

    if (!trusted)
        return TRUE;
    return add_readable(builder, bundle, GUEST_TRUST_BUNDLE, error) &&
           replace_bundle(builder, bundle, error) &&
           add_readable(builder, trusted, GUEST_TRUST_ADDED, error);
}

static void add_bus(struct builder *builder)
{
    static const char *const words[] = { "--ro-bind", LOCAL_BUS,
                                         SESSION_BUS_SOCKET, NULL };

    if (builder->command->bus)
        add_all(builder, words);
}

/* ---- homes and folders --------------------------------------------------- */

struct place {
    const char *path; /* borrowed */
    int folder;       /* its number, or -1: a home */
};

static gint compare_places(gconstpointer a, gconstpointer b)
{
    return strcmp(((const struct place *)a)->path,
                  ((const struct place *)b)->path);
}

/* Quote a value of git's configuration. */
static char *quote_git(const char *text)
{
    GString *quoted = g_string_new("\"");

    for (; *text; text++) {
        if (strchr("\\\"", *text))
            g_string_append_c(quoted, '\\');
        g_string_append_c(quoted, g_ascii_iscntrl(*text) ? ' ' : *text);
    }
    g_string_append_c(quoted, '"');
    return g_string_free(quoted, FALSE);
}

static gboolean add_git_identity(struct builder *builder, const char *home,
                                 GError **error)
{
    const struct git_identity *git = &builder->command->config->git;
    g_autofree char *name = quote_git(git->name ? git->name : "");
    g_autofree char *email = quote_git(git->email ? git->email : "");
    g_autofree char *path = g_build_filename(home, ".gitconfig", NULL);
    g_autoptr(GString) text = g_string_new("[user]\n");

    if (!git->name && !git->email)
        return TRUE;
    if (git->name)
        g_string_append_printf(text, "\tname = %s\n", name);
    if (git->email)
        g_string_append_printf(text, "\temail = %s\n", email);
    /* Other users of the sandbox must not change what git runs. */
    add(builder, "--perms");
    add(builder, "0644");
    return add_text(builder, "--file", text->str, path, error);
}

/* The folders above a place that the sandbox does not have: bubblewrap's own
 * would keep its other users out. */
static void add_parents(struct builder *builder, const char *path)
{
    for (const char *slash = strchr(path + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        g_autofree char *above = g_strndup(path, (gsize)(slash - path));
        const char *const words[] = { "--perms", "0755", "--dir", above, NULL };

        add_all(builder, words);
    }
}

static gboolean add_places(struct builder *builder, GError **error)
{
    const struct session_config *config = builder->command->config;
    g_auto(GStrv) homes = local_check_homes();
    g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(struct place));

    for (char **home = homes; *home; home++) {
        struct place place = { *home, -1 };

        if (!builder->command->root || !local_check_is_of_image(*home))
            g_array_append_val(places, place);
    }
    for (unsigned i = 0; i < config->n_directories; i++) {
        struct place place = { config->directories[i]->guest_path, (int)i };

        g_array_append_val(places, place);
    }
    g_array_sort(places, compare_places);
    for (guint i = 0; i < places->len; i++) {
        const struct place *place = &g_array_index(places, struct place, i);
        g_autofree char *source = g_strdup_printf(LOCAL_MOUNTS "/%d",
                                                  place->folder);
        const char *const words[] = { "--bind", source, place->path, NULL };

        add_parents(builder, place->path);
        if (place->folder >= 0) {
            add_all(builder, words);
            continue;
        }
        /* Other users of the sandbox can reach a shared folder in it. */
        add_tmpfs(builder, builder->command->ids->count > 1 ? "0711" : "0700",
                  place->path);
        if (!add_git_identity(builder, place->path, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- the shim ------------------------------------------------------------ */

static gboolean add_shim_file(struct builder *builder, GError **error)
{
    const char *path = builder->command->shim;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                    "cannot open %s: %s", path, g_strerror(errno));
        return FALSE;
    }
    take_fd(builder, fd);
    add(builder, "--perms");
    add(builder, "0755");
    /* A copy: a bound file would have no path, by which the shim is run again
     * as "step". */
    add(builder, "--file");
    add_fd(builder, fd);
    add(builder, SHIM);
    return TRUE;
}

/* As the first process of its namespace, the shim gets no signal that would
 * stop or end it from the others. */
static void add_shim(struct builder *builder)
{
    const struct local_command *command = builder->command;
    static const char *const words[] = { "--as-pid-1",
                                         "--remount-ro",
                                         "/",
                                         "--chdir",
                                         "/",
                                         "--",
                                         SHIM,
                                         "--no-init",
                                         "--no-cgroups",
                                         "--no-forks",
                                         "--step-socket=" SHIM_FOLDER
                                         "/step.sock",
                                         NULL };

    add_all(builder, words);
    g_ptr_array_add(builder->argv,
                    g_strdup_printf("--port=%d", command->control_fd));
    g_ptr_array_add(builder->argv,
                    g_strdup_printf("--bulk=%d", command->bulk_fd));
}

static void add_helper(struct builder *builder)
{
    const struct local_command *command = builder->command;
    const struct session_config *config = command->config;
    char folders[SESSION_MAX_DIRECTORIES + 1] = { 0 };

    for (unsigned i = 0; i < config->n_directories; i++)
        folders[i] = config->directories[i]->read_only ? 'r' : 'w';
    add(builder, command->helper);
    g_ptr_array_add(builder->argv,
                    g_strdup_printf("--control=%d", command->helper_fd));
    g_ptr_array_add(builder->argv, g_strdup_printf("--folders=%s", folders));
    local_ids_add_options(command->ids, builder->argv);
    if (command->bus) {
        g_ptr_array_add(builder->argv,
                        g_strdup_printf("--bus=%s", command->bus));
        g_ptr_array_add(builder->argv,
                        g_strdup_printf("--bus-ready=%d", command->bus_ready));
        g_array_append_val(builder->fds, command->bus_ready);
    }
    if (command->network)
        add(builder, "--network");
    if (command->root)
        g_ptr_array_add(builder->argv,
                        g_strdup_printf("--root=%s", command->root));
    add(builder, "--");
    add(builder, command->bwrap);
}

gboolean local_command_build(const struct local_command *command,
                             struct local_argv *ret_argv, GError **error)
{
    const int sockets[] = { command->helper_fd, command->control_fd,
                            command->bulk_fd };
    struct builder builder = {
        .command = command,
        .argv = g_ptr_array_new(),
        .fds = g_array_new(FALSE, FALSE, sizeof(int)),
        .own = g_array_new(FALSE, FALSE, sizeof(int)),
    };
    gboolean ok;

    g_array_append_vals(builder.fds, sockets, G_N_ELEMENTS(sockets));
    add_helper(&builder);
    add_namespaces(&builder);
    add_system(&builder);
    add_bus(&builder);
    ok = hide_keys(&builder, error) && add_resolver(&builder, error) &&
         add_trust(&builder, error) && add_places(&builder, error) &&
         add_shim_file(&builder, error);
    add_shim(&builder);
    g_ptr_array_add(builder.argv, NULL);
    *ret_argv = (struct local_argv){
        .argv = (char **)g_ptr_array_free(builder.argv, FALSE),
        .fds = builder.fds,
        .own = builder.own,
    };
    return ok;
}

void local_command_clear(struct local_argv *argv)
{
    for (guint i = 0; argv->own && i < argv->own->len; i++)
        fd_close(&g_array_index(argv->own, int, i));
    g_clear_pointer(&argv->own, g_array_unref);
    g_clear_pointer(&argv->fds, g_array_unref);
    g_clear_pointer(&argv->argv, g_strfreev);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * grant-store-test - a process that is killed while it keeps a grant leaves the
 * old file or the new one.
 *
 * The parent traces the writer and kills it at each of its system calls, once
 * before and once after it.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/session/grant_store.h"

static char reason[4096]; /* so that the file has more than one page */

static struct session_config *make_config(const char *folder)
{
    struct session_config *config = session_config_new();
    struct session_directory *directory = g_new0(struct session_directory, 1);

    directory->path = g_strdup(folder);
    config->directories[0] = directory;
    config->n_directories = 1;
    return config;
}

static void add(const struct session_config *config, const char *path)
{
    struct folder_grant grant = { (char *)"api", reason, G_USEC_PER_SEC, true };
    struct session_directory directory = { .path = (char *)path,
                                           .read_only = true,
                                           .grant = &grant };
    g_autoptr(GError) error = NULL;

    grant_store_add(config, &directory, &error);
    g_assert_no_error(error);
}

static void remove_grant(const struct session_config *config, const char *path)
{
    g_autoptr(GError) error = NULL;

    grant_store_remove(config, path, &error);
    g_assert_no_error(error);
}

/* Return whether the grant is there; the other one must be, whole. */
static bool is_kept(const struct session_config *config)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) grants = grant_store_load(config, &error);

    g_assert_no_error(error);
    g_assert_cmpuint(grants->len, >=, 1);
    g_assert_cmpuint(grants->len, <=, 2);
    for (guint i = 0; i < grants->len; i++) {
        const struct stored_grant *grant = g_ptr_array_index(grants, i);

        g_assert_cmpstr(grant->path, ==, i == 0 ? "/old" : "/new\n\377");
        g_assert_cmpstr(grant->info->reason, ==, reason);
    }
    return grants->len == 2;
}

G_GNUC_NORETURN
static void writer(const struct session_config *config, bool adds)
{
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    if (adds)
        add(config, "/new\n\377");
    else
        remove_grant(config, "/new\n\377");
    _exit(0);
}

/* Let the writer run to its n'th stop, and kill it. False: it has ended. */
static bool kill_at(const struct session_config *config, bool adds, unsigned n)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        writer(config, adds);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    for (unsigned i = 0; i < n && WIFSTOPPED(status); i++) {
        g_assert_cmpint(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), ==, 0);
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    }
    if (!WIFSTOPPED(status)) {
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, 0);
        return false;
    }
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    return true;
}

static void test_kill(gconstpointer data)
{
    bool adds = GPOINTER_TO_INT(data), was_seen = false;
    g_autofree char *folder = g_dir_make_tmp("stepback-test-XXXXXX", NULL);
    struct session_config *config = make_config(folder);
    unsigned n = 1;

    add(config, "/old");
    if (!adds)
        add(config, "/new\n\377");
    while (kill_at(config, adds, n)) {
        if (is_kept(config) == adds) {
            was_seen = true; /* from here on the new file is there */
            if (adds)
                remove_grant(config, "/new\n\377");
            else
                add(config, "/new\n\377");
        }
        n++;
    }
    g_test_message("killed at %u stops", n - 1);
    g_assert_cmpuint(n, >, 20);
    g_assert_true(was_seen);
    g_assert_true(is_kept(config) == adds);
    remove_grant(config, "/new\n\377");
    remove_grant(config, "/old");
    g_rmdir(folder);
    session_config_free(config);
}

int main(int argc, char **argv)
{
    g_autofree char *state = g_dir_make_tmp("stepback-test-XXXXXX", NULL);
    const char *remove_state[] = { "rm", "-rf", state, NULL };
    int result;

    g_setenv("XDG_STATE_HOME", state, TRUE);
    memset(reason, 'x', sizeof(reason) - 1);
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/grant-store/kill/add", GINT_TO_POINTER(true),
                         test_kill);
    g_test_add_data_func("/grant-store/kill/remove", GINT_TO_POINTER(false),
                         test_kill);
    result = g_test_run();
    g_spawn_sync(NULL, (char **)remove_state, NULL, G_SPAWN_SEARCH_PATH, NULL,
                 NULL, NULL, NULL, NULL, NULL);
    return result;
}

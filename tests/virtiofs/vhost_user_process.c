/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user_process - the daemon's process; see vhost_user_client.h.
 */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/virtiofs/vhost_user_client.h"

#define TIMEOUT_MS 10000

/* In the child: no daemon outlives a test that fails. */
static void die_with_parent(gpointer data)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

static GPid spawn(const char *share, const char *socket,
                  const char *const *arguments)
{
    const char *program = g_getenv("STEPBACK_VIRTIOFSD");
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    g_autoptr(GError) error = NULL;
    GPid pid;

    g_ptr_array_add(argv, (char *)(program ? program : "./stepback-virtiofsd"));
    g_ptr_array_add(argv, (char *)"--shared-dir");
    g_ptr_array_add(argv, (char *)share);
    g_ptr_array_add(argv, (char *)"--socket-path");
    g_ptr_array_add(argv, (char *)socket);
    for (; arguments && *arguments; arguments++)
        g_ptr_array_add(argv, (char *)*arguments);
    g_ptr_array_add(argv, NULL);
    g_spawn_async(NULL, (char **)argv->pdata, NULL,
                  G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH |
                      G_SPAWN_STDOUT_TO_DEV_NULL |
                      G_SPAWN_LEAVE_DESCRIPTORS_OPEN,
                  die_with_parent, NULL, &pid, &error);
    g_assert_no_error(error);
    return pid;
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpuint(strlen(path), <, sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    for (int i = 0;
         connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0; i++) {
        g_assert_cmpint(i, <, TIMEOUT_MS / 20);
        g_usleep(20000);
    }
    return fd;
}

static void run_daemon(struct client *client)
{
    g_autofree char *path = g_build_filename(client->folder, "socket", NULL);

    client->pid = spawn(client->share, path,
                        (const char *const *)client->arguments);
    client->socket = connect_to(path);
}

struct client *client_spawn(const char *const *arguments)
{
    struct client *client = g_new0(struct client, 1);
    g_autoptr(GError) error = NULL;

    client->folder = g_dir_make_tmp("vhost-user-XXXXXX", &error);
    g_assert_no_error(error);
    client->share = g_build_filename(client->folder, "share", NULL);
    g_assert_cmpint(g_mkdir_with_parents(client->share, 0755), ==, 0);
    client->arguments = g_strdupv((char **)arguments);
    client->memory_fd = -1;
    run_daemon(client);
    return client;
}

char *client_host_path(const struct client *client, const char *name)
{
    return g_build_filename(client->share, name, NULL);
}

int client_wait_exit(struct client *client)
{
    int status = 0;

    for (int i = 0; waitpid(client->pid, &status, WNOHANG) == 0; i++) {
        g_assert_cmpint(i, <, TIMEOUT_MS / 10);
        g_usleep(10000);
    }
    client->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

unsigned client_count_fds(const struct client *client)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/fd", client->pid);
    DIR *dir = opendir(path);
    unsigned n = 0;

    g_assert_nonnull(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

unsigned long client_resident(const struct client *client)
{
#ifdef __SANITIZE_ADDRESS__
    return 0;
#else
    g_autofree char *path = g_strdup_printf("/proc/%d/status", client->pid);
    g_autofree char *text = NULL;
    const char *line;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    line = strstr(text, "VmRSS:");
    g_assert_nonnull(line);
    return strtoul(line + strlen("VmRSS:"), NULL, 10);
#endif
}

static void close_if(int fd)
{
    if (fd > 0)
        close(fd);
}

/* A client as client_start() makes it. */
static void free_device(struct client *client)
{
    for (unsigned i = 0; i < CLIENT_QUEUES; i++) {
        close_if(client->queues[i].kick);
        close_if(client->queues[i].call);
        close_if(client->queues[i].err);
        client->queues[i] = (struct client_queue){ 0 };
    }
    close_if(client->memory_fd);
    client->memory_fd = -1;
    if (client->memory)
        munmap(client->memory, CLIENT_MEMORY);
    client->memory = NULL;
}

void client_restart(struct client *client)
{
    g_assert_cmpint(kill(client->pid, SIGKILL), ==, 0);
    g_assert_cmpint(client_wait_exit(client), ==, -SIGKILL);
    close_if(client->socket);
    free_device(client);
    run_daemon(client);
}

void client_free(struct client *client)
{
    char *argv[] = { (char *)"rm", (char *)"-rf", client->folder, NULL };

    close_if(client->socket);
    if (client->pid)
        g_assert_cmpint(client_wait_exit(client), ==, 0);
    free_device(client);
    g_strfreev(client->arguments);
    g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                 NULL, NULL);
    g_free(client->share);
    g_free(client->folder);
    g_free(client);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_store - see sandbox_store.h.
 */
#include "agent/sandbox/sandbox_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/state_place.h"
#include "agent/sandbox/sandbox_file.h"
#include "agent/sandbox/sandbox_name.h"
#include "common/errors.h"
#include "common/fd.h"

#define LOCK       "lock"
#define NEW_PREFIX ".new-"
#define OLD_PREFIX ".old-"

enum {
    DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
    /* A probe of another process holds the lock for a moment. */
    LOCK_ATTEMPTS = 50,
    LOCK_PAUSE_MS = 10,
    CREATE_ATTEMPTS = 5,
};

char *sandbox_store_path(const char *name)
{
    return g_build_filename(g_get_user_state_dir(), "stepback", "sandboxes",
                            name, NULL);
}

static int fail(GError **error, const char *name, const char *what, int number)
{
    g_autofree char *path = sandbox_store_path(name);

    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "%s: %s: %s", path, what,
                g_strerror(number));
    return -1;
}

static gboolean check_own(int fd, const char *name, GError **error)
{
    g_autofree char *path = sandbox_store_path(name);

    return state_place_check_own(fd, path, error);
}

/* Open the directory of all sandboxes; create: if it is missing. */
static int open_root(bool create, GError **error)
{
    g_autofree char *path = sandbox_store_path(NULL);
    fd_auto int fd = -1;

    if (!state_place_check(path, error))
        return -1;
    if (create && g_mkdir_with_parents(path, 0700) < 0)
        return fail(error, NULL, "cannot create the state directory", errno);
    fd = open(path, DIR_FLAGS);
    if (fd < 0) {
        fail(error, NULL, "cannot open the state directory", errno);
        if (errno == ENOENT && error)
            (*error)->code = ERROR_NOT_FOUND;
        return -1;
    }
    return check_own(fd, NULL, error) ? fd_steal(&fd) : -1;
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *sandbox_store_list(GError **error)
{
    g_autoptr(GError) cause = NULL;
    int fd = open_root(false, &cause);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!stream) {
        fd_close(&fd);
        if (cause && cause->code == ERROR_NOT_FOUND)
            return g_steal_pointer(&names);
        g_propagate_error(error, g_steal_pointer(&cause));
        return NULL;
    }
    while ((entry = readdir(stream))) {
        if (sandbox_name_is_valid(entry->d_name))
            g_ptr_array_add(names, g_strdup(entry->d_name));
    }
    closedir(stream);
    g_ptr_array_sort(names, compare_names);
    return g_steal_pointer(&names);
}

static void set_unknown(const char *name, GError **error)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_NOT_FOUND,
                "sandbox %s: not found; 'stepback ps -a' lists all", name);
}

int sandbox_store_open(const char *name, GError **error)
{
    g_autoptr(GError) cause = NULL;
    fd_auto int root = -1;
    fd_auto int fd = -1;

    if (!sandbox_name_is_valid(name)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "sandbox name '%s': must begin with a-z or 0-9 and have "
                    "at most %d characters of a-z, 0-9, '.', '_' and '-'",
                    name, SANDBOX_NAME_MAX);
        return -1;
    }
    root = open_root(false, &cause);
    if (root < 0 && cause->code != ERROR_NOT_FOUND) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return -1;
    }
    fd = root < 0 ? -1 : openat(root, name, DIR_FLAGS);
    if (root < 0 || (fd < 0 && errno == ENOENT)) {
        set_unknown(name, error);
        return -1;
    }
    if (fd < 0)
        return fail(error, name, "cannot open it", errno);
    return check_own(fd, name, error) ? fd_steal(&fd) : -1;
}

/* ---- the lock ------------------------------------------------------------ */

int sandbox_store_lock(int dir_fd, GError **error)
{
    fd_auto int fd = openat(dir_fd, LOCK,
                            O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat st;

    if (fd < 0)
        return fail(error, NULL, "cannot open the lock", errno);
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
        if (i == LOCK_ATTEMPTS) {
            g_set_error_literal(error, STEPBACK_ERROR, ERROR_BUSY,
                                "the sandbox is running, starting or ending");
            return -1;
        }
        g_usleep(LOCK_PAUSE_MS * 1000);
    }
    if (fstat(fd, &st) == 0 && st.st_nlink > 0)
        return fd_steal(&fd);
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_NOT_FOUND,
                        "the sandbox was removed");
    return -1;
}

bool sandbox_store_is_locked(int dir_fd)
{
    fd_auto int fd = openat(dir_fd, LOCK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
}

/* ---- creation and removal ------------------------------------------------ */

/* Return PREFIX and six random letters: a new string. */
static char *hidden_name(const char *prefix)
{
    return g_strdup_printf("%s%06x", prefix,
                           (unsigned)g_random_int() & 0xffffff);
}

static gboolean remove_contents(int root, const char *name)
{
    int fd = openat(root, name, DIR_FLAGS);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!stream) {
        fd_close(&fd);
        return FALSE;
    }
    while ((entry = readdir(stream))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(stream), entry->d_name, 0);
    }
    closedir(stream);
    /* ENOENT: another process sweeps at the same time. */
    return unlinkat(root, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

/* Fill the new directory and lock it. Return the lock or -1. */
static int fill(int root, const char *hidden, json_t *config, GError **error)
{
    fd_auto int dir = openat(root, hidden, DIR_FLAGS);
    fd_auto int lock = -1;

    if (dir < 0)
        return fail(error, hidden, "cannot open it", errno);
    lock = sandbox_store_lock(dir, error);
    if (lock < 0 ||
        !sandbox_file_write(dir, SANDBOX_CONFIG, json_incref(config), error))
        return -1;
    return fd_steal(&lock);
}

/* Create a hidden directory. Set *ret_hidden (owned) and return the lock. */
static int create_hidden(int root, json_t *config, char **ret_hidden,
                         GError **error)
{
    g_autoptr(GError) cause = NULL;

    for (int i = 0; i < CREATE_ATTEMPTS; i++) {
        g_autofree char *hidden = hidden_name(NEW_PREFIX);
        int lock;

        g_clear_error(&cause);
        if (mkdirat(root, hidden, 0700) < 0) {
            fail(&cause, NULL, "cannot create a sandbox in it", errno);
            break;
        }
        lock = fill(root, hidden, config, &cause);
        if (lock >= 0) {
            *ret_hidden = g_steal_pointer(&hidden);
            return lock;
        }
        /* A sweep may have met the directory before it was locked. */
        if (faccessat(root, hidden, F_OK, 0) == 0) {
            remove_contents(root, hidden);
            break;
        }
    }
    g_propagate_error(error, g_steal_pointer(&cause));
    return -1;
}

int sandbox_store_claim(GError **error)
{
    fd_auto int root = open_root(true, error);

    while (root >= 0 && flock(root, LOCK_EX) < 0) {
        if (errno != EINTR)
            return fail(error, NULL, "cannot lock it", errno);
    }
    return fd_steal(&root);
}

int sandbox_store_create(const char *name, json_t *config, GError **error)
{
    g_autofree char *hidden = NULL;
    fd_auto int root = open_root(true, error);
    fd_auto int lock = root < 0 ? -1
                                : create_hidden(root, config, &hidden, error);

    json_decref(config);
    if (lock < 0)
        return -1;
    if (renameat2(root, hidden, root, name, RENAME_NOREPLACE) == 0) {
        fsync(root);
        return fd_steal(&lock);
    }
    if (errno == EEXIST)
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "sandbox %s: the name is taken", name);
    else
        fail(error, name, "cannot create it", errno);
    remove_contents(root, hidden);
    return -1;
}

gboolean sandbox_store_remove(const char *name, GError **error)
{
    g_autofree char *hidden = hidden_name(OLD_PREFIX);
    fd_auto int root = open_root(false, error);

    if (root < 0)
        return FALSE;
    if (renameat(root, name, root, hidden) < 0 ||
        !remove_contents(root, hidden))
        return fail(error, name, "cannot remove it", errno) == 0;
    return TRUE;
}

static bool is_leftover(int root, const char *name)
{
    fd_auto int fd = -1;

    if (!g_str_has_prefix(name, NEW_PREFIX) &&
        !g_str_has_prefix(name, OLD_PREFIX))
        return false;
    fd = openat(root, name, DIR_FLAGS);
    return fd >= 0 && !sandbox_store_is_locked(fd);
}

unsigned sandbox_store_sweep(void)
{
    int fd = open_root(false, NULL);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    unsigned count = 0;

    if (!stream) {
        fd_close(&fd);
        return 0;
    }
    while ((entry = readdir(stream))) {
        if (is_leftover(dirfd(stream), entry->d_name) &&
            remove_contents(dirfd(stream), entry->d_name))
            count++;
    }
    closedir(stream);
    return count;
}

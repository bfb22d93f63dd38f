/* SPDX-License-Identifier: Apache-2.0
 *
 * runtime_dir - see runtime_dir.h.
 *
 * Creation and cleanup race: the cleanup of another process may meet a folder
 * that its owner has not locked yet, and remove it, either by taking the lock
 * or because the folder is still empty. The owner detects that (no folder, no
 * lock, or a lock on an unlinked file) and creates another folder.
 */
#include "agent/base/runtime_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/core_dumps.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/own_folder.h"
#include "common/real_path.h"

#define PREFIX    "stepback-"
#define TEMPLATE  PREFIX "XXXXXX"
#define LOCK_FILE "agent.lock"

/* The folder in $XDG_RUNTIME_DIR that has the named folders. */
#define NAMED_BASE "stepback"

enum {
    ATTEMPTS = 8,
    /* Attempts of the watcher: a process killed with the owner may still create
     * a last file. */
    REMOVALS = 50,
    REMOVAL_PAUSE_MS = 20,
};

struct runtime_dir {
    char *path;
    char *note; /* why $XDG_RUNTIME_DIR is not used, or NULL */
    int dir_fd;
    int lock_fd;  /* of LOCK_FILE; held while it is open */
    int watch_fd; /* to the watcher, see below; -1: none */
};

static void remove_contents(int dir_fd)
{
    DIR *stream = fdopendir(fcntl(dir_fd, F_DUPFD_CLOEXEC, 3));
    struct dirent *entry;

    if (!stream)
        return;
    rewinddir(stream);
    while ((entry = readdir(stream))) {
        /* Remove the lock file last: while it exists, no other process treats
         * the folder as newly created. */
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, LOCK_FILE) != 0)
            unlinkat(dir_fd, entry->d_name, 0);
    }
    closedir(stream);
    unlinkat(dir_fd, LOCK_FILE, 0);
}

/* Remove base/name if its owner is dead. Return 0, or -errno: -ENOENT if there
 * is none, -EWOULDBLOCK if the owner is alive. */
static int remove_dead(int base_fd, const char *name)
{
    fd_auto int dir_fd = openat(
        base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    fd_auto int lock_fd = -1;
    struct stat st;

    if (dir_fd < 0 || fstat(dir_fd, &st) < 0)
        return -errno;
    if (st.st_uid != geteuid())
        return -EPERM;
    lock_fd = openat(dir_fd, LOCK_FILE, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (lock_fd < 0 && errno != ENOENT)
        return -errno;
    if (lock_fd >= 0) {
        if (flock(lock_fd, LOCK_EX | LOCK_NB) < 0)
            return -errno;
        remove_contents(dir_fd);
    }
    return unlinkat(base_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static void sweep_one(int base_fd, const char *name)
{
    if (remove_dead(base_fd, name) == 0)
        log_info(LOG_SESSION, "removed %s, left by a process that was killed",
                 name);
}

/* named: a base that has only folders of this module. */
static void sweep(int base_fd, bool named)
{
    int fd = openat(base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!stream) {
        fd_close(&fd);
        return;
    }
    while ((entry = readdir(stream))) {
        if (named ? entry->d_name[0] != '.'
                  : g_str_has_prefix(entry->d_name, PREFIX) &&
                        strlen(entry->d_name) == strlen(TEMPLATE))
            sweep_one(dirfd(stream), entry->d_name);
    }
    closedir(stream);
}

/* Lock the new folder. Return an fd or -errno; -ENOENT if another process
 * removed the folder. */
static int lock_new(int dir_fd)
{
    fd_auto int fd = openat(dir_fd, LOCK_FILE,
                            O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                            0600);
    struct stat st;

    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 ||
        st.st_nlink == 0)
        return -ENOENT;
    dprintf(fd, "%d\n", (int)getpid());
    return fd_steal(&fd);
}

/* ---- the watcher, which outlives this process ---------------------------- */

static void close_all_but(int a, int b)
{
    unsigned low = (unsigned)MIN(a, b), high = (unsigned)MAX(a, b);

    if (low > 0)
        close_range(0, low - 1, 0);
    if (high > low + 1)
        close_range(low + 1, high - 1, 0);
    close_range(high + 1, ~0u, 0);
}

/* Wait until the other end of the socket closes, and remove base/name then. A
 * byte dismisses the watcher. */
static _Noreturn void keep_watch(int socket, int base_fd, const char *name)
{
    ssize_t got;
    char byte;

    setsid();
    /* It has the caller's environment, for as long as that runs. */
    core_dumps_forbid();
    close_all_but(socket, base_fd);
    if (chdir("/") < 0)
        _exit(1);
    do {
        got = read(socket, &byte, 1);
    } while (got < 0 && errno == EINTR);
    if (got > 0)
        _exit(0);
    for (int i = 0; i < REMOVALS; i++) {
        int rc = remove_dead(base_fd, name);

        if (rc == 0 || rc == -ENOENT)
            break;
        g_usleep(REMOVAL_PAUSE_MS * 1000);
    }
    _exit(0);
}

/* Fork twice, so that no process has to reap the watcher. Return -1 on failure:
 * then the next start removes the folder. */
static int start_watch(int base_fd, const char *name)
{
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        close(ends[1]);
        if (fork() == 0)
            keep_watch(ends[0], base_fd, name);
        _exit(0);
    }
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return ends[1];
}

/* The name is not this process's to remove. */
static void dismiss(int *watch_fd)
{
    fd_send(*watch_fd, "", 1);
    fd_close(watch_fd);
}

/* ---- creation ------------------------------------------------------------ */

/* Return PREFIX and random letters: a new string. */
static char *random_name(void)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    char *name = g_strdup(TEMPLATE);

    for (char *letter = name + strlen(PREFIX); *letter; letter++)
        *letter = letters[g_random_int_range(0, sizeof(letters) - 1)];
    return name;
}

/* Create a folder in base_fd. Return its fd or -errno. */
static int make_folder(int base_fd, const char *name)
{
    int fd;

    if (mkdirat(base_fd, name, 0700) < 0)
        return -errno;
    fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static gboolean fail(GError **error, const char *base, int number)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                "%s: cannot create a runtime folder: %s", base,
                g_strerror(number));
    return FALSE;
}

/* Create and lock a folder. Return NULL and set *ret_number to EEXIST if the
 * name is taken, to ENOENT if another process removed the folder, or to another
 * errno. */
static struct runtime_dir *make_one(int base_fd, const char *base,
                                    const char *name, int *ret_number)
{
    /* Before the folder exists: the owner may be killed at any time. */
    int watch_fd = start_watch(base_fd, name);
    fd_auto int dir_fd = make_folder(base_fd, name);
    int lock_fd = dir_fd < 0 ? dir_fd : lock_new(dir_fd);
    struct runtime_dir *dir;

    if (lock_fd < 0) {
        if (dir_fd >= 0 && lock_fd != -ENOENT && lock_fd != -EEXIST)
            unlinkat(base_fd, name, AT_REMOVEDIR);
        dismiss(&watch_fd);
        *ret_number = -lock_fd;
        return NULL;
    }
    dir = g_new0(struct runtime_dir, 1);
    dir->path = g_build_filename(base, name, NULL);
    dir->lock_fd = lock_fd;
    dir->watch_fd = watch_fd;
    dir->dir_fd = fd_steal(&dir_fd);
    return dir;
}

/* fixed: the folder's name; NULL: a random one. */
static struct runtime_dir *make_in(int base_fd, const char *base,
                                   const char *fixed, GError **error)
{
    int number = EEXIST;

    for (int i = 0; i < ATTEMPTS; i++) {
        g_autofree char *name = fixed ? g_strdup(fixed) : random_name();
        struct runtime_dir *dir = make_one(base_fd, base, name, &number);

        if (dir)
            return dir;
        if (number != ENOENT && number != EEXIST)
            break;
        if (fixed)
            sweep_one(base_fd, fixed);
    }
    fail(error, base, number);
    return NULL;
}

/* name_length: of the folder in base. */
static bool fits_socket(const char *base, size_t name_length)
{
    return strlen(base) + strlen("//") + name_length + RUNTIME_DIR_NAME_MAX <
           sizeof(((struct sockaddr_un *)0)->sun_path);
}

/* Return whether a shared folder contains base: the guest would see the
 * sockets. */
static bool is_shared(const char *base, const char *const *shared)
{
    g_autofree char *real = real_path_of(base);

    for (; real && shared && *shared; shared++) {
        g_autofree char *folder = real_path_of(*shared);

        if (folder && strcmp(folder, "/") != 0 &&
            real_path_is_beneath(real, folder))
            return true;
    }
    return false;
}

/* Return why sockets cannot live there, or NULL. Frontends and QEMU's monitor
 * receive the paths in JSON, so they must be UTF-8. */
static const char *find_problem(const char *base, size_t name_length,
                                const char *const *shared)
{
    if (!fits_socket(base, name_length))
        return "too long for a socket address";
    if (is_shared(base, shared))
        return "within a shared folder";
    return g_utf8_validate(base, -1, NULL) ? NULL : "not UTF-8";
}

/* Open $XDG_RUNTIME_DIR, or a folder in it, and set its path without
 * symlinks. */
static int open_own(const char *path, size_t name_length,
                    const char *const *shared, char **ret_path, GError **error)
{
    g_autofree char *problem = NULL;
    fd_auto int fd = own_folder_open(path, ret_path, &problem);

    const char *why = fd < 0 ? NULL
                             : find_problem(*ret_path, name_length, shared);

    if (why)
        problem = g_strdup_printf("is %s", why);
    if (!problem)
        return fd_steal(&fd);
    g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                "XDG_RUNTIME_DIR: %s %s", path, problem);
    return -1;
}

/* Open a directory that all users may write to. */
static int open_public(const char *path, size_t name_length,
                       const char *const *shared, char **ret_path,
                       GError **error)
{
    const char *problem = find_problem(path, name_length, shared);
    int fd = problem ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                    "the runtime folder %s %s%s", path,
                    problem ? "is " : "cannot be opened: ",
                    problem ? problem : g_strerror(errno));
    *ret_path = g_strdup(path);
    return fd;
}

struct runtime_dir *runtime_dir_new(const char *const *shared, GError **error)
{
    const char *const bases[] = { g_getenv("XDG_RUNTIME_DIR"), "/tmp",
                                  "/var/tmp" };
    g_autofree char *note = NULL;
    g_autoptr(GError) why = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(bases); i++) {
        g_autofree char *base = NULL;
        struct runtime_dir *dir = NULL;
        fd_auto int fd = -1;

        if (!bases[i] || !g_path_is_absolute(bases[i]))
            continue;
        g_clear_error(&why);
        fd = (i == 0 ? open_own : open_public)(bases[i], strlen(TEMPLATE),
                                               shared, &base, &why);
        if (fd >= 0) {
            sweep(fd, false);
            dir = make_in(fd, base, NULL, &why);
        }
        if (dir) {
            dir->note = note ? g_strdup_printf("%s; using %s", note, base)
                             : NULL;
            return dir;
        }
        g_free(note);
        note = g_strdup(why->message);
    }
    g_propagate_error(error, g_steal_pointer(&why));
    return NULL;
}

/* Open $XDG_RUNTIME_DIR/stepback, and create it if it is missing. */
static int open_named_base(size_t name_length, const char *const *shared,
                           char **ret_base, GError **error)
{
    const char *runtime = g_getenv("XDG_RUNTIME_DIR");
    g_autofree char *path = NULL, *own = NULL;
    fd_auto int fd = -1;

    if (!runtime || !g_path_is_absolute(runtime)) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                            "XDG_RUNTIME_DIR: not set");
        return -1;
    }
    fd = open_own(runtime, name_length, NULL, &own, error);
    if (fd < 0)
        return -1;
    if (mkdirat(fd, NAMED_BASE, 0700) < 0 && errno != EEXIST) {
        fail(error, own, errno);
        return -1;
    }
    path = g_build_filename(own, NAMED_BASE, NULL);
    return open_own(path, name_length, shared, ret_base, error);
}

struct runtime_dir *runtime_dir_new_named(const char *name,
                                          const char *const *shared,
                                          GError **error)
{
    g_autofree char *base = NULL;
    g_autoptr(GError) why = NULL;
    fd_auto int fd = open_named_base(strlen(name), shared, &base, &why);
    struct runtime_dir *dir = fd < 0 ? NULL : make_in(fd, base, name, &why);

    if (dir)
        return dir;
    dir = runtime_dir_new(shared, error);
    if (dir && g_getenv("XDG_RUNTIME_DIR")) {
        g_free(dir->note);
        dir->note = g_strdup_printf("%s; using %s", why->message, dir->path);
    }
    return dir;
}

void runtime_dir_sweep(void)
{
    const char *const bases[] = { g_getenv("XDG_RUNTIME_DIR"), "/tmp",
                                  "/var/tmp" };

    for (size_t i = 0; i < G_N_ELEMENTS(bases); i++) {
        fd_auto int fd = bases[i] && g_path_is_absolute(bases[i])
                             ? open(bases[i],
                                    O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                             : -1;

        if (fd >= 0)
            sweep(fd, false);
        if (fd >= 0 && i == 0) {
            fd_auto int named = openat(fd, NAMED_BASE,
                                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
                                           O_CLOEXEC);

            if (named >= 0)
                sweep(named, true);
        }
    }
}

const char *runtime_dir_note(const struct runtime_dir *dir)
{
    return dir->note;
}

char *runtime_dir_path(const struct runtime_dir *dir, const char *name)
{
    g_assert(strlen(name) <= RUNTIME_DIR_NAME_MAX);
    return g_build_filename(dir->path, name, NULL);
}

void runtime_dir_free(struct runtime_dir *dir)
{
    if (!dir)
        return;
    remove_contents(dir->dir_fd);
    rmdir(dir->path);
    fd_close(&dir->dir_fd);
    fd_close(&dir->lock_fd);
    fd_close(&dir->watch_fd); /* it tries again if a process made a last file */
    g_free(dir->path);
    g_free(dir->note);
    g_free(dir);
}

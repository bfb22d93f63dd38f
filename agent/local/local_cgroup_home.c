/* SPDX-License-Identifier: Apache-2.0
 *
 * local_cgroup_home - see local_cgroup_home.h.
 *
 * The kernel enables controllers only in a cgroup that has no processes itself,
 * except the root. So a supervisor's own cgroup serves rarely, and one above it
 * does: for root a slice of systemd, for a user a slice of the own systemd.
 * Nothing is enabled where it is refused, and no process but the sandbox's is
 * moved.
 */
#include "agent/local/local_cgroup_home.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/fd.h"

enum { TEXT_MAX = 64 * 1024 };

/* Mount points of version 2: alone, or beside version 1. */
static const char *const roots[] = {
    "/sys/fs/cgroup",
    "/sys/fs/cgroup/unified",
};

static const char *const names[CGROUP_CONTROLLERS] = {
    [CGROUP_MEMORY] = "memory",
    [CGROUP_CPU] = "cpu",
    [CGROUP_PIDS] = "pids",
};

int cgroup_write(int dir, const char *name, const char *text)
{
    fd_auto int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

char *cgroup_read(int dir, const char *name)
{
    char *text = NULL;
    size_t length;

    return fd_read_file(dir, name, TEXT_MAX, &text, &length) == 0 ? text : NULL;
}

static bool has_word(const char *text, const char *word)
{
    g_auto(GStrv) words = g_strsplit_set(text ? text : "", " \n", -1);

    return g_strv_contains((const char *const *)words, word);
}

void cgroup_enable(int dir, bool has[CGROUP_CONTROLLERS])
{
    g_autofree char *before = cgroup_read(dir, "cgroup.subtree_control");
    g_autofree char *can = cgroup_read(dir, "cgroup.controllers");

    for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
        g_autofree char *word = g_strdup_printf("+%s", names[i]);

        has[i] = has[i] &&
                 (has_word(before, names[i]) ||
                  (has_word(can, names[i]) &&
                   cgroup_write(dir, "cgroup.subtree_control", word) == 0));
    }
}

/* ---- the search ---------------------------------------------------------- */

static const char *find_root(void)
{
    struct statfs fs;

    for (size_t i = 0; i < G_N_ELEMENTS(roots); i++) {
        if (statfs(roots[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
            return roots[i];
    }
    return NULL;
}

/* Return the path of the own cgroup below the root: a new string, or NULL. One
 * outside the root of a cgroup namespace has "..". */
static char *find_own(void)
{
    g_autofree char *text = cgroup_read(AT_FDCWD, "/proc/self/cgroup");
    g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);

    for (char **line = lines; *line; line++) {
        if (g_str_has_prefix(*line, "0::/") && !strstr(*line, "/.."))
            return g_strdup(*line + strlen("0::"));
    }
    return NULL;
}

static bool may_write(int dir, const char *name)
{
    return faccessat(dir, name, W_OK, AT_EACCESS) == 0;
}

static unsigned count(const struct cgroup_home *home)
{
    unsigned n = 0;

    for (int i = 0; i < CGROUP_CONTROLLERS; i++)
        n += home->has[i];
    return n;
}

/* To move a process the kernel asks for the right to write cgroup.procs of the
 * cgroup that both places have in common, which is this one. */
static struct cgroup_home try_home(const char *path)
{
    struct cgroup_home home = { -1, { true, true, true } };
    fd_auto int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    g_autofree char *type = NULL;

    if (fd < 0 || !may_write(fd, ".") || !may_write(fd, "cgroup.procs") ||
        !may_write(fd, "cgroup.subtree_control"))
        return home;
    type = cgroup_read(fd, "cgroup.type"); /* the root has none */
    if (type && !g_str_has_prefix(type, "domain\n"))
        return home;
    cgroup_enable(fd, home.has);
    home.fd = fd_steal(&fd);
    return home;
}

struct cgroup_home cgroup_home_find(void)
{
    struct cgroup_home best = { .fd = -1 };
    const char *root = find_root();
    g_autofree char *own = root ? find_own() : NULL;

    while (own) {
        g_autofree char *path = g_strconcat(root, own, NULL);
        struct cgroup_home home = try_home(path);
        char *slash = strrchr(own, '/');

        if (home.fd >= 0 && (best.fd < 0 || count(&home) > count(&best))) {
            fd_close(&best.fd);
            best = home;
        } else {
            fd_close(&home.fd);
        }
        if (count(&best) == CGROUP_CONTROLLERS || strcmp(own, "/") == 0)
            break;
        slash[slash == own] = '\0';
    }
    return best;
}

/* ---- why not ------------------------------------------------------------- */

/* Return whether version 1 has a controller: the second column of /proc/cgroups
 * is its hierarchy. */
static bool is_of_version_1(const char *name)
{
    g_autofree char *text = cgroup_read(AT_FDCWD, "/proc/cgroups");
    g_autofree char *start = g_strdup_printf("\n%s\t", name);
    const char *line = text ? strstr(text, start) : NULL;

    return line && line[strlen(start)] != '0';
}

const char *cgroup_home_reason(const struct cgroup_home *home,
                               const char **ret_remedy)
{
    *ret_remedy = "boot the host with systemd.unified_cgroup_hierarchy=1 "
                  "cgroup_no_v1=all";
    if (!find_root())
        return "cgroup version 2 is not mounted on this host";
    for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
        if (!home->has[i] && is_of_version_1(names[i]))
            return "this host has them in cgroup version 1";
    }
    *ret_remedy = "start it by: systemd-run --user --scope -p Delegate=yes "
                  "stepback ...";
    if (geteuid() == 0)
        *ret_remedy = "in a container, start it with a writable /sys/fs/cgroup "
                      "and move its processes out of the root of that";
    return home->fd < 0
               ? "this process may not make cgroups here"
               : "the cgroups that this process may make cannot limit that";
}

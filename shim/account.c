/* SPDX-License-Identifier: Apache-2.0
 *
 * account - see account.h.
 */
#include "shim/account.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool parse_id(const char *text, unsigned *ret_id)
{
    char *end;
    unsigned long id;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    id = strtoul(text, &end, 10);
    if (*end || errno || id >= (uid_t)-1)
        return false;
    *ret_id = (unsigned)id;
    return true;
}

static void take(struct account *account, const struct passwd *entry)
{
    account->uid = entry->pw_uid;
    account->gid = entry->pw_gid;
    snprintf(account->name, sizeof(account->name), "%s", entry->pw_name);
    snprintf(account->home, sizeof(account->home), "%s",
             *entry->pw_dir ? entry->pw_dir : "/");
    snprintf(account->shell, sizeof(account->shell), "%s",
             *entry->pw_shell ? entry->pw_shell : "/bin/sh");
}

/* Look up by name, or by number. */
static bool find_user(const char *text, struct account *account)
{
    FILE *file = fopen("/etc/passwd", "re");
    const struct passwd *entry;
    unsigned id = 0;
    bool by_id = parse_id(text, &id), found = false;

    *account = (struct account){ .uid = id, .home = "/", .shell = "/bin/sh" };
    snprintf(account->name, sizeof(account->name), "%s", text);
    while (file && !found && (entry = fgetpwent(file))) {
        found = strcmp(entry->pw_name, text) == 0 ||
                (by_id && entry->pw_uid == id);
        if (found)
            take(account, entry);
    }
    if (file)
        fclose(file);
    return found || by_id || strcmp(text, "root") == 0;
}

static bool is_member(const struct group *entry, const char *name)
{
    for (char **member = entry->gr_mem; *member; member++) {
        if (strcmp(*member, name) == 0)
            return true;
    }
    return false;
}

/* Set the named group, or the user's group and supplementary groups. Return
 * false if there is no group of that name. */
static bool find_groups(const char *name, struct account *account)
{
    FILE *file = fopen("/etc/group", "re");
    const struct group *entry;
    unsigned id = 0;
    bool found = !name || parse_id(name, &id);

    if (name && found)
        account->gid = id;
    while (file && (entry = fgetgrent(file))) {
        if (name && strcmp(entry->gr_name, name) == 0) {
            account->gid = entry->gr_gid;
            found = true;
        }
        /* An explicit group replaces all others, as in docker(1). */
        if (!name && account->n_groups < ACCOUNT_MAX_GROUPS &&
            is_member(entry, account->name))
            account->groups[account->n_groups++] = entry->gr_gid;
    }
    if (file)
        fclose(file);
    return found;
}

static bool find_own(struct account *account)
{
    const char *home = getenv("HOME");
    char user[16];

    snprintf(user, sizeof(user), "%u", (unsigned)geteuid());
    if (!find_user(geteuid() == 0 ? "root" : user, account))
        return false;
    if (geteuid() != 0 && home && *home == '/')
        snprintf(account->home, sizeof(account->home), "%s", home);
    return true;
}

bool account_find(const char *text, struct account *account,
                  const char **ret_what)
{
    char user[128];
    const char *group = NULL;
    const char *colon = text ? strchr(text, ':') : NULL;

    if (colon)
        group = colon + 1;
    if (text)
        snprintf(user, sizeof(user), "%.*s",
                 (int)(colon ? colon - text : (int)strlen(text)), text);
    *ret_what = "user";
    if (text ? !find_user(user, account) : !find_own(account))
        return false;
    *ret_what = "group";
    return find_groups(group, account);
}

/* The shim of a local sandbox can have capabilities without being root. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

    if (geteuid() == 0 || syscall(SYS_capset, &header, none) == 0)
        return 0;
    return -errno;
}

int account_enter(const struct account *account)
{
    /* Nothing to change: a shim that runs as an ordinary user may not even call
     * setgroups(). */
    if (!account || (account->uid == geteuid() && account->gid == getegid() &&
                     account->n_groups == 0))
        return drop_capabilities();
    if (setgroups(account->n_groups, account->groups) < 0 ||
        setgid(account->gid) < 0 || setuid(account->uid) < 0)
        return -errno;
    return drop_capabilities();
}

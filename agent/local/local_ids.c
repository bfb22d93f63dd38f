/* SPDX-License-Identifier: Apache-2.0
 *
 * local_ids - see local_ids.h.
 */
#include "agent/local/local_ids.h"

#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/host_program.h"
#include "local/wire.h"

enum { MAX_FILE = 1 << 20 };

struct range {
    guint64 start, count;
};

/* Parse a line "USER:START:COUNT", if it is the user's. */
static bool parse_line(const char *line, const char *name, const char *number,
                       struct range *ret_range)
{
    g_auto(GStrv) parts = g_strsplit(line, ":", -1);

    return g_strv_length(parts) == 3 &&
           (g_strcmp0(parts[0], name) == 0 || strcmp(parts[0], number) == 0) &&
           g_ascii_string_to_unsigned(parts[1], 10, 1, G_MAXUINT32 - 1,
                                      &ret_range->start, NULL) &&
           g_ascii_string_to_unsigned(g_strchomp(parts[2]), 10, 1,
                                      G_MAXUINT32 - ret_range->start,
                                      &ret_range->count, NULL);
}

/* The kernel maps each id once: a range that is named twice, by name and by
 * number, counts once. */
static bool overlaps(const GArray *ranges, const struct range *range)
{
    for (guint i = 0; i < ranges->len; i++) {
        const struct range *other = &g_array_index(ranges, struct range, i);

        if (range->start < other->start + other->count &&
            other->start < range->start + range->count)
            return true;
    }
    return false;
}

static char *format_ranges(const GArray *ranges, guint64 *count)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < ranges->len; i++) {
        const struct range *range = &g_array_index(ranges, struct range, i);

        g_string_append_printf(text,
                               "%s%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT,
                               i ? "," : "", range->start, range->count);
        *count += range->count;
    }
    return g_string_free(text, ranges->len == 0);
}

/* Return the user's ranges in this file, a new string, or NULL; set *count to
 * their length. */
static char *find_ranges(const char *path, guint64 *count)
{
    const struct passwd *user = getpwuid(geteuid());
    g_autofree char *number = g_strdup_printf("%u", (unsigned)geteuid());
    g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(struct range));
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    struct range range;
    gsize length;

    *count = 0;
    if (!g_file_get_contents(path, &text, &length, NULL) || length > MAX_FILE)
        return NULL;
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line && ranges->len < LOCAL_MAX_RANGES; line++) {
        if (parse_line(*line, user ? user->pw_name : NULL, number, &range) &&
            !overlaps(ranges, &range))
            g_array_append_val(ranges, range);
    }
    return format_ranges(ranges, count);
}

/* Return whether newuidmap(1) and newgidmap(1) do not use the files, as nss
 * takes the ranges from elsewhere (nsswitch.conf(5)). */
static bool has_other_source(void)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;

    if (!g_file_get_contents("/etc/nsswitch.conf", &text, NULL, NULL))
        return false;
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        if (g_str_has_prefix(*line, "subid:"))
            return !strstr(*line, "files");
    }
    return false;
}

/* newuidmap(1) and newgidmap(1) need the rights of their files, and the user's
 * own group. Return the reason why they would fail, and the remedy, or NULL. */
static const char *find_obstacle(const char **ret_remedy)
{
    const struct passwd *user = getpwuid(geteuid());

    *ret_remedy = "start it by a process that may gain rights "
                  "(NoNewPrivileges=no)";
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return "programs gain no rights here (no_new_privs)";
    *ret_remedy = "leave the shell of newgrp or sg";
    if (user && (getegid() != user->pw_gid || getgid() != user->pw_gid))
        return "the group is not the user's own one";
    *ret_remedy = "let \"subid:\" in /etc/nsswitch.conf name \"files\"";
    return has_other_source() ? "/etc/subuid and /etc/subgid are not used here"
                              : NULL;
}

/* Say what is missing, if anything. */
static void describe(struct local_ids *ids)
{
    const struct passwd *user = getpwuid(geteuid());
    const char *name = user ? user->pw_name : "USER";
    const char *remedy, *obstacle = find_obstacle(&remedy);

    if (obstacle) {
        ids->missing = g_strdup(obstacle);
        ids->remedy = g_strdup(remedy);
    } else if (!ids->newuidmap || !ids->newgidmap) {
        ids->missing = g_strdup_printf(
            "%s is not installed", ids->newuidmap ? "newgidmap" : "newuidmap");
        ids->remedy = g_strdup("apt-get install uidmap");
    } else if (!ids->users || !ids->groups) {
        ids->missing = g_strdup_printf(
            "%s has no range for %s",
            ids->users ? "/etc/subgid" : "/etc/subuid", name);
        ids->remedy = g_strdup_printf("run as root: usermod --add-subuids "
                                      "100000-165535 --add-subgids "
                                      "100000-165535 %s (a range that no other "
                                      "user has)",
                                      name);
    }
}

void local_ids_find(struct local_ids *ret_ids)
{
    struct local_ids ids = { .count = LOCAL_IDS };
    guint64 users = 0, groups = 0;

    if (geteuid() != 0) {
        ids.newuidmap = host_program_find("newuidmap");
        ids.newgidmap = host_program_find("newgidmap");
        ids.users = find_ranges("/etc/subuid", &users);
        ids.groups = find_ranges("/etc/subgid", &groups);
        describe(&ids);
        ids.count = MIN(1 + users, (guint64)LOCAL_IDS);
    }
    if (ids.missing) {
        g_clear_pointer(&ids.users, g_free);
        g_clear_pointer(&ids.groups, g_free);
        ids.count = 1;
    }
    *ret_ids = ids;
}

void local_ids_clear(struct local_ids *ids)
{
    g_free(ids->users);
    g_free(ids->groups);
    g_free(ids->newuidmap);
    g_free(ids->newgidmap);
    g_free(ids->missing);
    g_free(ids->remedy);
    *ids = (struct local_ids){ 0 };
}

void local_ids_add_options(const struct local_ids *ids, GPtrArray *argv)
{
    if (!ids->users)
        return;
    g_ptr_array_add(argv, g_strconcat("--users=", ids->users, NULL));
    g_ptr_array_add(argv, g_strconcat("--groups=", ids->groups, NULL));
    g_ptr_array_add(argv, g_strconcat("--newuidmap=", ids->newuidmap, NULL));
    g_ptr_array_add(argv, g_strconcat("--newgidmap=", ids->newgidmap, NULL));
}

const char *local_ids_failure_remedy(void)
{
    return "it must be set-user-ID root, and /etc/subuid and /etc/subgid must "
           "name ranges of the user: run as root: apt-get install --reinstall "
           "uidmap; or remove the user's lines there, for a sandbox with one "
           "user";
}

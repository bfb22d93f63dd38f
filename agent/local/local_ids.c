/* SPDX-License-Identifier: Apache-2.0
 *
 * local_ids - see local_ids.h.
 */
#include "agent/local/local_ids.h"

#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "common/host_program.h"
#include "local/wire.h"

enum { MAX_FILE = 1 << 20 };

/* Append the range of a line "USER:START:COUNT" if it is the user's. Return its
 * length. */
static guint64 take_line(const char *line, const char *name, const char *number,
                         GString *ranges)
{
    g_auto(GStrv) parts = g_strsplit(line, ":", -1);
    guint64 start, count;

    if (g_strv_length(parts) != 3 ||
        (g_strcmp0(parts[0], name) != 0 && strcmp(parts[0], number) != 0) ||
        !g_ascii_string_to_unsigned(parts[1], 10, 1, G_MAXUINT32 - 1, &start,
                                    NULL) ||
        !g_ascii_string_to_unsigned(g_strchomp(parts[2]), 10, 1,
                                    G_MAXUINT32 - start, &count, NULL))
        return 0;
    g_string_append_printf(ranges, "%s%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT,
                           ranges->len ? "," : "", start, count);
    return count;
}

/* Return the user's ranges in this file, a new string, or NULL; add their
 * length to *count. */
static char *find_ranges(const char *path, guint64 *count)
{
    const struct passwd *user = getpwuid(geteuid());
    g_autofree char *number = g_strdup_printf("%u", (unsigned)geteuid());
    g_autofree char *text = NULL;
    g_autoptr(GString) ranges = g_string_new(NULL);
    g_auto(GStrv) lines = NULL;
    unsigned found = 0;
    gsize length;

    *count = 0;
    if (!g_file_get_contents(path, &text, &length, NULL) || length > MAX_FILE)
        return NULL;
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line && found < LOCAL_MAX_RANGES; line++) {
        guint64 taken = take_line(*line, user ? user->pw_name : NULL, number,
                                  ranges);

        found += taken > 0;
        *count += taken;
    }
    return ranges->len ? g_string_free(g_steal_pointer(&ranges), FALSE) : NULL;
}

/* Say what is missing, if anything. */
static void describe(struct local_ids *ids)
{
    const struct passwd *user = getpwuid(geteuid());
    const char *name = user ? user->pw_name : "USER";

    if (!ids->newuidmap || !ids->newgidmap) {
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * bus_rule - see bus_rule.h.
 */
#include "agent/machine/bus_rule.h"

#include <stdbool.h>
#include <string.h>

#define EXAMPLE                                                                \
    "such as org.freedesktop.Notifications=org.freedesktop."                   \
    "Notifications.Notify"
#define BUS "org.freedesktop.DBus"

enum { MAX_NAME = 255 }; /* of the D-Bus specification */

/* Part of a rule. */
struct part {
    const char *start;
    size_t length;
};

/* ---- parts --------------------------------------------------------------- */

static bool is_element(const char *text, const char *more)
{
    if (!*text || g_ascii_isdigit(*text))
        return false;
    for (; *text; text++) {
        if (!g_ascii_isalnum(*text) && !strchr(more, *text))
            return false;
    }
    return true;
}

/* Return whether it is at least so many elements with a dot between them. */
static bool is_dotted(const char *text, guint least, const char *more)
{
    g_auto(GStrv) elements = g_strsplit(text, ".", -1);

    for (char **element = elements; *element; element++) {
        if (!is_element(*element, more))
            return false;
    }
    return g_strv_length(elements) >= least && strlen(text) <= MAX_NAME;
}

/* Remove an end. Return whether it was there. */
static bool cut_end(char *text, const char *end)
{
    if (!g_str_has_suffix(text, end))
        return false;
    text[strlen(text) - strlen(end)] = '\0';
    return true;
}

/* Return whether it is "*", INTERFACE.* or INTERFACE.MEMBER. An interface has
 * two elements at least. */
static bool is_member(const char *text)
{
    g_autofree char *name = g_strdup(text);

    return strcmp(text, "*") == 0 ||
           (cut_end(name, ".*") ? is_dotted(name, 2, "_")
                                : is_dotted(name, 3, "_"));
}

static bool is_path(const char *text)
{
    g_autofree char *path = g_strdup(text);
    g_auto(GStrv) elements = NULL;

    if (*path != '/' || strcmp(path, "/") == 0)
        return *path == '/';
    if (cut_end(path, "/*") && !*path)
        return true;
    elements = g_strsplit(path + 1, "/", -1);
    for (char **element = elements; *element; element++) {
        if (!**element ||
            strspn(*element, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_") !=
                strlen(*element))
            return false;
    }
    return true;
}

/* ---- problems ------------------------------------------------------------ */

static char *problem_at(const char *rule, struct part part, const char *what)
{
    return g_strdup_printf("'%s': column %zu: '%.*s' %s", rule,
                           (size_t)(part.start - rule) + 1, (int)part.length,
                           part.start, what);
}

static const char *name_problem(const char *name)
{
    if (!is_dotted(name, 2, "_-"))
        return "is not the name of a service; use its whole name, " EXAMPLE;
    /* The proxy itself filters the calls to the bus. */
    if (strcmp(name, BUS) == 0)
        return "is the bus itself, which the sandbox can always ask; leave it "
               "out";
    return NULL;
}

static const char *member_problem(const char *member, const char *name)
{
    if (!is_member(member))
        return "is not INTERFACE.METHOD, INTERFACE.* or *; use one of "
               "them, " EXAMPLE;
    /* Valid, but then the interface lacks its last element. */
    if (strcmp(member, name) == 0)
        return "is an interface without a method; add one, or .* for all";
    return NULL;
}

static const char *path_problem(const char *path)
{
    return is_path(path) ? NULL
                         : "is not the path of an object; use one such as "
                           "/org/example/Thing, or /org/example/* for all "
                           "below it";
}

static struct part part_of(const char *start, const char *ends)
{
    return (struct part){ start, strcspn(start, ends) };
}

static char *grammar_problem(const char *rule)
{
    const struct part name = part_of(rule, "=");
    g_autofree char *name_text = g_strndup(name.start, name.length);
    const char *rest = name.start + name.length, *what;
    struct part member, path;
    g_autofree char *member_text = NULL;

    what = name_problem(name_text);
    if (what)
        return problem_at(rule, name, what);
    if (!*rest)
        return g_strdup_printf("'%s': names no method; use %s=INTERFACE.METHOD,"
                               " %s=INTERFACE.*, or %s=* for all that its "
                               "program offers, which can be much more than "
                               "the name says",
                               rule, rule, rule, rule);
    member = part_of(rest + 1, "@");
    member_text = g_strndup(member.start, member.length);
    what = member_problem(member_text, name_text);
    if (what)
        return problem_at(rule, member, what);
    rest = member.start + member.length;
    if (!*rest)
        return NULL;
    path = part_of(rest + 1, "");
    what = path_problem(path.start);
    return what ? problem_at(rule, path, what) : NULL;
}

char *bus_rule_problem(const char *rule)
{
    if (!g_utf8_validate(rule, -1, NULL))
        return g_strdup("a rule is not UTF-8; use one " EXAMPLE);
    if (!*rule)
        return g_strdup("a rule is empty; use one " EXAMPLE);
    if (strlen(rule) > BUS_RULE_MAX_BYTES)
        return g_strdup_printf("a rule is longer than %d bytes; shorten it",
                               BUS_RULE_MAX_BYTES);
    return grammar_problem(rule);
}

/* ---- warnings ------------------------------------------------------------ */

static bool is_or_below(const char *name, size_t length, const char *above)
{
    size_t n = strlen(above);

    return length >= n && memcmp(name, above, n) == 0 &&
           (length == n || name[n] == '.');
}

/* Services that a desktop has, each a way out of the sandbox by what it is made
 * for. Others can be one, too. */
static const struct {
    const char *name;
    const char *gives; /* to the sandbox */
} hazards[] = {
    { "ca.desrt.dconf", "changes settings, among them commands that keys run" },
    { "org.a11y", "reads and types in the windows of all programs" },
    { "org.freedesktop.Flatpak", "runs commands outside the sandbox" },
    { "org.freedesktop.impl.portal", "grants what portals ask the user for" },
    { "org.freedesktop.portal",
      "takes the sandbox for a program of the host: opens its files and "
      "starts its programs" },
    { "org.freedesktop.secrets", "hands out the passwords of the keyring" },
    { "org.freedesktop.systemd1", "runs commands outside the sandbox" },
    { "org.gnome.Shell", "runs scripts in the desktop" },
    { "org.gnome.Terminal", "runs commands outside the sandbox" },
    { "org.gnome.keyring", "hands out the passwords of the keyring" },
    { "org.gtk.vfs", "reads and writes files of the host" },
    { "org.kde", "runs scripts in the desktop, or hands out passwords" },
};

char *bus_rule_warning(const char *rule)
{
    const struct part name = part_of(rule, "=");
    const char *rest = name.start + name.length;

    for (size_t i = 0; i < G_N_ELEMENTS(hazards); i++) {
        if (is_or_below(name.start, name.length, hazards[i].name))
            return g_strdup_printf("session bus: %.*s %s; leave it out if the "
                                   "sandbox must hold what runs in it",
                                   (int)name.length, name.start,
                                   hazards[i].gives);
    }
    if (!g_str_has_prefix(rest, "=*"))
        return NULL;
    return g_strdup_printf("session bus: %s opens all that the program of this "
                           "name offers, under its other names, too; name the "
                           "interfaces that the sandbox needs",
                           rule);
}

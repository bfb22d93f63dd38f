/* SPDX-License-Identifier: Apache-2.0
 *
 * net-entry-test - internationalized names and presets in a network policy.
 */
#include <ftw.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/base/network_entry.h"

/* ---- names --------------------------------------------------------------- */

static void test_conversion(void)
{
    static const char *const entries[][2] = {
        { "b\xc3\xbc"
          "cher.example",
          "xn--bcher-kva.example" },
        { "raw:B\xc3\x9c"
          "CHER.example.:22",
          "raw:xn--bcher-kva.example:22" },
        { "deny:*.fa\xc3\x9f.de:25", "deny:*.xn--fa-hia.de:25" },
        { "*.\xe4\xbe\x8b\xe3\x81\x88.jp", "*.xn--r8jz45g.jp" },
        { "A_B.example", "a_b.example" },
        { "10.0.0.0/8", "10.0.0.0/8" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(entries); i++) {
        g_autofree struct network_policy *policy = g_new0(struct network_policy,
                                                          1);
        json_t *value;
        GError *error = NULL;

        policy->kind = NETWORK_ALLOW;
        network_entry_add(policy, entries[i][0], &error);
        g_assert_no_error(error);
        value = network_policy_to_json(policy);
        g_assert_cmpstr(json_string_value(
                            json_array_get(json_object_get(value, "allow"), 0)),
                        ==, entries[i][1]);
        json_decref(value);
    }
}

static void test_errors(void)
{
    static const char *const entries[][2] = {
        { "raw:\xff.example:22", "column 5: the name is not valid" },
        { "*.a\xe2\x80\x8e"
          "b.example",
          "column 3: the name is not valid" },
        { "b\xc3\xbc"
          "cher.example:x",
          "'b\xc3\xbc"
          "cher.example:x' in A-labels: the network policy's entry "
          "'xn--bcher-kva.example:x', column 23: the port" },
        { "b\xc3\xbc"
          "cher",
          "'xn--bcher-kva', column 1: a name needs" },
        { "8080", "'8080', column 1: a port belongs to" },
        { "Deny:a.example", "column 1: write deny: in lower case" },
        { "PRESET:npm", "write preset: in lower case" },
        { "rAw:a.example:22", "write raw: in lower case" },
        { "INTERCEPT:a.example", "write intercept: in lower case" },
        { "secret:a.example", "use the option --secret" },
        { "DNS", "write dns in lower case" },
        { "GET:npm", "a name needs at least two labels" },
        { "Open", "write open in lower case" },
        { "off", "for no network write none" },
        { "*", "for the open network write open" },
    };
    g_autofree struct network_policy *policy = g_new0(struct network_policy, 1);

    for (size_t i = 0; i < G_N_ELEMENTS(entries); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_false(network_entry_add(policy, entries[i][0], &error));
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, entries[i][1]));
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
    }
}

/* ---- presets ------------------------------------------------------------- */

struct place {
    char *root; /* has config/stepback/network and data/network */
};

static void write_preset(const struct place *place, const char *folder,
                         const char *name, const char *text)
{
    g_autofree char *dir = g_build_filename(place->root, folder, NULL);
    g_autofree char *path = g_build_filename(dir, name, NULL);
    GError *error = NULL;

    g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
    g_file_set_contents(path, text, -1, &error);
    g_assert_no_error(error);
}

static void put_own(const struct place *place, const char *name,
                    const char *text)
{
    write_preset(place, "config/stepback/network", name, text);
}

static void put_installed(const struct place *place, const char *name,
                          const char *text)
{
    write_preset(place, "data/network", name, text);
}

/* Return the entries that a preset adds, or the error: a new string. */
static char *expand(const char *entry)
{
    g_autofree struct network_policy *policy = g_new0(struct network_policy, 1);
    g_autoptr(GError) error = NULL;
    json_t *value, *list;
    GString *text;

    policy->kind = NETWORK_ALLOW;
    if (!network_entry_add(policy, entry, &error))
        return g_strdup(error->message);
    value = network_policy_to_json(policy);
    list = json_object_get(value, "allow");
    text = g_string_new(NULL);
    for (size_t i = 0; i < json_array_size(list); i++)
        g_string_append_printf(text, "%s ",
                               json_string_value(json_array_get(list, i)));
    json_decref(value);
    return g_string_free(text, FALSE);
}

static void expect(const char *entry, const char *wanted)
{
    g_autofree char *found = expand(entry);

    g_assert_cmpstr(found, ==, wanted);
}

static void expect_part(const char *entry, const char *part)
{
    g_autofree char *found = expand(entry);

    g_test_message("%s", found);
    g_assert_nonnull(strstr(found, part));
}

static void test_presets(gconstpointer data)
{
    const struct place *place = data;

    put_installed(place, "npm",
                  "# a comment\n\n  a.example  # why\r\nb.example");
    expect_part("Npm", "for the preset write preset:npm");
    expect("preset:npm", "a.example b.example ");
    put_own(place, "mine", "c.example\n10.0.0.0/8\npreset:npm\n");
    expect("preset:mine", "10.0.0.0/8 c.example a.example b.example ");
    put_installed(place, "cut", "x.example\n");
    put_own(place, "cut", "deny:y.example\n");
    expect("preset:cut", "deny:y.example ");
    put_own(place, "cut", "preset:cut\ny.example");
    expect("preset:cut", "x.example y.example ");
    put_own(place, "empty", "");
    expect("preset:empty", "");
}

static void test_preset_errors(gconstpointer data)
{
    const struct place *place = data;
    g_autofree char *path = g_build_filename(
        place->root, "config/stepback/network/open", NULL);

    put_own(place, "mine2", "a.example\n");
    put_installed(place, "pypi2", "a.example\n");
    expect_part("preset:none", "column 8: there is no such preset; use one");
    expect_part("preset:none", "mine2, ");
    expect_part("preset:none", "pypi2");
    expect_part("mine2", "column 1: a name needs at least two labels; for the "
                         "preset write preset:mine2");
    expect_part("pypi2", "write preset:pypi2");
    expect_part("none2", "column 1: a name needs");
    expect_part("preset:../npm", "column 8: a preset's name has");
    expect_part("preset:a.b", "column 9: a preset's name has");
    expect_part("preset:", "column 8: a preset's name has");
    put_own(place, "bad", "a.example\n\nlocalhost # x\n");
    expect_part("preset:bad", "/network/bad:3: the network policy's entry "
                              "'localhost', column 1: ");
    put_own(place, "loop", "preset:loop\n");
    expect_part("preset:loop", "/network/loop:1: the network policy's entry "
                               "'preset:loop', column 1: a preset can "
                               "include installed presets only");
    put_own(place, "lost", "preset:none\n");
    expect_part("preset:lost", "'preset:none', column 8: there is no");
    put_own(place, "up", "preset:../network/npm\n");
    expect_part("preset:up", "/network/up:1: the network policy's entry "
                             "'preset:../network/npm', column 8: a preset's");
    put_installed(place, "nested", "preset:nested\n");
    expect_part("preset:nested", "/network/nested:1: ");
    put_own(place, "open", "a.example\n");
    g_assert_cmpint(chmod(path, 0666), ==, 0);
    expect_part("preset:open", "other users can write it");
}

/* The variables must be set before GLib reads them. */
static void make_place(struct place *place)
{
    g_autofree char *config = NULL, *data = NULL;

    place->root = g_dir_make_tmp("net-entry-XXXXXX", NULL);
    g_assert_nonnull(place->root);
    config = g_build_filename(place->root, "config", NULL);
    data = g_build_filename(place->root, "data", NULL);
    g_setenv("XDG_CONFIG_HOME", config, TRUE);
    g_setenv("STEPBACK_DATADIR", data, TRUE);
}

static int remove_entry(const char *path, const struct stat *st, int type,
                        struct FTW *walk)
{
    return remove(path);
}

int main(int argc, char **argv)
{
    struct place place;
    int status;

    g_test_init(&argc, &argv, NULL);
    make_place(&place);
    g_test_add_func("/entry/names-are-converted", test_conversion);
    g_test_add_func("/entry/errors-show-both-forms", test_errors);
    g_test_add_data_func("/entry/presets-of-the-user-come-first", &place,
                         test_presets);
    g_test_add_data_func("/entry/errors-of-presets-have-file-and-line", &place,
                         test_preset_errors);
    status = g_test_run();
    nftw(place.root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    g_free(place.root);
    return status;
}

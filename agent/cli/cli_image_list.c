/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_image_list - "stepback image list": the user's guest images, and those of
 * all users that they do not hide.
 */
#include "agent/cli/cli_image_list.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <jansson.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_table.h"
#include "agent/machine/guest_image.h"
#include "common/json_bytes.h"
#include "common/json_strings.h"

static const char *const files[] = { "vmlinuz", "initrd", "rootfs.ext4" };

/* Return the bytes that an image's files occupy. */
static guint64 occupied(const char *dir)
{
    guint64 bytes = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_build_filename(dir, files[i], NULL);
        GStatBuf st;

        if (g_stat(path, &st) == 0)
            bytes += (guint64)st.st_blocks * 512;
    }
    return bytes;
}

/* Return the members of an image, new; NULL if this is none. */
static json_t *describe(enum guest_image_place place, const char *images,
                        const char *name)
{
    g_autofree char *dir = g_build_filename(images, name, NULL);
    g_autofree char *kernel = g_build_filename(dir, "vmlinuz", NULL);
    g_autofree char *valid = guest_image_dir(name, NULL, NULL);
    g_autoptr(GDateTime) time = NULL;
    g_autofree char *built = NULL;
    g_auto(GStrv) tools = NULL;
    bool is_hidden = place == IMAGE_PLACE_SYSTEM &&
                     guest_image_place_has(IMAGE_PLACE_USER, name);
    GStatBuf st;

    if (!valid || is_hidden || g_stat(kernel, &st) < 0)
        return NULL;
    time = g_date_time_new_from_unix_utc(st.st_mtime);
    built = g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ");
    tools = guest_image_tools(name);
    return json_pack("{s:s, s:o, s:b, s:s, s:I, s:o}", "name", name, "path",
                     json_bytes_path(dir), "system",
                     place == IMAGE_PLACE_SYSTEM, "built", built, "bytes",
                     (json_int_t)occupied(dir), "tools", json_strings(tools));
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return g_strcmp0(*(const char *const *)a, *(const char *const *)b);
}

/* Append the images of a place to the list, by name. */
static void list_place(enum guest_image_place place, json_t *list)
{
    g_autofree char *images = guest_image_place_path(place);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(images, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir)))
        g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, compare_names);
    for (guint i = 0; i < names->len; i++) {
        json_t *image = describe(place, images, names->pdata[i]);

        if (image)
            json_array_append_new(list, image);
    }
}

/* Return a new array of all images that can be used. */
static json_t *list_images(void)
{
    json_t *list = json_array();

    list_place(IMAGE_PLACE_USER, list);
    list_place(IMAGE_PLACE_SYSTEM, list);
    return list;
}

static char *join_tools(json_t *tools)
{
    GString *text = g_string_new(NULL);
    json_t *tool;
    size_t i;

    json_array_foreach(tools, i, tool)
    {
        g_string_append_printf(text, "%s%s", i ? " " : "",
                               json_string_value(tool));
    }
    return g_string_free(text, FALSE);
}

static void print_images(json_t *list, const struct cli_output *output)
{
    static const struct cli_table_column columns[] = {
        { "NAME", TABLE_END },   { "PLACE", TABLE_LEFT },
        { "BUILT", TABLE_LEFT }, { "SIZE", TABLE_RIGHT },
        { "TOOLS", TABLE_END },  { NULL },
    };
    g_autoptr(cli_table) table = cli_table_new(output, columns);
    json_t *image;
    size_t i;

    json_array_foreach(list, i, image)
    {
        cli_table_add(
            table, g_strdup(json_string_value(json_object_get(image, "name"))),
            g_strdup(json_is_true(json_object_get(image, "system")) ? "system"
                                                                    : "user"),
            cli_table_age(json_string_value(json_object_get(image, "built"))),
            g_format_size_full(
                (guint64)json_integer_value(json_object_get(image, "bytes")),
                G_FORMAT_SIZE_IEC_UNITS),
            join_tools(json_object_get(image, "tools")));
        cli_table_paint(table, 0, PAINT_ID);
    }
    cli_table_print(table);
}

int cli_image_list(int argc, char **argv)
{
    gboolean as_json = FALSE;
    g_auto(cli_output_options) options = { 0 };
    struct cli_output output;
    const GOptionEntry entries[] = {
        { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "print JSON", NULL },
        CLI_OUTPUT_COLOR(&options),
        { NULL },
    };
    json_t *list;

    if (!cli_options_parse("- list the guest images that have been built",
                           entries, false, &argc, &argv))
        return CLI_USAGE;
    if (argc > 1)
        return cli_options_surplus("image list", argv[1]);
    if (!cli_output_init(&output, "image list", &options))
        return CLI_USAGE;
    list = list_images();
    if (as_json)
        cli_place_print_json(list);
    else
        print_images(list, &output);
    json_decref(list);
    return CLI_OK;
}

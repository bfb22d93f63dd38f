/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_folder - "stepback folder": list, add and remove the shared folders of a
 * running sandbox.
 */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_lookup.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/cli_table.h"
#include "common/errors.h"
#include "common/json_bytes.h"

typedef struct request {
    gboolean json, read_only, force;
    char *label, *undo_dir;
} request_t;

static void request_clear(struct request *request)
{
    g_free(request->label);
    g_free(request->undo_dir);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(request_t, request_clear)

static int failed(GError *error)
{
    cli_options_failed("%s", error->message);
    g_error_free(error);
    return CLI_FAILED;
}

static const char *text_of(json_t *folder, const char *key)
{
    const char *text = json_string_value(json_object_get(folder, key));

    return text ? text : "?";
}

/* ---- the list ------------------------------------------------------------ */

static void print_folders(const struct cli_output *output, json_t *folders)
{
    static const struct cli_table_column columns[] = {
        { "LABEL", TABLE_LEFT },
        { "ACCESS", TABLE_LEFT },
        { "GUEST", TABLE_LEFT },
        { "HOST", TABLE_MIDDLE },
        { NULL },
    };
    g_autoptr(cli_table) table = cli_table_new(output, columns);
    json_t *folder;
    size_t i;

    json_array_foreach(folders, i, folder)
    {
        cli_table_add(table, g_strdup(text_of(folder, "label")),
                      g_strdup(text_of(folder, "access")),
                      g_strdup(text_of(folder, "guest_path")),
                      g_strdup(text_of(folder, "path")));
        cli_table_paint(table, 0, PAINT_ID);
    }
    cli_table_print(table);
}

static int list(const struct sandbox_record *record, bool json,
                const struct cli_output *output)
{
    GError *error = NULL;
    json_t *answer = cli_sandbox_ask(record, "session.status", NULL, &error);
    json_t *folders = json_object_get(answer, "working_directories");

    if (!answer)
        return failed(error);
    if (json)
        cli_place_print_json(folders);
    else
        print_folders(output, folders);
    json_decref(answer);
    return CLI_OK;
}

/* ---- add and remove ------------------------------------------------------ */

static void set_path(json_t *payload, const char *key, const char *path)
{
    g_autofree char *full = path ? g_canonicalize_filename(path, NULL) : NULL;

    if (full)
        json_object_set_new(payload, key, json_bytes_path(full));
}

/* Print the folder's path in the guest, which the sandbox has chosen. */
static int add(const struct sandbox_record *record, const char *path,
               const struct request *request)
{
    json_t *payload = json_pack("{s:s, s:s*}", "access",
                                request->read_only ? "read_only" : "read_write",
                                "label", request->label);
    GError *error = NULL;
    json_t *answer;

    if (!request->read_only && !request->undo_dir)
        cli_lookup_warn_of_outer(path);
    set_path(payload, "path", path);
    set_path(payload, "undo_dir", request->undo_dir);
    answer = cli_sandbox_ask(record, "folder.add", payload, &error);
    if (!answer)
        return failed(error);
    if (request->json)
        cli_place_print_json(answer);
    else
        printf("%s\n", text_of(answer, "guest_path"));
    json_decref(answer);
    return CLI_OK;
}

/* Return whether no shared folder has this label or path. */
static bool is_unknown(const struct sandbox_record *record, const char *folder)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = cli_sandbox_ask(
        record, "undo.history",
        json_pack("{s:s, s:i}", "directory", folder, "limit", 1), &error);

    json_decref(answer);
    return g_error_matches(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
}

static int remove_failed(const struct sandbox_record *record, const char *name,
                         const char *folder, GError *error)
{
    if (!g_error_matches(error, STEPBACK_ERROR, ERROR_INVALID_FIELD) ||
        !is_unknown(record, folder))
        return failed(error);
    g_error_free(error);
    return cli_options_failed("folder rm: '%s': no shared folder has this "
                              "label or path; '" CLI_PROGRAM
                              " folder' lists them",
                              name);
}

/* A folder has a label; a path may be relative. */
static int remove_one(const struct sandbox_record *record, const char *name,
                      const struct request *request)
{
    g_autofree char *path = strchr(name, '/')
                                ? g_canonicalize_filename(name, NULL)
                                : g_strdup(name);
    GError *error = NULL;
    json_t *answer = cli_sandbox_ask(
        record, "folder.remove",
        json_pack("{s:s, s:b}", "directory", path, "force", request->force),
        &error);

    if (!answer)
        return remove_failed(record, name, path, error);
    json_decref(answer);
    return CLI_OK;
}

/* ---- the arguments ------------------------------------------------------- */

static bool is_verb(const char *word)
{
    return word && (strcmp(word, "add") == 0 || strcmp(word, "rm") == 0);
}

static int change(const char *name, char **words, const struct request *request)
{
    g_autoptr(sandbox_record) record = NULL;
    bool adds = strcmp(words[0], "add") == 0;

    if (!words[1] || words[2])
        return cli_options_wrong("folder: give one folder: " CLI_PROGRAM
                                 " folder [NAME] %s",
                                 adds ? "add PATH" : "rm LABEL|PATH");
    record = cli_sandbox_find(name, CLI_SANDBOX_RUNNING);
    if (!record)
        return CLI_FAILED;
    return adds ? add(record, words[1], request)
                : remove_one(record, words[1], request);
}

int cli_folder(int argc, char **argv)
{
    g_auto(request_t) request = { 0 };
    g_auto(cli_output_options) options = { 0 };
    struct cli_output output;
    const GOptionEntry entries[] = {
        { "read-only", 0, 0, G_OPTION_ARG_NONE, &request.read_only,
          "add: the guest cannot change the folder", NULL },
        { "label", 0, 0, G_OPTION_ARG_STRING, &request.label,
          "add: the folder's name in reports (default: its last part)",
          "NAME" },
        { "undo-dir", 0, 0, G_OPTION_ARG_FILENAME, &request.undo_dir,
          "add: the folder's undo log", "DIR" },
        { "force", 0, 0, G_OPTION_ARG_NONE, &request.force,
          "rm: even if a process in the guest uses the folder", NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &request.json, "print JSON", NULL },
        CLI_OUTPUT_COLOR(&options),
        { NULL },
    };
    g_autoptr(sandbox_record) record = NULL;
    const char *name = NULL;
    char **words;

    if (!cli_options_parse("[NAME] [add PATH|rm FOLDER] - list, add or remove "
                           "shared folders",
                           entries, false, &argc, &argv))
        return CLI_USAGE;
    if (!cli_output_init(&output, "folder", &options))
        return CLI_USAGE;
    words = argv + 1;
    if (*words && !is_verb(*words))
        name = *words++;
    if (is_verb(*words))
        return change(name, words, &request);
    if (*words)
        return cli_options_wrong("folder: '%s' is neither add nor rm", *words);
    record = cli_sandbox_find(name, CLI_SANDBOX_RUNNING);
    return record ? list(record, request.json, &output) : CLI_FAILED;
}

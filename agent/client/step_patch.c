/* SPDX-License-Identifier: Apache-2.0
 *
 * step_patch - see step_patch.h.
 */
#include "agent/client/step_patch.h"

#include "agent/client/patch.h"

/* Append the wanted files. *ret_left: how many files do not fit. */
static gboolean append_files(GString *text, json_t *files,
                             const struct patch_request *request,
                             size_t *ret_left, GError **error)
{
    json_t *file;
    size_t i;

    *ret_left = 0;
    json_array_foreach(files, i, file)
    {
        gsize before = text->len;

        if (!patch_is_wanted(file, request->paths))
            continue;
        if (!patch_append(text, file, error))
            return FALSE;
        if (before > 0 && text->len > request->max) {
            g_string_truncate(text, before);
            *ret_left = json_array_size(files) - i;
            break;
        }
    }
    return TRUE;
}

struct step_patch *step_patch_make(json_t *diff,
                                   const struct patch_request *request,
                                   GError **error)
{
    struct step_patch *patch = g_new0(struct step_patch, 1);
    json_t *files = json_object_get(diff, "files");
    json_t *next = json_object_get(diff, "next");
    size_t left;

    patch->step_id = request->step;
    patch->text = g_string_new(NULL);
    if (!append_files(patch->text, files, request, &left, error)) {
        step_patch_free(patch);
        return NULL;
    }
    patch->next = json_is_integer(next) ? json_integer_value(next) : -1;
    if (left > 0)
        patch->next = request->first + (gint64)(json_array_size(files) - left);
    patch->cut = json_integer_value(json_object_get(diff, "cut"));
    patch->unprotected = json_is_true(json_object_get(diff, "unprotected"));
    return patch;
}

void step_patch_free(struct step_patch *patch)
{
    if (!patch)
        return;
    g_string_free(patch->text, TRUE);
    g_free(patch);
}

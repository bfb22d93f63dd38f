/* SPDX-License-Identifier: Apache-2.0
 *
 * audit_writer - see audit_writer.h.
 */
#include "agent/sandbox/audit_writer.h"

#include <stdbool.h>

struct audit_writer {
    enum audit_part part;
    char *sandbox;
    struct session *session;
    struct audit_file *file; /* NULL: it cannot be opened */
    guint64 missing;         /* records since the last that was written */
    bool fails;              /* that was reported */
    guint warning;           /* a source, or 0 */
    char *problem;           /* for the warning */
};

struct audit_writer *audit_writer_new(enum audit_part part, const char *sandbox,
                                      struct session *session)
{
    struct audit_writer *writer = g_new0(struct audit_writer, 1);

    writer->part = part;
    writer->sandbox = g_strdup(sandbox);
    writer->session = session;
    return writer;
}

void audit_writer_free(struct audit_writer *writer)
{
    if (!writer)
        return;
    g_clear_handle_id(&writer->warning, g_source_remove);
    audit_file_close(writer->file);
    g_free(writer->problem);
    g_free(writer->sandbox);
    g_free(writer);
}

/* From the main loop, not from within an event. */
static gboolean warn(gpointer data)
{
    struct audit_writer *writer = data;
    g_autofree char *text = g_strdup_printf(
        "the audit record is incomplete: %s; make room or mend the folder, "
        "and it continues",
        writer->problem);

    writer->warning = 0;
    session_warn_text(writer->session, AUDIT_INCOMPLETE, text);
    return G_SOURCE_REMOVE;
}

static bool append(struct audit_writer *writer, const char *type,
                   json_t *members)
{
    g_autoptr(GError) error = NULL;

    if (!writer->file)
        writer->file = audit_file_open(writer->part, writer->sandbox, &error);
    if (writer->file &&
        audit_file_append(writer->file, type, json_incref(members), &error)) {
        json_decref(members);
        return true;
    }
    json_decref(members);
    if (!writer->fails) {
        g_free(writer->problem);
        writer->problem = g_strdup(error->message);
        if (!writer->warning)
            writer->warning = g_idle_add(warn, writer);
    }
    return false;
}

void audit_writer_add(struct audit_writer *writer, const char *type,
                      json_t *members)
{
    if (writer->missing > 0)
        json_object_set_new(members, "missing_before",
                            json_integer((json_int_t)writer->missing));
    writer->fails = !append(writer, type, members);
    writer->missing = writer->fails ? writer->missing + 1 : 0;
}

void audit_writer_skip(struct audit_writer *writer, guint64 count)
{
    writer->missing += count;
}

void audit_writer_end(struct audit_writer *writer, const char *type)
{
    if (writer->missing > 0)
        audit_writer_add(writer, type, json_object());
}

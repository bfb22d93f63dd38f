/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_session_ops - see mcp_session_ops.h.
 */
#include "agent/mcp/mcp_session_ops.h"

#include "agent/mcp/mcp_session_core.h"

#include "agent/session/session.h"

G_STATIC_ASSERT((int)MCP_HOST_WRITE_MAX == (int)SESSION_WRITE_MAX);

static void run_write(struct operation *operation)
{
    session_write_file(operation->host->session, operation->directory,
                       g_steal_pointer(&operation->write), mcp_operation_answer,
                       operation);
}

void mcp_session_write_file(void *opaque, struct folder_ref directory,
                            struct file_write *write, reply_done done,
                            void *done_opaque)
{
    struct operation *operation = mcp_operation_new(
        opaque, run_write, directory, done, done_opaque);

    operation->write = write;
    mcp_session_carry_out(operation);
}

static void run_history(struct operation *operation)
{
    session_history(operation->host->session, operation->directory,
                    operation->count, mcp_operation_answer, operation);
}

void mcp_session_history(void *opaque, struct folder_ref directory,
                         unsigned limit, reply_done done, void *done_opaque)
{
    struct operation *operation = mcp_operation_new(
        opaque, run_history, directory, done, done_opaque);

    operation->count = limit;
    mcp_session_carry_out(operation);
}

static void run_rollback(struct operation *operation)
{
    session_rollback(operation->host->session, operation->directory,
                     &operation->extent, mcp_operation_answer, operation);
}

void mcp_session_rollback(void *opaque, struct folder_ref directory,
                          const struct undo_extent *extent, reply_done done,
                          void *done_opaque)
{
    struct operation *operation = mcp_operation_new(
        opaque, run_rollback, directory, done, done_opaque);

    operation->extent = *extent;
    mcp_session_carry_out(operation);
}

static gpointer copy_path(gconstpointer path, gpointer data)
{
    return g_strdup(path);
}

static void run_restore(struct operation *operation)
{
    session_restore(operation->host->session, operation->directory,
                    &operation->extent, operation->paths, false,
                    mcp_operation_answer, operation);
}

void mcp_session_restore(void *opaque, struct folder_ref directory,
                         const struct undo_extent *extent,
                         const GPtrArray *paths, reply_done done,
                         void *done_opaque)
{
    struct operation *operation = mcp_operation_new(
        opaque, run_restore, directory, done, done_opaque);

    operation->extent = *extent;
    operation->paths = g_ptr_array_copy((GPtrArray *)paths, copy_path, NULL);
    mcp_session_carry_out(operation);
}

static void run_redo(struct operation *operation)
{
    session_redo(operation->host->session, operation->directory,
                 &operation->extent, mcp_operation_answer, operation);
}

void mcp_session_redo(void *opaque, struct folder_ref directory,
                      const struct undo_extent *extent, reply_done done,
                      void *done_opaque)
{
    struct operation *operation = mcp_operation_new(opaque, run_redo, directory,
                                                    done, done_opaque);

    operation->extent = *extent;
    mcp_session_carry_out(operation);
}

static void run_diff(struct operation *operation)
{
    session_patch(operation->host->session, operation->directory,
                  &operation->patch, mcp_operation_answer, operation);
}

void mcp_session_diff(void *opaque, struct folder_ref directory,
                      const struct patch_request *request, reply_done done,
                      void *done_opaque)
{
    struct operation *operation = mcp_operation_new(opaque, run_diff, directory,
                                                    done, done_opaque);

    operation->patch = *request;
    operation->patch_paths = g_strdupv((char **)request->paths);
    operation->patch.paths = operation->patch_paths;
    mcp_session_carry_out(operation);
}

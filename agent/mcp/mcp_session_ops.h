/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_session_ops - members of struct mcp_host that only pass on a request to
 * the session; opaque is a struct mcp_session.
 */
#ifndef AGENT_MCP_MCP_SESSION_OPS_H
#define AGENT_MCP_MCP_SESSION_OPS_H

#include "agent/mcp/mcp_host.h"

void mcp_session_write_file(void *opaque, struct folder_ref directory,
                            struct file_write *write, reply_done done,
                            void *done_opaque);
void mcp_session_history(void *opaque, struct folder_ref directory,
                         unsigned limit, reply_done done, void *done_opaque);
void mcp_session_rollback(void *opaque, struct folder_ref directory,
                          const struct undo_extent *extent, reply_done done,
                          void *done_opaque);
void mcp_session_restore(void *opaque, struct folder_ref directory,
                         const struct undo_extent *extent,
                         const GPtrArray *paths, reply_done done,
                         void *done_opaque);
void mcp_session_redo(void *opaque, struct folder_ref directory,
                      const struct undo_extent *extent, reply_done done,
                      void *done_opaque);
void mcp_session_diff(void *opaque, struct folder_ref directory,
                      const struct patch_request *request, reply_done done,
                      void *done_opaque);

#endif

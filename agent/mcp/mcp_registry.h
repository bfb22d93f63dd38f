/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_registry - state shared by all clients of an MCP server: the methods, and
 * parked calls.
 *
 * The token of a parked call is random, so that no other client can guess it.
 */
#ifndef AGENT_MCP_MCP_REGISTRY_H
#define AGENT_MCP_MCP_REGISTRY_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/mcp/mcp_version.h"

struct mcp_call;

/* The eras in which a method exists. */
enum mcp_eras { MCP_LEGACY = 1, MCP_STATELESS = 2, MCP_BOTH = 3 };

struct mcp_method {
    const char *name; /* NULL: end of the table */
    enum mcp_eras eras;
    void (*handle)(struct mcp_call *call);
};

struct mcp_service {
    const char *name, *title, *version, *description;
    /* Return what a model should know beforehand: a new string. NULL: nothing.
     */
    char *(*instructions)(void *opaque);
    /* Return the capabilities of the service: a new object, without
     * "logging". */
    json_t *(*capabilities)(enum mcp_version version);
    const struct mcp_method *methods;
};

enum { MCP_REGISTRY_MAX_PARKED = 32 };

struct mcp_registry {
    const struct mcp_service *service; /* borrowed */
    void *opaque;
    const struct mcp_method *base; /* the protocol's own methods */
    GHashTable *parked;            /* token -> struct mcp_call, not owned */
    unsigned linger_s; /* time to answer the requests of a client that closed
                          its input */
};

void mcp_registry_init(struct mcp_registry *registry,
                       const struct mcp_service *service,
                       const struct mcp_method *base, void *opaque);
void mcp_registry_clear(struct mcp_registry *registry);

/* Return name and version; a new object. */
json_t *mcp_registry_describe(const struct mcp_registry *registry,
                              enum mcp_version version);

/* Return NULL if the method does not exist in that era. */
const struct mcp_method *
mcp_registry_find_method(const struct mcp_registry *registry, const char *name,
                         bool modern);

/* Methods that identify a client's era. */
bool mcp_registry_is_modern_only(const struct mcp_registry *registry,
                                 const char *method);
bool mcp_registry_is_opening(const char *method);

/* Park a call until it is repeated. Return its token, a new string; NULL: too
 * many. */
char *mcp_registry_park(struct mcp_registry *registry, struct mcp_call *call);
void mcp_registry_unpark(struct mcp_registry *registry, const char *token);
/* token may be NULL. */
struct mcp_call *mcp_registry_find_parked(const struct mcp_registry *registry,
                                          const char *token);

#endif

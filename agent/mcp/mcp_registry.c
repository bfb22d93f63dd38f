/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_registry - see mcp_registry.h.
 */
#include "agent/mcp/mcp_registry.h"

#include <string.h>
#include <sys/random.h>

enum { TOKEN_BYTES = 18 };

void mcp_registry_init(struct mcp_registry *registry,
                       const struct mcp_service *service,
                       const struct mcp_method *base, void *opaque)
{
    *registry = (struct mcp_registry){
        .service = service,
        .opaque = opaque,
        .base = base,
        .parked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
    };
}

void mcp_registry_clear(struct mcp_registry *registry)
{
    g_hash_table_unref(registry->parked);
}

char *mcp_registry_park(struct mcp_registry *registry, struct mcp_call *call)
{
    guint8 bytes[TOKEN_BYTES];
    char *token;

    if (g_hash_table_size(registry->parked) >= MCP_REGISTRY_MAX_PARKED ||
        getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return NULL;
    token = g_base64_encode(bytes, sizeof(bytes));
    g_hash_table_insert(registry->parked, g_strdup(token), call);
    return token;
}

void mcp_registry_unpark(struct mcp_registry *registry, const char *token)
{
    g_hash_table_remove(registry->parked, token);
}

struct mcp_call *mcp_registry_find_parked(const struct mcp_registry *registry,
                                          const char *token)
{
    return token ? g_hash_table_lookup(registry->parked, token) : NULL;
}

static const struct mcp_method *find(const struct mcp_method *methods,
                                     const char *name, bool modern)
{
    for (; methods->name; methods++) {
        if (strcmp(methods->name, name) == 0 &&
            methods->eras & (modern ? MCP_STATELESS : MCP_LEGACY))
            return methods;
    }
    return NULL;
}

const struct mcp_method *
mcp_registry_find_method(const struct mcp_registry *registry, const char *name,
                         bool modern)
{
    const struct mcp_method *method = find(registry->base, name, modern);

    return method ? method : find(registry->service->methods, name, modern);
}

bool mcp_registry_is_modern_only(const struct mcp_registry *registry,
                                 const char *method)
{
    return find(registry->base, method, true) &&
           !find(registry->base, method, false);
}

bool mcp_registry_is_opening(const char *method)
{
    return strcmp(method, "initialize") == 0 || strcmp(method, "ping") == 0;
}

json_t *mcp_registry_describe(const struct mcp_registry *registry,
                              enum mcp_version version)
{
    const struct mcp_service *service = registry->service;
    json_t *info = json_pack("{s:s, s:s}", "name", service->name, "version",
                             service->version);

    if (version >= MCP_2025_06_18 && service->title)
        json_object_set_new(info, "title", json_string(service->title));
    if (version >= MCP_2025_11_25 && service->description)
        json_object_set_new(info, "description",
                            json_string(service->description));
    return info;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_base - the protocol's own methods; see mcp_server.h.
 *
 * "initialize" belongs to the earlier era, "server/discover" to the later one;
 * both return the same information.
 */
#include "agent/mcp/mcp_connection.h"
#include "agent/mcp/mcp_subscriptions.h"

#include "agent/mcp/mcp_base.h"
#include "agent/mcp/mcp_registry.h"
#include "common/log.h"

/* The instructions name the network policy, which can change. */
enum { DISCOVER_TTL_MS = 60 * 1000 };

static const struct mcp_service *service_of(const struct mcp_call *call)
{
    return mcp_call_registry(call)->service;
}

static json_t *describe(const struct mcp_call *call, enum mcp_version version)
{
    const struct mcp_service *service = service_of(call);
    g_autofree char *instructions = service->instructions
                                        ? service->instructions(
                                              mcp_call_registry(call)->opaque)
                                        : NULL;
    json_t *capabilities = service->capabilities(version);
    json_t *result = json_pack("{s:o}", "capabilities", capabilities);

    json_object_set_new(capabilities, "logging", json_object());
    if (instructions)
        json_object_set_new(result, "instructions", json_string(instructions));
    return result;
}

/* Log the client's name. */
static void note_client(json_t *info, enum mcp_version version)
{
    const char *name = json_string_value(json_object_get(info, "name"));

    log_info(LOG_MCP, "a client speaks %s: %.100s", mcp_version_name(version),
             name ? name : "(no name)");
}

static void handle_initialize(struct mcp_call *call)
{
    json_t *params = mcp_call_params(call);
    const char *name = json_string_value(
        json_object_get(params, "protocolVersion"));
    json_t *capabilities = json_object_get(params, "capabilities");
    enum mcp_version version = MCP_LATEST_LEGACY;
    json_t *result;

    if (!name || !json_is_object(capabilities)) {
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS, NULL,
                      "'initialize' needs a string 'protocolVersion' and an "
                      "object 'capabilities'");
        return;
    }
    /* For an unknown version, or one of the later era, offer the latest version
     * of this era. */
    if (!mcp_version_parse(name, &version) || version >= MCP_MODERN)
        version = MCP_LATEST_LEGACY;
    note_client(json_object_get(params, "clientInfo"), version);
    mcp_connection_initialize(mcp_call_connection(call), version, capabilities);
    result = describe(call, version);
    json_object_set_new(result, "protocolVersion",
                        json_string(mcp_version_name(version)));
    json_object_set_new(
        result, "serverInfo",
        mcp_registry_describe(mcp_call_registry(call), version));
    mcp_call_finish(call, result);
}

static void handle_discover(struct mcp_call *call)
{
    json_t *result = describe(call, mcp_call_version(call));

    json_object_set_new(result, "supportedVersions", mcp_version_list());
    mcp_call_finish_cached(call, result, DISCOVER_TTL_MS);
}

static void handle_ping(struct mcp_call *call)
{
    mcp_call_finish(call, json_object());
}

static void handle_set_level(struct mcp_call *call)
{
    const char *name = json_string_value(
        json_object_get(mcp_call_params(call), "level"));
    int level = name ? mcp_log_level_parse(name) : -1;

    if (level < 0) {
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS, NULL,
                      "'level' must be debug, info, notice, warning, error, "
                      "critical, alert or emergency");
        return;
    }
    mcp_connection_set_log_level(mcp_call_connection(call), level);
    mcp_call_finish(call, json_object());
}

static struct mcp_subscriptions *subscriptions_of(struct mcp_call *call)
{
    return mcp_connection_subscriptions(mcp_call_connection(call));
}

static const char *get_uri(struct mcp_call *call)
{
    const char *uri = json_string_value(
        json_object_get(mcp_call_params(call), "uri"));

    if (!uri)
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS, NULL,
                      "'uri' must be a string");
    return uri;
}

static void handle_subscribe(struct mcp_call *call)
{
    const char *uri = get_uri(call);

    if (!uri)
        return;
    if (mcp_subscriptions_add(subscriptions_of(call), uri))
        mcp_call_finish(call, json_object());
    else
        mcp_call_fail(
            call, MCP_RPC_INVALID_PARAMS, NULL,
            "'uri' is too long, or the client already has %d subscriptions",
            MCP_SUBSCRIPTIONS_MAX);
}

static void handle_unsubscribe(struct mcp_call *call)
{
    const char *uri = get_uri(call);

    if (!uri)
        return;
    mcp_subscriptions_remove(subscriptions_of(call), uri);
    mcp_call_finish(call, json_object());
}

static void handle_listen(struct mcp_call *call)
{
    mcp_subscriptions_listen(subscriptions_of(call), call);
}

const struct mcp_method mcp_base_methods[] = {
    { "initialize", MCP_LEGACY, handle_initialize },
    { "ping", MCP_LEGACY, handle_ping },
    { "logging/setLevel", MCP_LEGACY, handle_set_level },
    { "resources/subscribe", MCP_LEGACY, handle_subscribe },
    { "resources/unsubscribe", MCP_LEGACY, handle_unsubscribe },
    { "server/discover", MCP_STATELESS, handle_discover },
    { "subscriptions/listen", MCP_STATELESS, handle_listen },
    { NULL, 0, NULL },
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * stdio_call - see stdio_call.h.
 */
#include "agent/stdio/stdio_call.h"

#include "agent/wire/answer_json.h"

void stdio_call_on_answer(const struct answer *answer, const GError *error,
                          void *opaque)
{
    struct stdio_call *call = opaque;
    json_t *said = answer_to_json(answer);

    if (!error && call->describe)
        said = call->describe(call->session);
    call->done(error ? NULL : said, error, error ? said : NULL, call->opaque);
    json_decref(said);
    g_free(call);
}

void *stdio_call_keep(const struct stdio_call *call)
{
    return g_memdup2(call, sizeof(*call));
}

void *stdio_call_keep_with(const struct stdio_call *call,
                           json_t *(*describe)(struct session *session))
{
    struct stdio_call *kept = stdio_call_keep(call);

    kept->describe = describe;
    return kept;
}

void stdio_call_answer(const struct stdio_call *call, json_t *payload)
{
    call->done(payload, NULL, NULL, call->opaque);
    json_decref(payload);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * quiet_guest - see quiet_guest.h.
 */
#include "agent/vm/quiet_guest.h"

static void ignore_result(const char *tag, const char *error, void *opaque)
{
}

static void ignore_reason(const char *reason, void *opaque)
{
}

static void ignore_output(const struct command_output *output, void *opaque)
{
}

static void ignore_end(gint64 id, const struct command_end *end, void *opaque)
{
}

static void ignore_input(gint64 id, size_t bytes, void *opaque)
{
}

static void ignore_refusal(gint64 id, const char *message, void *opaque)
{
}

static void ignore_port(const struct guest_port_news *news, void *opaque)
{
}

static void ignore_step(const struct guest_step_request *request, void *opaque)
{
}

static void ignore_processes(const struct guest_processes *processes,
                             void *opaque)
{
}

static void ignore_refresh(const char *tag, gint64 id, const char *error,
                           void *opaque)
{
}

static void ignore_end_of(void *opaque)
{
}

struct guest_channel_callbacks quiet_guest_callbacks(
    void (*hello)(const struct guest_hello *hello, void *opaque))
{
    return (struct guest_channel_callbacks){
        .hello = hello,
        .mounted = ignore_result,
        .left = ignore_result,
        .unmounted = ignore_result,
        .set_up = ignore_reason,
        .renewed = ignore_reason,
        .refreshed = ignore_refresh,
        .output = ignore_output,
        .completed = ignore_end,
        .input_taken = ignore_input,
        .refused = ignore_refusal,
        .port = ignore_port,
        .step_request = ignore_step,
        .processes = ignore_processes,
        .bulk_ended = ignore_end_of,
        .closed = ignore_end_of,
    };
}

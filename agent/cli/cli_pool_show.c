/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_pool_show - see cli_pool_show.h.
 */
#include "agent/cli/cli_pool_show.h"

#include <stdio.h>

#include "agent/cli/cli_options.h"
#include "agent/vm/pool_client.h"

static json_int_t number(json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static char *size_of(json_t *object)
{
    return g_format_size_full((guint64)number(object, "memory_bytes"),
                              G_FORMAT_SIZE_IEC_UNITS);
}

bool cli_pool_summarize(struct cli_pool_summary *ret_summary)
{
    json_t *status = pool_client_status(NULL);

    if (!status)
        return false;
    *ret_summary = (struct cli_pool_summary){
        .size = (unsigned)number(status, "size"),
        .waiting = (unsigned)number(status, "waiting"),
        /* Each machine has QEMU and its holder. */
        .processes = 1 + 2 * (unsigned)number(status, "waiting"),
        .memory_bytes = (guint64)number(status, "memory_bytes"),
    };
    json_decref(status);
    return true;
}

static void print_text(json_t *status, const char *key)
{
    const char *text = json_string_value(json_object_get(status, key));
    g_autofree char *safe = text ? cli_options_printable(text) : NULL;

    if (safe)
        printf("%s\n", safe);
}

void cli_pool_print(json_t *status)
{
    g_autofree char *memory = size_of(status);
    json_t *machine;
    size_t i;

    printf("%d of %d machines wait, %s\n", (int)number(status, "waiting"),
           (int)number(status, "size"), memory);
    json_array_foreach(json_object_get(status, "machines"), i, machine)
    {
        g_autofree char *own = size_of(machine);

        printf("  QEMU %d: %s, for %d s\n", (int)number(machine, "qemu_pid"),
               own, (int)number(machine, "age_seconds"));
    }
    printf("%" JSON_INTEGER_FORMAT " taken, %" JSON_INTEGER_FORMAT
           " discarded\n",
           number(status, "taken"), number(status, "discarded"));
    print_text(status, "waits_for");
    print_text(status, "problem");
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * backend_kind - see backend_kind.h.
 */
#include "agent/machine/backend_kind.h"

#include <glib.h>
#include <string.h>

static const struct {
    const char *name, *program;
} kinds[] = {
    [BACKEND_VIRTIOFS] = { "virtiofs", "stepback-virtiofsd" },
    [BACKEND_9P] = { "9p", "stepback-9pd" },
};

bool backend_kind_parse(const char *name, enum backend_kind *ret_kind)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            *ret_kind = (enum backend_kind)i;
            return true;
        }
    }
    return false;
}

const char *backend_kind_name(enum backend_kind kind)
{
    return kinds[kind].name;
}

const char *backend_kind_program(enum backend_kind kind)
{
    return kinds[kind].program;
}

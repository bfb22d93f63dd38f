/* SPDX-License-Identifier: Apache-2.0
 *
 * isolation - see isolation.h: the one place that knows all kinds.
 */
#include "agent/isolation/isolation.h"

#include "agent/local/local_machine.h"
#include "agent/vm/vm_machine.h"

const struct machine_kind *
isolation_machine_kind(const struct session_config *config)
{
    static const struct machine_kind *const kinds[] = {
        [ISOLATION_VM] = &vm_machine_kind,
        [ISOLATION_LOCAL] = &local_machine_kind,
    };

    return kinds[config->isolation];
}

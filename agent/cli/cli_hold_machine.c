/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_hold_machine - the process that holds a machine of the pool;
 * agent/vm/pool_holder.h has its arguments.
 */
#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/vm/pool_holder.h"

int cli_hold_machine(int argc, char **argv)
{
    struct guest_image image;
    struct vm_config config;
    int link;

    if (!pool_holder_parse(argc, argv, &image, &config, &link))
        return cli_options_wrong(POOL_HOLDER_VERB
                                 ": only the pool of machines uses it");
    pool_holder_run(link, &config);
    return CLI_OK;
}

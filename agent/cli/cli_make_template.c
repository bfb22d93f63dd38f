/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_make_template - the background process that makes a machine's template;
 * agent/vm/template_maker.h has its arguments.
 */
#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/vm/template_maker.h"

int cli_make_template(int argc, char **argv)
{
    struct guest_image image;
    struct vm_config config;
    g_autoptr(GError) error = NULL;

    if (!template_maker_parse(argc, argv, &image, &config))
        return cli_options_wrong(TEMPLATE_MAKER_VERB
                                 ": only the supervisor uses it");
    /* The user's session may end first, and with it that folder. */
    g_unsetenv("XDG_RUNTIME_DIR");
    if (template_maker_run(&config, &error))
        return CLI_OK;
    return cli_options_failed("%s", error->message);
}

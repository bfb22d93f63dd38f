/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_image - the image builder, for other verbs.
 */
#ifndef AGENT_CLI_CLI_IMAGE_H
#define AGENT_CLI_CLI_IMAGE_H

#include <stdbool.h>

/* Return whether images of all flavours can be built on this host. If not, set
 * *ret_problem, which names all that is missing, and *ret_remedy (may be NULL):
 * new strings. */
bool cli_image_can_build(char **ret_problem, char **ret_remedy);

#endif

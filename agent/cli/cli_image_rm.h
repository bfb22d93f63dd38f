/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_image_rm - the verb "image rm".
 */
#ifndef AGENT_CLI_CLI_IMAGE_RM_H
#define AGENT_CLI_CLI_IMAGE_RM_H

/* argv[0] is "image rm". Return the exit status. */
int cli_image_rm(int argc, char **argv);

#endif

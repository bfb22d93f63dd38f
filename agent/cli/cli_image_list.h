/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_image_list - the verb "image list".
 */
#ifndef AGENT_CLI_CLI_IMAGE_LIST_H
#define AGENT_CLI_CLI_IMAGE_LIST_H

/* argv[0] is "image list". Return the exit status. */
int cli_image_list(int argc, char **argv);

#endif

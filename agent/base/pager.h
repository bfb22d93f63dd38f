/* SPDX-License-Identifier: Apache-2.0
 *
 * pager - find the program that shows long output on a terminal.
 *
 * $STEPBACK_PAGER, or else $PAGER, names the program and its arguments; no
 * shell reads them. The program must lie in a directory of host_program.h, as a
 * folder that a guest writes to may be on the user's PATH. less(1) is the
 * default.
 */
#ifndef AGENT_BASE_PAGER_H
#define AGENT_BASE_PAGER_H

/* Return the pager's arguments, with the absolute path of its program first: a
 * new vector; or NULL for no pager: the variable is empty or names cat(1), or
 * less is not installed. *ret_problem: why a variable is ignored, a new string,
 * or NULL. */
char **pager_find(char **ret_problem);

#endif

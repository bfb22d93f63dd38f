/* SPDX-License-Identifier: Apache-2.0
 *
 * template_thin_tests - the empty pages of a saved state.
 */
#ifndef TESTS_AGENT_TEMPLATE_THIN_TESTS_H
#define TESTS_AGENT_TEMPLATE_THIN_TESTS_H

void add_template_thin_tests(void);

#endif

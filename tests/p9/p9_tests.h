/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_tests - the tests that each file adds to its program.
 */
#ifndef TESTS_P9_TESTS_H
#define TESTS_P9_TESTS_H

void add_p9_case_index_tests(void);
void add_p9_file_tests(void);
void add_p9_hostile_tests(void);
void add_p9_limits_tests(void);
void add_p9_lock_tests(void);
void add_p9_overlay_collect_tests(void);
void add_p9_overlay_random_tests(void);
void add_p9_overlay_store_tests(void);
void add_p9_parked_tests(void);
void add_p9_windows_tests(void);
void add_p9_wire_tests(void);

#endif

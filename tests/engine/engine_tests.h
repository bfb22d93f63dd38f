/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_tests - the tests that each file adds to its program.
 */
#ifndef TESTS_ENGINE_TESTS_H
#define TESTS_ENGINE_TESTS_H

void add_alias_tests(void);
void add_control_end_tests(void);
void add_engine_broken_log_tests(void);
void add_full_disk_restore_tests(void);
void add_parking_tests(void);
void add_write_parents_tests(void);
void add_writers_tests(void);

#endif

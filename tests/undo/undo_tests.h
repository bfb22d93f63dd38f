/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_tests - the tests that each file adds to its program.
 */
#ifndef TESTS_UNDO_TESTS_H
#define TESTS_UNDO_TESTS_H

void add_forced_undo_links_tests(void);
void add_foreign_work_tests(void);
void add_other_folder_tests(void);
void add_overlap_tests(void);
void add_redo_preview_tests(void);
void add_restore_paths_refused_tests(void);

#endif

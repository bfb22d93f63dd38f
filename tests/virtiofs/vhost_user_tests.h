/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user_tests - the tests that each file adds to its program.
 */
#ifndef TESTS_VHOST_USER_TESTS_H
#define TESTS_VHOST_USER_TESTS_H

void add_vhost_user_attr_tests(void);
void add_vhost_user_dir_tests(void);
void add_vhost_user_hostile_tests(void);
void add_vhost_user_lock_tests(void);
void add_vhost_user_names_tests(void);
void add_vhost_user_node_tests(void);
void add_vhost_user_ring_tests(void);
void add_vhost_user_scarce_tests(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_state - the parts of a restore that set content and metadata. All
 * names are back when they run, so every inode is at the home it had.
 */
#ifndef INTERCEPTOR_RESTORE_STATE_H
#define INTERCEPTOR_RESTORE_STATE_H

#include "interceptor/restore_names.h"

int restore_content(struct restore *r);
int restore_metadata(struct restore *r);

#endif

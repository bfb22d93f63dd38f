/* SPDX-License-Identifier: Apache-2.0
 *
 * handover - tells ThreadSanitizer about the ordering of GLib's queues.
 *
 * A GThreadPool or a GMainContext hands a pointer to another thread: everything
 * before the push happens before everything after the pop. ThreadSanitizer
 * cannot see this ordering, since GLib is not instrumented, and reports a race.
 * So the giver calls handover_give() right before the push, and the receiver
 * calls handover_take() first, with the pointer that is handed over. In other
 * builds both are no-ops.
 */
#ifndef COMMON_HANDOVER_H
#define COMMON_HANDOVER_H

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define handover_give(pointer) __tsan_release(pointer)
#define handover_take(pointer) __tsan_acquire(pointer)
#else
#define handover_give(pointer) ((void)0)
#define handover_take(pointer) ((void)0)
#endif

#endif

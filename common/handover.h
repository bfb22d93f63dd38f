/* SPDX-License-Identifier: Apache-2.0
 *
 * handover - tell ThreadSanitizer what GLib's queues order.
 *
 * What is given to another thread by a GThreadPool or a GMainContext is the
 * receiver's from there: what came before the push has happened for whoever
 * pops. ThreadSanitizer cannot see it, since GLib is not built with it, and
 * reports a race. So the giver says so right before, and the taker first
 * thing, with the pointer that changes hands. In all other builds these are
 * nothing.
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

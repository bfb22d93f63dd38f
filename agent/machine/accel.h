/* SPDX-License-Identifier: Apache-2.0
 *
 * accel - choose QEMU's accelerator.
 *
 * On some hosts /dev/kvm opens but ordinary kernels hang on it (a cloud VM
 * whose CPU does not expose virtualization). KVM therefore counts as usable
 * only if the device opens and answers and the CPU reports vmx or svm; the
 * machine still watches the boot.
 */
#ifndef AGENT_MACHINE_ACCEL_H
#define AGENT_MACHINE_ACCEL_H

#include <stdbool.h>

enum accel { ACCEL_AUTO, ACCEL_KVM, ACCEL_TCG };

/* Parse "auto", "kvm" or "tcg". Return false for anything else. */
bool accel_parse(const char *name, enum accel *ret_accel);
const char *accel_name(enum accel accel);

/* Return the accelerator to use: never ACCEL_AUTO. If KVM is unavailable,
 * *ret_warning is a new string with the reason; otherwise NULL. */
enum accel accel_choose(enum accel wanted, char **ret_warning);

/* Return true if KVM is usable; otherwise *ret_reason is a new string with the
 * reason. Tests pass other paths than /dev/kvm and /proc/cpuinfo. */
bool accel_kvm_usable(const char *kvm_path, const char *cpuinfo_path,
                      char **ret_reason);

/* Return what the user can do so that KVM is usable, or NULL if nothing is
 * known. Static. */
const char *accel_kvm_remedy(const char *kvm_path, const char *cpuinfo_path);

#define ACCEL_KVM_PATH     "/dev/kvm"
#define ACCEL_CPUINFO_PATH "/proc/cpuinfo"

#endif

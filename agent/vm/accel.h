/* SPDX-License-Identifier: Apache-2.0
 *
 * accel - which accelerator QEMU is to use.
 *
 * A host can have a /dev/kvm that opens while ordinary kernels hang on it (a
 * cloud VM whose CPU does not show virtualization). So KVM counts as usable
 * only if the device opens and answers and the CPU says vmx or svm; and the
 * machine still watches the boot.
 */
#ifndef AGENT_VM_ACCEL_H
#define AGENT_VM_ACCEL_H

#include <stdbool.h>

enum accel { ACCEL_AUTO, ACCEL_KVM, ACCEL_TCG };

/* "auto", "kvm", "tcg". False: none of these. */
bool accel_parse(const char *name, enum accel *ret_accel);
const char *accel_name(enum accel accel);

/* What to use for what was asked: never ACCEL_AUTO. If it is not what one
 * would hope for, *ret_warning is a new string that says so; else NULL. */
enum accel accel_choose(enum accel wanted, char **ret_warning);

/* True if KVM is usable here; else *ret_reason is a new string that says why
 * not. The paths are /dev/kvm and /proc/cpuinfo, but for tests. */
bool accel_kvm_usable(const char *kvm_path, const char *cpuinfo_path,
                      char **ret_reason);

#define ACCEL_KVM_PATH     "/dev/kvm"
#define ACCEL_CPUINFO_PATH "/proc/cpuinfo"

#endif

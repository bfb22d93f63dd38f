/* SPDX-License-Identifier: Apache-2.0
 *
 * accel - see accel.h.
 */
#include "agent/machine/accel.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/fd.h"

#ifdef __x86_64__
#define HOST_IS_X86_64 true
#else
#define HOST_IS_X86_64 false
#endif

enum { MAX_CPUINFO = 16 << 20 };

static const char *const names[] = {
    [ACCEL_AUTO] = "auto",
    [ACCEL_KVM] = "kvm",
    [ACCEL_TCG] = "tcg",
};

bool accel_parse(const char *name, enum accel *ret_accel)
{
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret_accel = (enum accel)i;
            return true;
        }
    }
    return false;
}

const char *accel_name(enum accel accel)
{
    return names[accel];
}

/* Return true if a "flags" line of cpuinfo has vmx or svm. */
static bool has_virtualization(const char *cpuinfo)
{
    g_auto(GStrv) lines = g_strsplit(cpuinfo, "\n", -1);

    for (size_t i = 0; lines[i]; i++) {
        const char *colon = strchr(lines[i], ':');

        if (!colon || !g_str_has_prefix(lines[i], "flags"))
            continue;

        g_auto(GStrv) flags = g_strsplit(colon + 1, " ", -1);

        return g_strv_contains((const char *const *)flags, "vmx") ||
               g_strv_contains((const char *const *)flags, "svm");
    }
    return false;
}

static bool cpu_can(const char *cpuinfo_path, char **ret_reason)
{
    g_autofree char *cpuinfo = NULL;

    if (fd_read_file(AT_FDCWD, cpuinfo_path, MAX_CPUINFO, &cpuinfo, NULL) < 0 ||
        !has_virtualization(cpuinfo)) {
        *ret_reason = g_strdup("the CPU reports neither vmx nor svm");
        return false;
    }
    return true;
}

bool accel_kvm_usable(const char *kvm_path, const char *cpuinfo_path,
                      char **ret_reason)
{
    fd_auto int fd = -1;

    if (!HOST_IS_X86_64) {
        *ret_reason = g_strdup(
            "KVM runs an x86_64 guest only on an x86_64 CPU");
        return false;
    }
    if (!cpu_can(cpuinfo_path, ret_reason))
        return false;
    fd = open(kvm_path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        *ret_reason = g_strdup_printf("%s: %s", kvm_path, g_strerror(errno));
        return false;
    }
    if (ioctl(fd, KVM_GET_API_VERSION, 0) != KVM_API_VERSION) {
        *ret_reason = g_strdup_printf("%s reports no usable KVM version",
                                      kvm_path);
        return false;
    }
    return true;
}

const char *accel_kvm_remedy(const char *kvm_path, const char *cpuinfo_path)
{
    g_autofree char *reason = NULL;

    if (!HOST_IS_X86_64)
        return NULL;
    /* Without the flag, neither a module nor a group helps. */
    if (!cpu_can(cpuinfo_path, &reason))
        return "switch virtualization (Intel VT-x, AMD-V) on in the firmware; "
               "if this host is a virtual machine, switch on nested "
               "virtualization on its own host; or use --isolation=local";
    if (access(kvm_path, F_OK) < 0)
        return "modprobe kvm_intel || modprobe kvm_amd (as root; and "
               "virtualization must be on in the firmware)";
    if (access(kvm_path, R_OK | W_OK) < 0)
        return "usermod -aG kvm \"$USER\" (as root; then log in again)";
    return NULL;
}

enum accel accel_choose(enum accel wanted, char **ret_warning)
{
    g_autofree char *reason = NULL;

    *ret_warning = NULL;
    if (wanted != ACCEL_AUTO)
        return wanted;
    if (accel_kvm_usable(ACCEL_KVM_PATH, ACCEL_CPUINFO_PATH, &reason))
        return ACCEL_KVM;
    *ret_warning = g_strdup_printf(
        "KVM is unavailable (%s); the guest runs with TCG, which is slow",
        reason);
    return ACCEL_TCG;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_command - see vm_command.h.
 */
#include "agent/vm/vm_command.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/vm/vm_folders.h"
#include "common/errors.h"
#include "common/host_program.h"
#include "common/network_link.h"
#include "shim/bulk_wire.h"
#include "shim/wire.h"

char *vm_command_find_qemu(GError **error)
{
    const char *given = g_getenv("STEPBACK_QEMU");
    char *path = NULL;

    if (!given)
        path = host_program_find(VM_QEMU);
    else if (g_path_is_absolute(given) &&
             g_file_test(given, G_FILE_TEST_IS_REGULAR) &&
             access(given, X_OK) == 0)
        path = g_strdup(given);
    if (!path && given)
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                    "STEPBACK_QEMU names %s, which is not the absolute path of "
                    "a program",
                    given);
    else if (!path)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                            "QEMU (" VM_QEMU ") is not installed; install it "
                            "with: apt-get install " VM_QEMU_PACKAGE);
    return path;
}

static void add(GPtrArray *argv, const char *word)
{
    g_ptr_array_add(argv, g_strdup(word));
}

static void add2(GPtrArray *argv, const char *option, char *value)
{
    add(argv, option);
    g_ptr_array_add(argv, value);
}

/* Quote a value for QEMU's comma-separated lists: commas are doubled. */
static char *quote(const char *value)
{
    g_auto(GStrv) parts = g_strsplit(value, ",", -1);

    return g_strjoinv(",,", parts);
}

/* Emulated processors synchronise constantly, and on a busy host each also
 * waits for the scheduler. Removing a tree takes longer with two processors
 * than with one, and four times as long on a busy host. */
static unsigned choose_cpus(const struct vm_config *config)
{
    if (config->cpus)
        return config->cpus;
    return config->accel == ACCEL_KVM ? 2 : 1;
}

static void add_machine(GPtrArray *argv, const struct vm_config *config)
{
    if (config->backend == BACKEND_VIRTIOFS) {
        /* vhost-user: the daemon maps the guest's memory, so it must be a
         * shared memfd. */
        add2(argv, "-machine", g_strdup("q35,memory-backend=mem"));
        add2(argv, "-object",
             g_strdup_printf("memory-backend-memfd,id=mem,size=%uM,share=on",
                             config->memory_mb));
    } else {
        add2(argv, "-machine", g_strdup("q35"));
    }
    add2(argv, "-m", g_strdup_printf("%uM", config->memory_mb));
    add2(argv, "-smp", g_strdup_printf("%u", choose_cpus(config)));
    add2(argv, "-accel", g_strdup(accel_name(config->accel)));
    add2(argv, "-cpu", g_strdup(config->accel == ACCEL_KVM ? "host" : "max"));
    add(argv, "-nodefaults");
    add(argv, "-no-user-config");
    add(argv, "-no-reboot");
    add2(argv, "-display", g_strdup("none"));
}

static void add_kernel(GPtrArray *argv, const struct vm_config *config)
{
    const struct guest_image *image = config->image;

    add2(argv, "-kernel", g_strdup(image->kernel));
    if (image->initrd)
        add2(argv, "-initrd", g_strdup(image->initrd));
    add2(argv, "-append",
         g_strdup_printf(
             "console=ttyS0 panic=-1 quiet "
             "stepback.backend=%s%s%s%s%s%s%s",
             backend_kind_name(config->backend), *image->append ? " " : "",
             image->append, config->keeps_disk ? " stepback.root=rw" : "",
             config->is_template ? " stepback.template" : "",
             config->append ? " " : "", config->append ? config->append : ""));
}

/* A disk of zeros for a state that gets saved, as large as the disk that a
 * machine has when it continues: the guest must not know blocks of either. */
static void add_blank_disk(GPtrArray *argv, const char *rootfs)
{
    struct stat st = { 0 };

    stat(rootfs, &st);
    add2(argv, "-drive",
         g_strdup_printf("if=none,id=root,driver=null-co,read-zeroes=on,"
                         "size=%jd",
                         (intmax_t)st.st_size));
}

static void add_rootfs(GPtrArray *argv, const struct vm_config *config)
{
    g_autofree char *rootfs = quote(config->image->rootfs);
    g_autofree char *disk = config->disk ? quote(config->disk) : NULL;
    g_autofree char *base = config->disk ? quote(config->disk_base) : NULL;

    if (config->keeps_disk && !disk)
        add_blank_disk(argv, config->image->rootfs);
    else if (disk)
        add2(argv, "-drive",
             g_strdup_printf("if=none,id=root,format=qcow2,discard=unmap,"
                             "file=%s,backing.driver=raw,"
                             "backing.file.driver=file,"
                             "backing.file.filename=%s",
                             disk, base));
    else
        add2(argv, "-drive",
             g_strdup_printf("if=none,id=root,format=raw,read-only=on,file=%s",
                             rootfs));
    add2(argv, "-device",
         g_strdup("virtio-blk-pci,drive=root,serial=stepback-root"));
}

/* The root bus of q35 has no hot-plug, a root port has. As functions of one
 * device the ports cost an emulated guest 0.2 s of its boot, as devices 0.7 s.
 */
static void add_folder_ports(GPtrArray *argv)
{
    for (unsigned i = 0; i < VM_FOLDER_SLOTS; i++)
        add2(argv, "-device",
             g_strdup_printf("pcie-root-port,id=" VM_FOLDER_PORT
                             ",chassis=%u,addr=0x1e.%u%s",
                             i, i + 1, i, i == 0 ? ",multifunction=on" : ""));
}

G_STATIC_ASSERT(VM_FOLDER_SLOTS <= 8); /* functions of a PCI device */

static void add_channels(GPtrArray *argv, const struct vm_config *config,
                         const struct vm_sockets *sockets)
{
    g_autofree char *console = quote(config->console_path);

    add2(argv, "-chardev",
         g_strdup_printf("socket,id=control,fd=%d", sockets->control));
    add2(argv, "-device", g_strdup("virtio-serial-pci"));
    /* QEMU reports a port closed by the guest only if the port has an id. */
    add2(argv, "-device",
         g_strdup("virtserialport,id=" VM_CONTROL_PORT ",chardev=control,"
                  "name=" WIRE_PORT_NAME));
    add2(argv, "-chardev",
         g_strdup_printf("socket,id=bulk,fd=%d", sockets->bulk));
    add2(argv, "-device",
         g_strdup("virtserialport,chardev=bulk,name=" BULK_PORT_NAME));
    if (config->backend == BACKEND_VIRTIOFS)
        add_folder_ports(argv);
    add2(argv, "-chardev",
         g_strdup_printf("socket,id=qmp,fd=%d", sockets->qmp));
    add2(argv, "-mon", g_strdup("chardev=qmp,mode=control"));
    /* Append mode: the file is truncated when it grows (see vm.c). */
    add2(argv, "-chardev",
         g_strdup_printf("file,id=" VM_CONSOLE ",path=%s,append=on", console));
    add2(argv, "-serial", g_strdup("chardev:" VM_CONSOLE));
}

static void add_network(GPtrArray *argv, const struct vm_config *config)
{
    add2(argv, "-netdev",
         g_strdup_printf("stream,id=net0,server=off,addr.type=fd,addr.str=%d",
                         config->network_fd));
    add2(argv, "-device",
         g_strdup_printf("virtio-net-pci,netdev=net0,host_mtu=%d,romfile=%s%s",
                         NETWORK_LINK_MTU, config->mac ? ",mac=" : "",
                         config->mac ? config->mac : ""));
}

/* The device has another id in each machine: the guest's kernel notices that it
 * continues from a saved state, and makes its random numbers differ. */
static void add_state(GPtrArray *argv, const struct vm_config *config)
{
    add2(argv, "-device", g_strdup("vmgenid,guid=auto"));
    if (config->state_fd >= 0)
        add2(argv, "-incoming", g_strdup_printf("fd:%d", config->state_fd));
}

char **vm_command_build(const struct vm_config *config,
                        const struct vm_sockets *sockets)
{
    GPtrArray *argv = g_ptr_array_new();

    add(argv, config->qemu);
    add_machine(argv, config);
    add_kernel(argv, config);
    if (config->image->rootfs)
        add_rootfs(argv, config);
    add_channels(argv, config, sockets);
    if (config->network_fd >= 0)
        add_network(argv, config);
    if (config->is_template)
        add_state(argv, config);
    g_ptr_array_add(argv, NULL);
    return (char **)g_ptr_array_free(argv, FALSE);
}

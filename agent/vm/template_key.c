/* SPDX-License-Identifier: Apache-2.0
 *
 * template_key - see template_key.h.
 *
 * Files count by inode, size and times, because hashing QEMU and a disk would
 * take longer than a boot; package managers and "image build" replace files.
 * The times of the root disk are only those of its content: each disk of
 * --persist may be a link to it, which changes the time of its inode.
 */
#include <config.h>

#include "agent/vm/template_key.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/fd.h"

/* Increased when the shim or the state that is saved changes its meaning. */
#define FORMAT "1"

enum { KEY_DIGITS = 40 };

static void add(GChecksum *sum, const char *text)
{
    g_checksum_update(sum, (const guchar *)text, (gssize)strlen(text) + 1);
}

static bool add_file(GChecksum *sum, const char *path, bool has_links)
{
    g_autofree char *text = NULL;
    struct stat st;

    if (!path) {
        add(sum, "");
        return true;
    }
    if (stat(path, &st) < 0)
        return false;
    if (has_links)
        st.st_ctim = (struct timespec){ 0 };
    text = g_strdup_printf(
        "%ju %ju %jd %jd.%09ld %jd.%09ld", (uintmax_t)st.st_dev,
        (uintmax_t)st.st_ino, (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec,
        st.st_mtim.tv_nsec, (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
    add(sum, text);
    return true;
}

/* The command line of a machine whose descriptors and paths of this start are
 * replaced by constants. */
static void add_command(GChecksum *sum, const struct vm_config *config)
{
    static const struct vm_sockets sockets = { 3, 4, 5 };
    struct vm_config shape = *config;
    g_auto(GStrv) argv = NULL;

    shape.is_template = true;
    shape.state_fd = -1;
    shape.disk = NULL;
    shape.network_fd = config->network_fd >= 0 ? 6 : -1;
    shape.console_path = "console";
    argv = vm_command_build(&shape, &sockets);
    for (char **word = argv; *word; word++)
        add(sum, *word);
}

/* Of the first processor: the others are like it. */
static void add_processor(GChecksum *sum)
{
    static const char *const names[] = { "vendor_id", "cpu family", "model",
                                         "stepping",  "microcode",  "flags" };
    fd_auto int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    g_auto(GStrv) lines = NULL;
    char text[4096]; /* more would ask each processor for its frequency */
    struct utsname host;
    ssize_t n;

    uname(&host);
    add(sum, host.machine);
    add(sum, host.release); /* KVM's version */
    n = read(fd, text, sizeof(text) - 1);
    text[MAX(n, 0)] = '\0';
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line && **line; line++) {
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
            if (g_str_has_prefix(*line, names[i]))
                add(sum, *line);
        }
    }
}

char *template_key_new(const struct vm_config *config)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);

    add(sum, "stepback " PACKAGE_VERSION " " FORMAT);
    if (!add_file(sum, config->qemu, false) ||
        !add_file(sum, config->image->kernel, false) ||
        !add_file(sum, config->image->initrd, false) ||
        !add_file(sum, config->image->rootfs, true))
        return NULL;
    add_command(sum, config);
    add_processor(sum);
    return g_strndup(g_checksum_get_string(sum), KEY_DIGITS);
}

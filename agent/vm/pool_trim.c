/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_trim - see pool_trim.h.
 */
#include "agent/vm/pool_trim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"

/* As QEMU names it ("memory-backend-memfd"), and the kernel shows it. */
#define MEMORY_LINK "/memfd:memory-backend-memfd (deleted)"

enum { PAGE = 4096, WINDOW = 16 << 20 };

/* Open the guest's memory, or return -1. */
static int open_memory(pid_t qemu)
{
    g_autofree char *folder = g_strdup_printf("/proc/%d/fd", (int)qemu);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_autofree char *target = g_file_read_link(path, NULL);

        if (g_strcmp0(target, MEMORY_LINK) == 0)
            return open(path, O_RDWR | O_CLOEXEC);
    }
    return -1;
}

static bool is_zero(const char *page)
{
    return page[0] == 0 && memcmp(page, page + 1, PAGE - 1) == 0;
}

/* Return the number of pages from this one that are all zero, or all not. */
static size_t count_alike(const char *page, size_t pages, bool *ret_zero)
{
    size_t n = 1;

    *ret_zero = is_zero(page);
    while (n < pages && is_zero(page + n * PAGE) == *ret_zero)
        n++;
    return n;
}

/* Free the zeros of a window that is mapped at data. */
static guint64 trim_window(int fd, const char *data, off_t at, size_t size)
{
    guint64 freed = 0;

    for (size_t done = 0; done < size;) {
        bool zero;
        size_t len = PAGE *
                     count_alike(data + done, (size - done) / PAGE, &zero);

        if (zero && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              at + (off_t)done, (off_t)len) == 0)
            freed += len;
        done += len;
    }
    return freed;
}

guint64 pool_trim(pid_t qemu)
{
    fd_auto int fd = open_memory(qemu);
    guint64 freed = 0;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return 0;
    for (off_t at = 0; at < st.st_size; at += WINDOW) {
        size_t size = (size_t)MIN(st.st_size - at, (off_t)WINDOW) / PAGE * PAGE;
        void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, at);

        if (data == MAP_FAILED)
            break;
        freed += trim_window(fd, data, at, size);
        munmap(data, size);
    }
    return freed;
}

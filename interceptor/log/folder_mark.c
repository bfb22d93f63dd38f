/* SPDX-License-Identifier: Apache-2.0
 *
 * folder_mark - see folder_mark.h.
 */
#include "interceptor/log/folder_mark.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "common/fd.h"
#include "common/json_bytes.h"
#include "interceptor/sys/sys.h"

static char *read_subvolume(int rootfd)
{
    uint8_t uuid[SYS_UUID_SIZE];
    struct statfs fs;
    fd_auto int fd = -1;
    GString *text;
    guint any = 0;

    if (fstatfs(rootfd, &fs) != 0 || fs.f_type != BTRFS_SUPER_MAGIC)
        return NULL;
    fd = sys_openat(rootfd, ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 || sys_subvolume(fd, uuid) < 0)
        return NULL;
    text = g_string_new(NULL);
    for (size_t i = 0; i < sizeof(uuid); i++) {
        g_string_append_printf(text, "%02x", uuid[i]);
        any |= uuid[i];
    }
    return g_string_free(text, any == 0); /* some filesystems have none: NULL */
}

void folder_mark_look(struct folder_mark *mark, int rootfd, bool born_moves,
                      const char *path)
{
    struct timespec born, changed;

    folder_mark_clear(mark);
    if (sys_btime_name(rootfd, ".", &born, &changed) == 0)
        mark->born = sys_time_us(&born);
    mark->born_moves = born_moves;
    mark->subvolume = read_subvolume(rootfd);
    mark->path = g_strdup(path);
}

void folder_mark_copy(struct folder_mark *mark, const struct folder_mark *from)
{
    folder_mark_clear(mark);
    *mark = *from;
    mark->subvolume = g_strdup(from->subvolume);
    mark->path = g_strdup(from->path);
}

void folder_mark_clear(struct folder_mark *mark)
{
    g_free(mark->subvolume);
    g_free(mark->path);
    *mark = (struct folder_mark){ 0 };
}

void folder_mark_write(const struct folder_mark *mark, json_t *record)
{
    if (mark->born)
        json_object_set_new(record, "born", json_integer(mark->born));
    if (mark->subvolume)
        json_object_set_new(record, "subvolume", json_string(mark->subvolume));
    if (mark->path) {
        json_t *path = json_object();

        json_bytes_set(path, "v", mark->path, strlen(mark->path));
        json_object_set_new(record, "folder", path);
    }
}

void folder_mark_read(struct folder_mark *mark, json_t *record)
{
    json_t *path = json_object_get(record, "folder");

    folder_mark_clear(mark);
    mark->born = json_integer_value(json_object_get(record, "born"));
    mark->subvolume = g_strdup(
        json_string_value(json_object_get(record, "subvolume")));
    mark->path = path ? json_bytes_get(path, "v", NULL) : NULL;
}

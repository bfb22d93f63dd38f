/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle_map - see oracle_map.h.
 */
#include "tests/lib/oracle_map.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PAGE = 4096, CHUNK = 64 * PAGE, EXTENTS = 64 };

#define MARK " map:"

struct range {
    off_t start, end;
};

struct map {
    GString *line;
    GChecksum *sum;
    GArray *unwritten; /* of struct range; NULL: unknown */
    char last;         /* code of the present run */
    off_t start;       /* start of the present run */
};

/* ---- building ------------------------------------------------------------ */

/* Return the ranges that are allocated and unwritten, by the file system. */
static GArray *find_unwritten(int fd)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct range));
    g_autofree struct fiemap *query = g_malloc0(
        sizeof(*query) + EXTENTS * sizeof(struct fiemap_extent));
    gboolean more = TRUE;

    while (more) {
        query->fm_length = FIEMAP_MAX_OFFSET - query->fm_start;
        query->fm_extent_count = EXTENTS;
        if (ioctl(fd, FS_IOC_FIEMAP, query) < 0)
            return NULL;
        more = query->fm_mapped_extents == EXTENTS;
        for (guint i = 0; i < query->fm_mapped_extents; i++) {
            const struct fiemap_extent *extent = &query->fm_extents[i];
            struct range range = { (off_t)extent->fe_logical,
                                   (off_t)(extent->fe_logical +
                                           extent->fe_length) };

            if (extent->fe_flags & FIEMAP_EXTENT_UNWRITTEN)
                g_array_append_val(found, range);
            query->fm_start = (guint64)range.end;
        }
    }
    return g_steal_pointer(&found);
}

static gboolean is_unwritten(const struct map *m, off_t at)
{
    for (guint i = 0; m->unwritten && i < m->unwritten->len; i++) {
        const struct range *range = &g_array_index(m->unwritten, struct range,
                                                   i);

        if (at >= range->start && at < range->end)
            return TRUE;
    }
    return m->unwritten == NULL;
}

static void end_run(struct map *m, off_t end)
{
    if (m->last && end > m->start)
        g_string_append_printf(m->line, "%c%jd-%jd,", m->last,
                               (intmax_t)m->start, (intmax_t)end);
    m->start = end;
}

static void add(struct map *m, char code, off_t at)
{
    if (code == m->last)
        return;
    end_run(m, at);
    m->last = code;
}

static void add_hole(struct map *m, off_t at, off_t end)
{
    if (m->unwritten && m->unwritten->len == 0) {
        add(m, 'H', at);
        return;
    }
    for (; at < end; at += PAGE - at % PAGE)
        add(m, is_unwritten(m, at) ? 'U' : 'H', at);
}

static gboolean is_zero(const char *data, size_t len)
{
    return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

static int add_data(struct map *m, int fd, off_t at, off_t end)
{
    char chunk[CHUNK];

    while (at < end) {
        ssize_t n = pread(fd, chunk, (size_t)MIN(end - at, CHUNK), at);

        if (n <= 0)
            return n < 0 ? -errno : 0;
        for (ssize_t i = 0; i < n; i += PAGE) {
            size_t len = (size_t)MIN(n - i, PAGE);
            gboolean zero = is_zero(chunk + i, len);

            add(m, !zero ? 'D' : is_unwritten(m, at + i) ? 'U' : 'Z', at + i);
            if (!zero)
                g_checksum_update(m->sum, (guchar *)chunk + i, (gssize)len);
        }
        at += n;
    }
    return 0;
}

int oracle_map_append(GString *line, int fd, off_t size)
{
    g_autoptr(GArray) unwritten = find_unwritten(fd);
    struct map m = { line, g_checksum_new(G_CHECKSUM_SHA1), unwritten, 0, 0 };
    int rc = 0;

    g_string_append(line, MARK);
    for (off_t at = 0; rc == 0 && at < size;) {
        off_t data = lseek(fd, at, SEEK_DATA);
        off_t hole = data < 0 ? size : lseek(fd, data, SEEK_HOLE);

        data = data < 0 ? size : MIN(data, size);
        hole = MIN(hole, size);
        if (data > at)
            add_hole(&m, at, data);
        rc = add_data(&m, fd, data, hole);
        at = hole;
    }
    end_run(&m, size);
    g_string_append_printf(line, " %s", g_checksum_get_string(m.sum));
    g_checksum_free(m.sum);
    return rc;
}

/* ---- comparing ----------------------------------------------------------- */

/* Find the runs in a line. */
static gboolean find_runs(const char *line, const char **ret_start,
                          const char **ret_end)
{
    const char *mark = g_strrstr(line, MARK);

    if (!mark)
        return FALSE;
    *ret_start = mark + strlen(MARK);
    *ret_end = *ret_start + strcspn(*ret_start, " ");
    return TRUE;
}

char *oracle_map_strip(const char *line)
{
    const char *start, *end;

    if (!find_runs(line, &start, &end))
        return g_strdup(line);
    return g_strdup_printf("%.*s%s", (int)(start - line), line, end);
}

/* Return the code at an offset, and the end of its run; 0 after the last. */
static char code_at(const char *runs, off_t at, off_t *ret_end)
{
    while (*runs && *runs != ' ') {
        char code = *runs, *next;
        off_t start = g_ascii_strtoll(runs + 1, &next, 10);
        off_t end = g_ascii_strtoll(next + 1, &next, 10);

        if (at >= start && at < end) {
            *ret_end = end;
            return code;
        }
        runs = next + 1;
    }
    return 0;
}

gboolean oracle_map_equal(const char *a, const char *b)
{
    g_autofree char *head_a = oracle_map_strip(a),
                    *head_b = oracle_map_strip(b);
    const char *runs_a, *runs_b, *end;
    off_t at = 0, end_a, end_b;
    char x, y;

    if (strcmp(head_a, head_b) != 0)
        return FALSE;
    if (!find_runs(a, &runs_a, &end) || !find_runs(b, &runs_b, &end))
        return strcmp(a, b) == 0;
    while ((x = code_at(runs_a, at, &end_a)) &&
           (y = code_at(runs_b, at, &end_b))) {
        if (x != y && (x == 'D' || y == 'D' || (x != 'U' && y != 'U')))
            return FALSE;
        at = MIN(end_a, end_b);
    }
    return TRUE;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-manifest - a hostile record of a step: loaded, reported, rolled back.
 *
 * An input is one byte and lines. The byte: bit 0, the step is the one that a
 * crash left, else the newest of the history; bit 1, with force. A line is a
 * record without its sum, which is added, so that the input passes the
 * checksums; a line that starts with '!' is written unchanged, without it. "$0"
 * to "$9" are inode numbers (fuzz_world.c). A first line is added if there is
 * none.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "interceptor/interceptor.h"
#include "tests/fuzz/fuzz_world.h"

#define HEADER                                                                 \
    "{\"t\":\"step\",\"v\":1,\"id\":1,\"seq\":1,\"type\":\"command\","         \
    "\"us\":1,\"root\":$0"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fuzz_world world;

static void add_line(GString *manifest, const char *line, size_t len)
{
    g_autoptr(GString) text = NULL;

    if (len > 0 && line[0] == '!') {
        g_string_append_len(manifest, line + 1, (gssize)len - 1);
        g_string_append_c(manifest, '\n');
        return;
    }
    text = fuzz_world_fill_in(&world, line, len);
    if (text->len > 0 && text->str[text->len - 1] == '}')
        g_string_truncate(text, text->len - 1);
    g_string_append_len(manifest, text->str, (gssize)text->len);
    g_string_append_printf(manifest, ",\"sum\":\"%08x\"}\n",
                           crc32c(text->str, text->len));
}

static GString *make_manifest(const char *lines, size_t size)
{
    GString *manifest = g_string_new(NULL);

    if (size < 11 || memcmp(lines, "{\"t\":\"step\"", 11) != 0)
        add_line(manifest, HEADER, strlen(HEADER));
    while (size > 0) {
        const char *end = memchr(lines, '\n', size);
        size_t len = end ? (size_t)(end - lines) : size;

        add_line(manifest, lines, len);
        lines += len;
        size -= len;
        if (size > 0) {
            lines++;
            size--;
        }
    }
    return manifest;
}

static void write_log(const GString *manifest, bool crashed)
{
    g_autofree char *parent = g_build_filename(world.undo_dir,
                                               crashed ? "wal" : "steps", NULL);
    g_autofree char *step = g_build_filename(
        parent, crashed ? "in_progress" : "1", NULL);
    g_autofree char *file = g_build_filename(step, "manifest.jsonl", NULL);
    g_autofree char *blobs = g_build_filename(step, "blobs", NULL);
    g_autofree char *made = g_build_filename(world.base, "blobs", NULL);

    if (g_mkdir_with_parents(step, 0700) < 0 || rename(made, blobs) < 0 ||
        !g_file_set_contents_full(file, manifest->str, (gssize)manifest->len,
                                  G_FILE_SET_CONTENTS_NONE, 0600, NULL))
        abort();
}

static void free_info(gpointer info)
{
    ic_step_info_free(info);
}

static void use_log(bool force)
{
    struct ic_options options = {
        .share = world.share,
        .undo_dir = world.undo_dir,
        .no_timer = true,
    };
    struct ic *ic = ic_open_share(&options, NULL);
    GPtrArray *infos;

    if (!ic)
        return;
    infos = ic_history(ic, 10, NULL);
    if (infos) {
        g_ptr_array_set_free_func(infos, free_info);
        g_ptr_array_unref(infos);
    }
    ic_rollback(ic, 1, force, NULL, NULL);
    ic_close(ic);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GString) manifest = NULL;

    if (size < 1)
        return 0;
    fuzz_world_reset(&world);
    manifest = make_manifest((const char *)data + 1, size - 1);
    write_log(manifest, data[0] & 1);
    use_log(data[0] & 2);
    use_log(true);
    fuzz_world_check(&world);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_world - see fuzz_world.h.
 */
#include "tests/fuzz/fuzz_world.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "interceptor/log/pack.h"
#include "interceptor/log/step.h"
#include "interceptor/sys/sys.h"

static const char canary_text[] = "nobody may touch this\n";

static void must(bool ok)
{
    if (!ok)
        abort();
}

static char *at(const struct fuzz_world *w, const char *path)
{
    return g_build_filename(w->base, path, NULL);
}

static void put(const struct fuzz_world *w, const char *path, const char *text)
{
    g_autofree char *full = at(w, path);

    must(g_file_set_contents_full(full, text, -1, G_FILE_SET_CONTENTS_NONE,
                                  0644, NULL));
}

static void make_dir(const struct fuzz_world *w, const char *path)
{
    g_autofree char *full = at(w, path);

    must(g_mkdir_with_parents(full, 0755) == 0);
}

static uint64_t number_of(const struct fuzz_world *w, const char *path)
{
    g_autofree char *full = at(w, path);
    struct stat st;

    must(lstat(full, &st) == 0);
    return st.st_ino;
}

static void make(struct fuzz_world *w)
{
    g_autofree char *canary = NULL;
    struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 2000 } };

    log_set_level(LOG_LEVEL_NONE);
    w->base = g_strdup("/dev/shm/stepback-fuzz-XXXXXX");
    must(g_mkdtemp(w->base) != NULL);
    w->share = at(w, "share");
    w->undo_dir = at(w, "log");
    make_dir(w, "outside");
    put(w, "outside/canary", canary_text);
    canary = at(w, "outside/canary");
    must(utimensat(AT_FDCWD, canary, times, 0) == 0);
}

static void remove_everything(void);

static struct fuzz_world *made;

static void remove_everything(void)
{
    if (made)
        sys_remove_tree(AT_FDCWD, made->base);
}

/* Content number 1, and a file that the step removed. */
static void fill_blobs(struct fuzz_world *w)
{
    g_autofree char *blobs = at(w, "blobs"), *file = at(w, "share/a");
    g_autofree char *kept = NULL, *name = NULL;
    int dir, fd;
    struct pack *pack;

    make_dir(w, "blobs");
    put(w, "blobs/kept", "was removed");
    w->numbers[8] = number_of(w, "blobs/kept");
    name = g_strdup_printf("blobs/%s", step_inode_blob(w->numbers[8]).text);
    kept = at(w, name);
    g_free(g_steal_pointer(&name));
    name = at(w, "blobs/kept");
    must(g_rename(name, kept) == 0);
    dir = open(blobs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fd = open(file, O_RDONLY | O_CLOEXEC);
    must(pack_create(dir, &pack) == 0 && pack_save(pack, 1, fd, 0, 4) == 0 &&
         pack_seal(pack) == 0);
    pack_close(pack);
    close(fd);
    close(dir);
}

void fuzz_world_reset(struct fuzz_world *w)
{
    g_autofree char *from = NULL, *to = NULL, *soft = NULL;

    if (!w->base) {
        make(w);
        made = w;
        atexit(remove_everything);
    }
    sys_remove_tree(AT_FDCWD, w->share);
    sys_remove_tree(AT_FDCWD, w->undo_dir);
    from = at(w, "blobs");
    sys_remove_tree(AT_FDCWD, from);
    make_dir(w, "share/d");
    put(w, "share/a", "text of a");
    put(w, "share/d/f", "in a folder");
    put(w, "share/h1", "two names");
    g_free(from);
    from = at(w, "share/h1");
    to = at(w, "share/h2");
    must(link(from, to) == 0);
    soft = at(w, "share/l");
    must(symlink("../outside", soft) == 0);
    w->numbers[0] = number_of(w, "share");
    w->numbers[1] = number_of(w, "share/a");
    w->numbers[2] = number_of(w, "share/d");
    w->numbers[3] = number_of(w, "share/d/f");
    w->numbers[4] = number_of(w, "share/l");
    w->numbers[5] = number_of(w, "share/h1");
    w->numbers[6] = number_of(w, "outside");
    w->numbers[7] = number_of(w, "outside/canary");
    fill_blobs(w);
    w->numbers[9] = 4000000000; /* no inode's */
}

void fuzz_world_check(const struct fuzz_world *w)
{
    g_autofree char *canary = at(w, "outside/canary");
    g_autofree char *outside = at(w, "outside");
    g_autofree char *text = NULL;
    g_autoptr(GDir) dir = g_dir_open(outside, 0, NULL);
    struct stat st;

    must(dir && g_strcmp0(g_dir_read_name(dir), "canary") == 0);
    must(g_dir_read_name(dir) == NULL);
    must(lstat(canary, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
         (st.st_mode & 07777) == 0644 && st.st_mtim.tv_sec == 2000);
    must(g_file_get_contents(canary, &text, NULL, NULL) &&
         strcmp(text, canary_text) == 0);
}

GString *fuzz_world_fill_in(const struct fuzz_world *w, const char *text,
                            size_t len)
{
    GString *out = g_string_sized_new(len);

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '$' && i + 1 < len && g_ascii_isdigit(text[i + 1]))
            g_string_append_printf(out, "%" G_GUINT64_FORMAT,
                                   w->numbers[text[++i] - '0']);
        else
            g_string_append_c(out, text[i]);
    }
    return out;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_names - benchmarks of many paths in a step, and of a rename of many.
 *
 * Each one works on SHARE/tree (bench_make_tree()), which a rollback restores.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"

/* ---- a walk -------------------------------------------------------------- */

/* Called for each file, and for each directory after its entries. */
typedef void visit_fn(struct ic *ic, struct ic_inode *dir, const char *name,
                      bool is_dir);

static GPtrArray *list(struct ic_inode *dir)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    int fd = openat(ic_inode_fd(dir), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    bench_check(stream ? 0 : -errno, "opendir");
    while ((entry = readdir(stream))) {
        /* The name's first byte stores the type. */
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            g_ptr_array_add(names,
                            g_strdup_printf("%c%s",
                                            entry->d_type == DT_DIR ? 'd' : 'f',
                                            entry->d_name));
    }
    closedir(stream);
    return names;
}

static void walk(struct ic *ic, struct ic_inode *dir, visit_fn *visit)
{
    g_autoptr(GPtrArray) names = list(dir);

    for (guint i = 0; i < names->len; i++) {
        const char *entry = g_ptr_array_index(names, i);

        if (entry[0] == 'd') {
            struct ic_inode *down = bench_lookup(ic, dir, entry + 1);

            walk(ic, down, visit);
            ic_inode_unref(down);
        }
        visit(ic, dir, entry + 1, entry[0] == 'd');
    }
}

/* ---- operations ---------------------------------------------------------- */

static const struct ic_cred cred = { 0 };

static void remove_it(struct ic *ic, struct ic_inode *dir, const char *name,
                      bool is_dir)
{
    bench_check(ic_unlinkat(ic, dir, name, is_dir ? AT_REMOVEDIR : 0), name);
}

static void write_it(struct ic *ic, struct ic_inode *dir, const char *name,
                     bool is_dir)
{
    char text[] = "overwritten";
    struct iovec iov = { text, sizeof(text) };
    struct ic_inode *inode;
    int fd;

    if (is_dir)
        return;
    inode = bench_lookup(ic, dir, name);
    bench_check(ic_open(ic, inode, O_WRONLY, &fd), name);
    bench_check(ic_pwritev(ic, inode, fd, &iov, 1, 0, 0, false), name);
    close(fd);
    ic_inode_unref(inode);
}

static void chmod_it(struct ic *ic, struct ic_inode *dir, const char *name,
                     bool is_dir)
{
    struct ic_setattr attr = { .valid = IC_SET_MODE };
    struct ic_inode *inode;
    struct stat st;

    bench_check(ic_lookup(ic, dir, name, &inode, &st), name);
    attr.mode = (st.st_mode ^ S_IXOTH) & 07777; /* a different mode each time */
    bench_check(ic_setattr(ic, inode, -1, &attr, NULL), name);
    ic_inode_unref(inode);
}

static void create_beside(struct ic *ic, struct ic_inode *dir, const char *name,
                          bool is_dir)
{
    g_autofree char *fresh = g_strconcat(name, ".new", NULL);
    struct ic_inode *inode;
    int fd;

    if (is_dir)
        return;
    bench_check(ic_create(ic, &cred, dir, fresh, O_WRONLY | O_EXCL, 0644,
                          &inode, NULL, &fd),
                fresh);
    close(fd);
    ic_inode_unref(inode);
}

/* ---- measuring ----------------------------------------------------------- */

/* Run the operation in a step, commit it, undo it. Without a log, only run
 * it. */
static void measure(const char *share, const char *undo,
                    void (*act)(struct ic *ic, void *opaque), void *opaque)
{
    struct ic *ic = bench_open(share, undo);
    double before = bench_log_bytes(undo);
    struct bench_span span;

    if (undo)
        bench_step_open(ic);
    span = bench_start();
    act(ic, opaque);
    bench_add_span("change", bench_stop(span));
    if (undo) {
        span = bench_start();
        bench_step_close(ic);
        bench_add_span("commit", bench_stop(span));
        bench_add_number("log_bytes", bench_log_bytes(undo) - before);
        span = bench_start();
        bench_rollback(ic);
        bench_add_span("undo", bench_stop(span));
    }
    ic_close(ic);
    bench_print();
}

static void act_walk(struct ic *ic, void *opaque)
{
    visit_fn **visit = opaque;
    struct ic_inode *tree = bench_lookup(ic, ic_root(ic), "tree");

    walk(ic, tree, *visit);
    ic_inode_unref(tree);
}

static void act_remove(struct ic *ic, void *opaque)
{
    act_walk(ic, opaque);
    remove_it(ic, ic_root(ic), "tree", true);
}

static void act_rename(struct ic *ic, void *opaque)
{
    bench_check(ic_renameat2(ic, ic_root(ic), "tree", ic_root(ic), "moved", 0),
                "rename");
}

void bench_paths(const char *kind, unsigned files, const char *share,
                 const char *undo)
{
    static const struct {
        const char *kind;
        visit_fn *visit;
    } kinds[] = {
        { "remove", remove_it },
        { "write", write_it },
        { "chmod", chmod_it },
        { "create", create_beside },
    };
    g_autofree char *tree = g_build_filename(share, "tree", NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        visit_fn *visit = kinds[i].visit;

        if (strcmp(kind, kinds[i].kind) != 0)
            continue;
        if (access(tree, F_OK) < 0)
            bench_make_tree(tree, files, 1000, 1000);
        measure(share, undo, act_walk, &visit);
        return;
    }
    bench_check(-EINVAL, kind);
}

void bench_remove(const char *share, const char *undo)
{
    visit_fn *visit = remove_it;

    measure(share, undo, act_remove, &visit);
}

void bench_rename(const char *share, const char *undo)
{
    measure(share, undo, act_rename, NULL);
}

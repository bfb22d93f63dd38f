/* SPDX-License-Identifier: Apache-2.0
 *
 * model_recipes - see model_recipes.h.
 */
#include "tests/model/model_recipes.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/model/model_tree.h"

enum {
    FEW = 20,        /* entries: below, more is made than removed */
    MANY = 60,       /* above, the reverse */
    LONG_PATH = 900, /* nothing is made below a longer path */
    RECENT = 32,
    TRIES = 8,
    BLOCK = 128 << 10, /* minimum that the engine keeps of a file */
    BLOCKS = 24,
};

static const char *const names[] = {
    "a",   "b",   "c",        "d",     "e\xff", "f",
    "g g", "h\n", "\xc3\xa9", "i\"\\", "...",   "-rf *",
};

guint maker_pick(struct maker *k, guint below)
{
    return (guint)g_rand_int_range(k->rand, 0, (gint32)below);
}

/* ---- paths --------------------------------------------------------------- */

void maker_refresh(struct maker *k)
{
    GPtrArray *now = k->m->now;

    if (!now || k->m->looks == k->seen)
        return;
    k->seen = k->m->looks;
    g_ptr_array_set_size(k->known, 0);
    g_ptr_array_set_size(k->recent, 0);
    for (guint i = 1; i < now->len; i++)
        g_ptr_array_add(k->known, model_tree_path(g_ptr_array_index(now, i)));
}

static void remember(struct maker *k, const char *path)
{
    if (k->recent->len < RECENT) {
        g_ptr_array_add(k->recent, g_strdup(path));
        return;
    }
    g_free(k->recent->pdata[k->next_recent]);
    k->recent->pdata[k->next_recent] = g_strdup(path);
    k->next_recent = (k->next_recent + 1) % RECENT;
}

/* Return a path that usually exists and has a type (S_IFMT bits; 0: any). */
char *maker_existing(struct maker *k, mode_t type)
{
    const char *path = "a";

    for (int i = 0; i < TRIES; i++) {
        GPtrArray *from = k->recent->len > 0 &&
                                  (maker_pick(k, 2) || !k->known->len)
                              ? k->recent
                              : k->known;
        g_autofree char *full = NULL;
        struct stat st;

        if (from->len == 0)
            break;
        path = g_ptr_array_index(from, maker_pick(k, from->len));
        full = world_host_path(k->m->w, path);
        if (lstat(full, &st) == 0 && (!type || (st.st_mode & S_IFMT) == type))
            break;
    }
    return g_strdup(path);
}

/* Return a name in a directory that usually exists; the name may exist too. */
char *maker_fresh(struct maker *k)
{
    g_autofree char *dir = maker_pick(k, 4) ? maker_existing(k, S_IFDIR)
                                            : g_strdup("");
    const char *name = maker_pick(k, 40) ? MAKER_PICK(k, names) : k->long_name;
    char *path;

    if (dir[0] == '\0' || strlen(dir) > LONG_PATH)
        path = g_strdup(name);
    else
        path = g_strdup_printf("%s/%s", dir, name);
    remember(k, path);
    return path;
}

char *maker_either(struct maker *k)
{
    return maker_pick(k, 2) ? maker_fresh(k) : maker_existing(k, 0);
}

static char *no_path(G_GNUC_UNUSED struct maker *k)
{
    return NULL;
}

static char *any(struct maker *k)
{
    return maker_existing(k, 0);
}

static char *file(struct maker *k)
{
    return maker_existing(k, maker_pick(k, 20) ? S_IFREG : 0);
}

static char *folder(struct maker *k)
{
    return maker_existing(k, S_IFDIR);
}

/* No target is above the tree: a mount would follow it. */
static char *target(struct maker *k)
{
    switch (maker_pick(k, 5)) {
    case 0:
        return g_strnfill(4000, 't');
    case 1:
        return g_strdup("/nonexistent-\xfe\n/x");
    case 2:
        return g_strdup("././a");
    default:
        return g_strdup(MAKER_PICK(k, names));
    }
}

/* ---- numbers ------------------------------------------------------------- */

/* Usually small; sometimes at block boundaries of a large file. */
static int64_t offset(struct maker *k)
{
    if (maker_pick(k, 4))
        return maker_pick(k, 20000);
    return (int64_t)maker_pick(k, BLOCKS) * BLOCK + (int64_t)maker_pick(k, 3) -
           1 + (maker_pick(k, 3) ? 1 : 0);
}

int64_t maker_length(struct maker *k)
{
    return maker_pick(k, 12) ? maker_pick(k, 5000)
                             : maker_pick(k, 2 * BLOCK + 100);
}

static int64_t pattern(struct maker *k)
{
    return maker_pick(k, 8);
}

static int64_t put_flags(struct maker *k)
{
    static const int list[] = { O_CREAT,           O_CREAT | O_EXCL,
                                O_CREAT | O_TRUNC, 0,
                                O_APPEND,          O_TRUNC,
                                O_CREAT | O_APPEND };

    return MAKER_PICK(k, list);
}

static int64_t open_flags(struct maker *k)
{
    static const int list[] = { O_RDWR, O_RDWR, O_RDWR | O_APPEND, O_RDONLY,
                                O_RDWR | O_TRUNC };

    return MAKER_PICK(k, list);
}

int64_t maker_mode(struct maker *k)
{
    static const mode_t list[] = { 0644, 0755,  0700,  04755, 02775, 01777,
                                   0600, 06711, 02644, 0,     0500,  07777 };

    /* A user other than root must still be able to read the tree. */
    return MAKER_PICK(k, list) | (geteuid() == 0 ? 0 : 0700);
}

static int64_t node_mode(struct maker *k)
{
    static const mode_t list[] = { S_IFIFO | 0644, S_IFSOCK | 0600,
                                   S_IFCHR | 0666, S_IFBLK | 0660,
                                   S_IFREG | 04711 };

    return MAKER_PICK(k, list);
}

static int64_t device(G_GNUC_UNUSED struct maker *k)
{
    return (int64_t)makedev(1, 3); /* null: harmless to open */
}

static int64_t user(struct maker *k)
{
    static const int64_t list[] = { 0, 1000, 1234, -1 };

    return MAKER_PICK(k, list);
}

static int64_t seconds(struct maker *k)
{
    static const int64_t list[] = { 0, -1,         -1000000000,
                                    1, 1700000000, 4000000000 };

    return MAKER_PICK(k, list);
}

static int64_t nanoseconds(struct maker *k)
{
    return maker_pick(k, 3) ? maker_pick(k, 1000000000) : 0;
}

static int64_t allocate_mode(struct maker *k)
{
    static const int list[] = {
        0,
        FALLOC_FL_KEEP_SIZE,
        FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
        FALLOC_FL_ZERO_RANGE,
        FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
        FALLOC_FL_COLLAPSE_RANGE,
        FALLOC_FL_INSERT_RANGE,
    };

    return MAKER_PICK(k, list);
}

static int64_t page(struct maker *k)
{
    return (int64_t)maker_pick(k, maker_pick(k, 3) ? 5 : 800) * 4096;
}

static int64_t pages(struct maker *k)
{
    return 4096 + page(k);
}

static int64_t rename_flags(struct maker *k)
{
    static const unsigned list[] = {
        0, 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_EXCHANGE
    };

    return MAKER_PICK(k, list);
}

static int64_t slot(struct maker *k)
{
    return maker_pick(k, MODEL_SLOTS);
}

static int64_t levels(struct maker *k)
{
    return 5 + maker_pick(k, 25);
}

static int64_t users(struct maker *k)
{
    return maker_pick(k, 6);
}

static int64_t xattr_length(struct maker *k)
{
    return maker_pick(k, 10) ? maker_pick(k, 60) : maker_pick(k, 3000);
}

static char *xattr_name(struct maker *k)
{
    static const char *const list[] = { "user.a",      "user.b\xff\n",
                                        "user.=\"\\ ", "user.a.b",
                                        "trusted.t",   "security.s" };

    return g_strdup(MAKER_PICK(k, list));
}

static char *acl_name(struct maker *k)
{
    static const char *const list[] = { "system.posix_acl_access",
                                        "system.posix_acl_default" };

    return g_strdup(MAKER_PICK(k, list));
}

static char *any_xattr_name(struct maker *k)
{
    return maker_pick(k, 4) ? xattr_name(k) : acl_name(k);
}

/* ---- operations ---------------------------------------------------------- */

struct recipe {
    guint weight;
    enum model_kind kind;
    char *(*names[MODEL_NAMES])(struct maker *k);
    int64_t (*numbers[MODEL_NUMBERS])(struct maker *k);
};

static const struct recipe making[] = {
    { 12,
      MODEL_PUT,
      { maker_fresh },
      { put_flags, maker_length, offset, pattern } },
    { 9, MODEL_MKDIR, { maker_fresh }, { maker_mode } },
    { 1, MODEL_DEEP, { maker_fresh }, { levels } },
    { 3, MODEL_MKNOD, { maker_fresh }, { node_mode, device } },
    { 3, MODEL_SYMLINK, { target, maker_fresh } },
    { 6, MODEL_LINK, { any, maker_fresh } },
    { 1, MODEL_TMPFILE, { folder }, { slot } },
    { 2, MODEL_HLINK, { maker_fresh }, { slot } },
};

static const struct recipe removing[] = {
    { 8, MODEL_REMOVE, { any } },
    { 2, MODEL_RMTREE, { folder } },
};

static const struct recipe changing[] = {
    { 10, MODEL_PUT, { file }, { put_flags, maker_length, offset, pattern } },
    { 1, MODEL_PUT_USER, { file }, { maker_length, offset } },
    { 14, MODEL_RENAME, { any, maker_either }, { rename_flags } },
    { 4, MODEL_CHMOD, { any }, { maker_mode } },
    { 3, MODEL_CHOWN, { any }, { user, user } },
    { 3, MODEL_UTIMES, { any }, { seconds, nanoseconds } },
    { 4, MODEL_TRUNCATE, { file }, { offset } },
    { 5, MODEL_SETXATTR, { any, xattr_name }, { xattr_length, pattern } },
    { 3, MODEL_ACL, { any, acl_name }, { users } },
    { 2, MODEL_RMXATTR, { any, any_xattr_name } },
    { 5, MODEL_ALLOCATE, { file }, { allocate_mode, page, pages } },
    { 4, MODEL_COPY, { file, file }, { offset, offset, maker_length } },
    { 4, MODEL_OPEN, { file }, { slot, open_flags } },
    { 6, MODEL_HWRITE, { no_path }, { slot, maker_length, offset, pattern } },
    { 2, MODEL_HTRUNC, { no_path }, { slot, offset } },
    { 2, MODEL_HCLOSE, { no_path }, { slot } },
};

static const struct recipe *choose(struct maker *k, const struct recipe *list,
                                   size_t count)
{
    guint total = 0, at;

    for (size_t i = 0; i < count; i++)
        total += list[i].weight;
    at = maker_pick(k, total);
    while (at >= list->weight)
        at -= (list++)->weight;
    return list;
}

#define CHOOSE(k, list) choose(k, list, G_N_ELEMENTS(list))

static const struct recipe *choose_change(struct maker *k)
{
    guint size = k->known->len;
    guint makes = size < FEW ? 60 : size < MANY ? 35 : 15;
    guint at = maker_pick(k, 100);

    if (at < makes)
        return CHOOSE(k, making);
    return at < 75                             ? CHOOSE(k, changing)
           : at < 75 + (size < FEW ? 5u : 25u) ? CHOOSE(k, removing)
                                               : CHOOSE(k, changing);
}

void maker_invent_change(struct maker *k, struct model_op *op)
{
    const struct recipe *recipe = choose_change(k);

    op->kind = recipe->kind;
    for (guint i = 0; i < MODEL_NAMES && recipe->names[i]; i++)
        op->names[i] = recipe->names[i](k);
    for (guint i = 0; i < MODEL_NUMBERS && recipe->numbers[i]; i++)
        op->numbers[i] = recipe->numbers[i](k);
}

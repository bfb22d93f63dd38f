/* SPDX-License-Identifier: Apache-2.0
 *
 * model_make - see model_make.h.
 */
#include "tests/model/model_make.h"

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
    MAX_HISTORY = 40,  /* steps */
    BLOCK = 128 << 10, /* minimum that the engine keeps of a file */
    BLOCKS = 24,
};

struct maker {
    struct model *m;
    GRand *rand;
    char *long_name;
    GPtrArray *known;  /* paths of the last snapshot */
    GPtrArray *recent; /* paths of what was made since, in a ring */
    guint next_recent;
    unsigned seen; /* number of the snapshot in .known */
    unsigned edits;
    guint length; /* of the open step, on average */
};

static const char *const names[] = {
    "a",   "b",   "c",        "d",     "e\xff", "f",
    "g g", "h\n", "\xc3\xa9", "i\"\\", "...",   "-rf *",
};

struct maker *maker_new(struct model *model, guint32 seed)
{
    struct maker *k = g_new0(struct maker, 1);

    k->m = model;
    k->length = 1;
    k->rand = g_rand_new_with_seed(seed);
    k->long_name = g_strnfill(255, 'L');
    k->known = g_ptr_array_new_with_free_func(g_free);
    k->recent = g_ptr_array_new_with_free_func(g_free);
    return k;
}

void maker_free(struct maker *k)
{
    g_rand_free(k->rand);
    g_free(k->long_name);
    g_ptr_array_unref(k->known);
    g_ptr_array_unref(k->recent);
    g_free(k);
}

static guint pick(struct maker *k, guint below)
{
    return (guint)g_rand_int_range(k->rand, 0, (gint32)below);
}

#define PICK(k, list) ((list)[pick(k, G_N_ELEMENTS(list))])

/* ---- paths --------------------------------------------------------------- */

static void refresh(struct maker *k)
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
static char *existing(struct maker *k, mode_t type)
{
    const char *path = "a";

    for (int i = 0; i < TRIES; i++) {
        GPtrArray *from = k->recent->len > 0 && (pick(k, 2) || !k->known->len)
                              ? k->recent
                              : k->known;
        g_autofree char *full = NULL;
        struct stat st;

        if (from->len == 0)
            break;
        path = g_ptr_array_index(from, pick(k, from->len));
        full = world_host_path(k->m->w, path);
        if (lstat(full, &st) == 0 && (!type || (st.st_mode & S_IFMT) == type))
            break;
    }
    return g_strdup(path);
}

/* Return a name in a directory that usually exists; the name may exist too. */
static char *fresh(struct maker *k)
{
    g_autofree char *dir = pick(k, 4) ? existing(k, S_IFDIR) : g_strdup("");
    const char *name = pick(k, 40) ? PICK(k, names) : k->long_name;
    char *path;

    if (dir[0] == '\0' || strlen(dir) > LONG_PATH)
        path = g_strdup(name);
    else
        path = g_strdup_printf("%s/%s", dir, name);
    remember(k, path);
    return path;
}

static char *either(struct maker *k)
{
    return pick(k, 2) ? fresh(k) : existing(k, 0);
}

static char *no_path(G_GNUC_UNUSED struct maker *k)
{
    return NULL;
}

static char *any(struct maker *k)
{
    return existing(k, 0);
}

static char *file(struct maker *k)
{
    return existing(k, pick(k, 20) ? S_IFREG : 0);
}

static char *folder(struct maker *k)
{
    return existing(k, S_IFDIR);
}

/* No target leads out of the tree: a mount would follow it. */
static char *target(struct maker *k)
{
    switch (pick(k, 5)) {
    case 0:
        return g_strnfill(4000, 't');
    case 1:
        return g_strdup("/nonexistent-\xfe\n/x");
    case 2:
        return g_strdup("././a");
    default:
        return g_strdup(PICK(k, names));
    }
}

/* ---- numbers ------------------------------------------------------------- */

/* Usually small; sometimes at block boundaries of a large file. */
static int64_t offset(struct maker *k)
{
    if (pick(k, 4))
        return pick(k, 20000);
    return (int64_t)pick(k, BLOCKS) * BLOCK + (int64_t)pick(k, 3) - 1 +
           (pick(k, 3) ? 1 : 0);
}

static int64_t length(struct maker *k)
{
    return pick(k, 12) ? pick(k, 5000) : pick(k, 2 * BLOCK + 100);
}

static int64_t pattern(struct maker *k)
{
    return pick(k, 8);
}

static int64_t put_flags(struct maker *k)
{
    static const int list[] = { O_CREAT,           O_CREAT | O_EXCL,
                                O_CREAT | O_TRUNC, 0,
                                O_APPEND,          O_TRUNC,
                                O_CREAT | O_APPEND };

    return PICK(k, list);
}

static int64_t open_flags(struct maker *k)
{
    static const int list[] = { O_RDWR, O_RDWR, O_RDWR | O_APPEND, O_RDONLY,
                                O_RDWR | O_TRUNC };

    return PICK(k, list);
}

static int64_t mode(struct maker *k)
{
    static const mode_t list[] = { 0644, 0755,  0700,  04755, 02775, 01777,
                                   0600, 06711, 02644, 0,     0500,  07777 };

    /* A user other than root must still be able to read the tree. */
    return PICK(k, list) | (geteuid() == 0 ? 0 : 0700);
}

static int64_t node_mode(struct maker *k)
{
    static const mode_t list[] = { S_IFIFO | 0644, S_IFSOCK | 0600,
                                   S_IFCHR | 0666, S_IFBLK | 0660,
                                   S_IFREG | 04711 };

    return PICK(k, list);
}

static int64_t device(G_GNUC_UNUSED struct maker *k)
{
    return (int64_t)makedev(1, 3); /* null: harmless to open */
}

static int64_t user(struct maker *k)
{
    static const int64_t list[] = { 0, 1000, 1234, -1 };

    return PICK(k, list);
}

static int64_t seconds(struct maker *k)
{
    static const int64_t list[] = { 0, -1,         -1000000000,
                                    1, 1700000000, 4000000000 };

    return PICK(k, list);
}

static int64_t nanoseconds(struct maker *k)
{
    return pick(k, 3) ? pick(k, 1000000000) : 0;
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

    return PICK(k, list);
}

static int64_t page(struct maker *k)
{
    return (int64_t)pick(k, pick(k, 3) ? 5 : 800) * 4096;
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

    return PICK(k, list);
}

static int64_t slot(struct maker *k)
{
    return pick(k, MODEL_SLOTS);
}

static int64_t levels(struct maker *k)
{
    return 5 + pick(k, 25);
}

static int64_t users(struct maker *k)
{
    return pick(k, 6);
}

static int64_t xattr_length(struct maker *k)
{
    return pick(k, 10) ? pick(k, 60) : pick(k, 3000);
}

static char *xattr_name(struct maker *k)
{
    static const char *const list[] = { "user.a",      "user.b\xff\n",
                                        "user.=\"\\ ", "user.a.b",
                                        "trusted.t",   "security.s" };

    return g_strdup(PICK(k, list));
}

static char *acl_name(struct maker *k)
{
    static const char *const list[] = { "system.posix_acl_access",
                                        "system.posix_acl_default" };

    return g_strdup(PICK(k, list));
}

static char *any_xattr_name(struct maker *k)
{
    return pick(k, 4) ? xattr_name(k) : acl_name(k);
}

/* ---- operations ---------------------------------------------------------- */

struct recipe {
    guint weight;
    enum model_kind kind;
    char *(*names[MODEL_NAMES])(struct maker *k);
    int64_t (*numbers[MODEL_NUMBERS])(struct maker *k);
};

static const struct recipe making[] = {
    { 12, MODEL_PUT, { fresh }, { put_flags, length, offset, pattern } },
    { 9, MODEL_MKDIR, { fresh }, { mode } },
    { 1, MODEL_DEEP, { fresh }, { levels } },
    { 3, MODEL_MKNOD, { fresh }, { node_mode, device } },
    { 3, MODEL_SYMLINK, { target, fresh } },
    { 6, MODEL_LINK, { any, fresh } },
    { 1, MODEL_TMPFILE, { folder }, { slot } },
    { 2, MODEL_HLINK, { fresh }, { slot } },
};

static const struct recipe removing[] = {
    { 8, MODEL_REMOVE, { any } },
    { 2, MODEL_RMTREE, { folder } },
};

static const struct recipe changing[] = {
    { 10, MODEL_PUT, { file }, { put_flags, length, offset, pattern } },
    { 1, MODEL_PUT_USER, { file }, { length, offset } },
    { 14, MODEL_RENAME, { any, either }, { rename_flags } },
    { 4, MODEL_CHMOD, { any }, { mode } },
    { 3, MODEL_CHOWN, { any }, { user, user } },
    { 3, MODEL_UTIMES, { any }, { seconds, nanoseconds } },
    { 4, MODEL_TRUNCATE, { file }, { offset } },
    { 5, MODEL_SETXATTR, { any, xattr_name }, { xattr_length, pattern } },
    { 3, MODEL_ACL, { any, acl_name }, { users } },
    { 2, MODEL_RMXATTR, { any, any_xattr_name } },
    { 5, MODEL_ALLOCATE, { file }, { allocate_mode, page, pages } },
    { 4, MODEL_COPY, { file, file }, { offset, offset, length } },
    { 4, MODEL_OPEN, { file }, { slot, open_flags } },
    { 6, MODEL_HWRITE, { no_path }, { slot, length, offset, pattern } },
    { 2, MODEL_HTRUNC, { no_path }, { slot, offset } },
    { 2, MODEL_HCLOSE, { no_path }, { slot } },
};

static const struct recipe *choose(struct maker *k, const struct recipe *list,
                                   size_t count)
{
    guint total = 0, at;

    for (size_t i = 0; i < count; i++)
        total += list[i].weight;
    at = pick(k, total);
    while (at >= list->weight)
        at -= (list++)->weight;
    return list;
}

#define CHOOSE(k, list) choose(k, list, G_N_ELEMENTS(list))

static const struct recipe *choose_change(struct maker *k)
{
    guint size = k->known->len;
    guint makes = size < FEW ? 60 : size < MANY ? 35 : 15;
    guint at = pick(k, 100);

    if (at < makes)
        return CHOOSE(k, making);
    return at < 75                             ? CHOOSE(k, changing)
           : at < 75 + (size < FEW ? 5u : 25u) ? CHOOSE(k, removing)
                                               : CHOOSE(k, changing);
}

/* While a step is open. */
static void invent_end(struct maker *k, struct model_op *op)
{
    guint at = pick(k, 100);

    op->kind = at < 86   ? MODEL_CLOSE
               : at < 90 ? MODEL_ABORT
               : at < 94 ? MODEL_CRASH
               : at < 96 ? MODEL_RESTART
               : at < 98 ? MODEL_UNDO
                         : MODEL_REDO;
    op->numbers[0] = 1;
}

static int64_t when(struct maker *k)
{
    return pick(k, 3) ? MODEL_LIVE : pick(k, MODEL_WHENS);
}

static void invent_edit(struct maker *k, struct model_op *op)
{
    guint at = pick(k, 10);

    if (at < 5) {
        op->kind = MODEL_EDIT_NEW;
        op->names[0] = g_strdup_printf("outside-%u", ++k->edits);
        op->numbers[0] = pick(k, 4);
        op->numbers[1] = when(k);
    } else if (at < 9) {
        op->kind = MODEL_EDIT_STEP;
        op->numbers[0] = pick(k, 1000);
        op->numbers[1] = pick(k, 5);
        op->numbers[2] = when(k);
    } else {
        op->kind = MODEL_EDIT_ANY;
        op->names[0] = either(k);
        op->names[1] = either(k);
        op->numbers[0] = pick(k, 10);
        op->numbers[1] = when(k);
    }
}

/* No middle limit for the size of all steps: how many remain then depends on
 * the progress of compression, and the seed would not determine what comes
 * next. */
static void invent_limits(struct maker *k, struct model_op *op)
{
    static const int64_t counts[] = { 0, 0, -1, 1, 3, 8 };
    static const int64_t sizes[] = { -1, -1, 200 << 10, 40 << 10, 600 << 10 };

    op->kind = MODEL_LIMITS;
    op->numbers[0] = PICK(k, counts);
    op->numbers[1] = PICK(k, sizes);
    op->numbers[2] = pick(k, 15) ? -1 : 1;
}

static void invent_undo(struct maker *k, struct model_op *op)
{
    op->kind = MODEL_UNDO;
    op->numbers[0] = pick(k, 10) ? 1 + pick(k, 4) : 100;
    op->numbers[1] = pick(k, 4) ? MODEL_ASK : pick(k, MODEL_FORCES);
}

static void invent_redo(struct maker *k, struct model_op *op)
{
    op->kind = MODEL_REDO;
    op->numbers[0] = pick(k, 5) ? 1 + pick(k, 3) : 100;
}

static void invent_file(struct maker *k, struct model_op *op)
{
    op->kind = MODEL_WRITE_FILE;
    op->names[0] = pick(k, 3) ? fresh(k) : existing(k, 0);
    op->numbers[0] = pick(k, 3) ? -1 : mode(k);
    op->numbers[1] = length(k);
    op->numbers[2] = pick(k, 26);
    if (pick(k, 4) == 0) {
        g_autofree char *folder = op->names[0];

        op->names[0] = g_strconcat(folder, "/new/file", NULL);
    }
}

/* Limits do not stay set for long, nor do walls. */
static bool is_time_for_limits(struct maker *k)
{
    const struct model *m = k->m;

    return pick(k, m->limits.step >= 0 || m->limits.log >= 0 ? 10 : 30) == 0;
}

static void invent_frame(struct maker *k, struct model_op *op)
{
    static const guint lengths[] = { 2, 5, 20, 60 };
    guint history = k->m->steps->len, at;

    k->length = PICK(k, lengths);
    if (history > MAX_HISTORY) {
        op->kind = MODEL_LIMITS;
        op->numbers[0] = MAX_HISTORY / 2;
    } else if (k->m->redos->len > 0 && pick(k, 3) == 0) {
        invent_redo(k, op);
    } else if (is_time_for_limits(k)) {
        invent_limits(k, op);
    } else {
        at = pick(k, 200);
        if (at < 40)
            invent_undo(k, op);
        else if (at < 44)
            invent_redo(k, op);
        else if (at < 60)
            invent_edit(k, op);
        else if (at < 70)
            invent_file(k, op);
        else
            op->kind = at < 75   ? MODEL_CRASH
                       : at < 80 ? MODEL_RESTART
                       : at < 81 ? MODEL_DISCARD
                                 : MODEL_STEP;
    }
}

/* Ambient steps have few changes. */
static gboolean is_time_for_frame(struct maker *k)
{
    return pick(k, k->m->step ? k->length : 4) == 0 ||
           (!k->m->step && !k->m->ambient && pick(k, 8));
}

struct model_op *maker_next(struct maker *k)
{
    struct model_op *op = g_new0(struct model_op, 1);
    const struct recipe *recipe;

    refresh(k);
    if (is_time_for_frame(k)) {
        (k->m->step ? invent_end : invent_frame)(k, op);
        return op;
    }
    recipe = choose_change(k);
    op->kind = recipe->kind;
    for (guint i = 0; i < MODEL_NAMES && recipe->names[i]; i++)
        op->names[i] = recipe->names[i](k);
    for (guint i = 0; i < MODEL_NUMBERS && recipe->numbers[i]; i++)
        op->numbers[i] = recipe->numbers[i](k);
    return op;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_fixture - see p9_fixture.h.
 */
#include "tests/p9/p9_fixture.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "interceptor/sys/sys.h"

void p9_fixture_set_up(struct fixture *f, gconstpointer option)
{
    f->rig = p9_rig_new();
    p9_rig_start(f->rig, option, NULL);
    f->client = p9_client_connect(f->rig->socket, 65536, getuid());
}

static void hang_up(struct fixture *f)
{
    g_clear_pointer(&f->control, control_client_free);
    g_clear_pointer(&f->client, p9_client_free);
}

void p9_resume(struct fixture *f, const char *option)
{
    p9_rig_start(f->rig, option, NULL);
    f->client = p9_client_connect(f->rig->socket, 65536, getuid());
}

void p9_pause(struct fixture *f)
{
    hang_up(f);
    p9_rig_stop(f->rig);
}

void p9_restart(struct fixture *f, const char *option)
{
    p9_pause(f);
    p9_resume(f, option);
}

void p9_kill_restart(struct fixture *f, const char *option)
{
    p9_rig_kill(f->rig);
    hang_up(f);
    p9_resume(f, option);
}

void p9_act_as_root(struct fixture *f)
{
    p9_client_free(f->client);
    f->client = p9_client_connect(f->rig->socket, 65536, 0);
}

void p9_log_elsewhere(struct fixture *f, const char *option,
                      void (*check)(struct fixture *f))
{
    g_autofree char *shm = g_strdup("/dev/shm/stepback-9p-XXXXXX");
    char *old = f->rig->undo_dir;

    g_assert_nonnull(g_mkdtemp(shm));
    f->rig->undo_dir = g_build_filename(shm, "undo", NULL);
    p9_restart(f, option);
    check(f);
    p9_pause(f);
    g_free(f->rig->undo_dir);
    f->rig->undo_dir = old;
    sys_remove_tree(AT_FDCWD, shm);
}

json_t *p9_ask(struct fixture *f, const char *type, json_t *payload)
{
    g_autoptr(GError) error = NULL;
    json_t *answer;

    if (!f->control)
        f->control = control_client_connect(f->rig->control);
    answer = control_client_request(f->control, type, payload, &error);
    g_assert_no_error(error);
    return answer;
}

void p9_control(struct fixture *f, const char *type, json_t *payload)
{
    json_decref(p9_ask(f, type, payload));
}

void p9_step_open(struct fixture *f, int id)
{
    p9_control(f, "step.open", json_pack("{s:i}", "step_id", id));
}

void p9_step_close(struct fixture *f, int id)
{
    p9_control(f, "step.close",
               json_pack("{s:i, s:i, s:i}", "step_id", id, "quiet_ms", 0,
                         "max_ms", 0));
}

void p9_undo(struct fixture *f, int steps)
{
    p9_control(f, "rollback", json_pack("{s:i}", "steps", steps));
}

void p9_redo(struct fixture *f, int steps)
{
    p9_control(f, "redo", json_pack("{s:i}", "steps", steps));
}

void p9_fixture_tear_down(struct fixture *f, gconstpointer option)
{
    hang_up(f);
    p9_rig_free(f->rig);
}

void p9_host_file(struct fixture *f, const char *name, const char *text)
{
    g_autofree char *path = p9_rig_path(f->rig, name);

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

char *p9_host_read(struct fixture *f, const char *name)
{
    g_autofree char *path = p9_rig_path(f->rig, name);
    char *text = NULL;

    g_file_get_contents(path, &text, NULL, NULL);
    return text;
}

uint32_t p9_fid(struct fixture *f, const char *path)
{
    uint32_t fid;

    OK(p9_walk(f->client, P9_ROOT, path, &fid));
    return fid;
}

uint32_t p9_open_fid(struct fixture *f, const char *path, uint32_t flags)
{
    uint32_t fid = p9_fid(f, path);

    OK(p9_lopen(f->client, fid, flags));
    return fid;
}

uint32_t p9_create_fid(struct fixture *f, const char *name)
{
    uint32_t fid = p9_fid(f, "");

    OK(p9_lcreate(f->client, fid, name, O_RDWR | P9_OPEN_EXCL, 0644));
    return fid;
}

int p9_create(struct fixture *f, const char *name, uint32_t flags,
              uint32_t mode)
{
    uint32_t fid = p9_fid(f, "");
    int r = p9_lcreate(f->client, fid, name, flags, mode);

    OK(p9_clunk(f->client, fid));
    return r;
}

/* ---- attributes ---------------------------------------------------------- */

static int set_attributes(struct fixture *f, const char *path,
                          struct p9_message *m)
{
    uint32_t fid = p9_fid(f, path);
    int r;

    m->type = P9_TSETATTR;
    m->setattr.fid = fid;
    r = p9_client_call(f->client, m, NULL);
    OK(p9_clunk(f->client, fid));
    return r;
}

int p9_chmod(struct fixture *f, const char *path, uint32_t mode)
{
    struct p9_message m = { 0 };

    m.setattr.valid = P9_SETATTR_MODE;
    m.setattr.mode = mode;
    return set_attributes(f, path, &m);
}

int p9_chown(struct fixture *f, const char *path, uint32_t uid, uint32_t gid)
{
    struct p9_message m = { 0 };

    m.setattr.valid = P9_SETATTR_UID | P9_SETATTR_GID;
    m.setattr.uid = uid;
    m.setattr.gid = gid;
    return set_attributes(f, path, &m);
}

mode_t p9_mode(struct fixture *f, const char *path)
{
    uint32_t fid = p9_fid(f, path);
    struct stat st;

    OK(p9_stat(f->client, fid, &st));
    OK(p9_clunk(f->client, fid));
    return st.st_mode;
}

void p9_mode_is(struct fixture *f, const char *path, mode_t mode)
{
    g_assert_cmphex(p9_mode(f, path), ==, mode);
}

/* ---- trees --------------------------------------------------------------- */

static void add_tree(struct fixture *f, const char *path, GPtrArray *lines);

static void add_below(struct fixture *f, const char *path, GPtrArray *lines)
{
    uint32_t fid = p9_open_fid(f, path, O_RDONLY);
    g_autoptr(GPtrArray) names = NULL;

    OK(p9_list(f->client, fid, 8192, &names));
    OK(p9_clunk(f->client, fid));
    for (guint i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];
        g_autofree char *below = g_strconcat(path, *path ? "/" : "", name,
                                             NULL);

        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            add_tree(f, below, lines);
    }
}

static void add_tree(struct fixture *f, const char *path, GPtrArray *lines)
{
    uint32_t fid = p9_fid(f, path);
    g_autofree char *target = NULL;
    struct stat st;

    OK(p9_stat(f->client, fid, &st));
    if (S_ISLNK(st.st_mode))
        OK(p9_readlink(f->client, fid, &target));
    OK(p9_clunk(f->client, fid));
    g_ptr_array_add(
        lines, g_strdup_printf("%s %o %u:%u %s%ld\n", path, st.st_mode,
                               st.st_uid, st.st_gid, target ? target : "",
                               S_ISDIR(st.st_mode) ? 0L : (long)st.st_size));
    if (S_ISDIR(st.st_mode))
        add_below(f, path, lines);
}

static int compare(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *p9_tree(struct fixture *f)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

    add_tree(f, "", lines);
    g_ptr_array_sort(lines, compare);
    g_ptr_array_add(lines, NULL);
    return g_strjoinv("", (char **)lines->pdata);
}

void p9_tree_is(struct fixture *f, const char *wanted)
{
    g_autofree char *tree = p9_tree(f);

    g_assert_cmpstr(tree, ==, wanted);
}

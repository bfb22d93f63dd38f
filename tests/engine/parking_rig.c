/* SPDX-License-Identifier: Apache-2.0
 *
 * parking_rig - see parking_rig.h.
 */
#include "tests/engine/parking_rig.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/lib/world.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

static void on_event(const char *type, const char *payload, void *opaque)
{
    struct parking_rig *f = opaque;
    json_t *object = json_loads(payload, 0, NULL);

    if (g_strcmp0(type, "event.safeguard_triggered") == 0) {
        pthread_mutex_lock(&f->lock);
        g_free(f->id);
        f->id = g_strdup(
            json_string_value(json_object_get(object, "safeguard_id")));
        pthread_cond_signal(&f->cond);
        pthread_mutex_unlock(&f->lock);
    }
    json_decref(object);
}

static void on_unparked(int verdict, void *opaque)
{
    struct parking_rig *f = opaque;

    if (verdict < 0)
        f->denied++;
    else
        f->released++;
}

char *parking_rig_wait_triggered(struct parking_rig *f)
{
    char *id;

    pthread_mutex_lock(&f->lock);
    while (!f->id)
        pthread_cond_wait(&f->cond, &f->lock);
    id = g_steal_pointer(&f->id);
    pthread_mutex_unlock(&f->lock);
    return id;
}

void parking_rig_start(struct parking_rig *f)
{
    struct ic_options options = {
        .share = f->world->share,
        .undo_dir = f->world->undo_dir,
        .no_timer = true,
        .event = on_event,
        .event_opaque = f,
    };
    g_autoptr(GError) error = NULL;

    ic_set_log(0, NULL);
    f->ic = ic_open_share(&options, &error);
    g_assert_no_error(error);
    ic_set_unparked(f->ic, on_unparked, f);
    OK(ic_lookup(f->ic, ic_root(f->ic), "file", &f->file, NULL));
    OK(ic_lookup(f->ic, ic_root(f->ic), "dir", &f->dir, NULL));
    OK(ic_open(f->ic, f->file, O_RDWR, &f->fd));
}

void parking_rig_stop(struct parking_rig *f)
{
    close(f->fd);
    ic_inode_unref(f->file);
    ic_inode_unref(f->dir);
    ic_close(f->ic);
}

void parking_rig_set_up(struct parking_rig *f, gconstpointer data)
{
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->cond, NULL);
    f->world = world_new(&world_folder);
    f->cred = (struct ic_cred){ getuid(), getgid(), 022 };
    world_host_dir(f->world, "dir/sub");
    world_host_file(f->world, "file", "content");
    world_host_file(f->world, "other", "more content");
    parking_rig_start(f);
}

void parking_rig_tear_down(struct parking_rig *f, gconstpointer data)
{
    parking_rig_stop(f);
    world_free(f->world);
    g_free(f->id);
    pthread_cond_destroy(&f->cond);
    pthread_mutex_destroy(&f->lock);
}

char *parking_rig_hold(struct parking_rig *f)
{
    struct ic_safeguard_rules rules = { .delete_threshold = 1,
                                        .overwrite_file_size_threshold = -1,
                                        .timeout_ms = 600000 };
    g_autoptr(GError) error = NULL;

    g_assert_true(ic_safeguard_configure(f->ic, &rules, &error));
    g_assert_true(ic_step_open(f->ic, ic_last_step_id(f->ic) + 1,
                               IC_STEP_COMMAND, "test", &error));
    g_assert_cmpint(ic_unlinkat(f->ic, ic_root(f->ic), "other", 0), ==,
                    IC_PARKED);
    return parking_rig_wait_triggered(f);
}

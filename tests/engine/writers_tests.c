/* SPDX-License-Identifier: Apache-2.0
 *
 * writers_tests - reports name the executions whose processes made a change.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/socket.h>

#include "interceptor/interceptor.h"
#include "tests/engine/engine_tests.h"
#include "tests/lib/control_client.h"
#include "tests/lib/engine_trees.h"
#include "tests/lib/world.h"

/* A process belongs to the execution of its hundreds: 203 to 2. */
enum { EXECUTION = 100 };

struct fixture {
    struct world *world;
    struct control_client *supervisor;
};

static void set_up(struct fixture *f, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    int pair[2];

    ic_set_log(0, NULL);
    f->world = world_new(&world_folder);
    world_start(f->world);
    g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    ic_control_attach(world_folder_ic(f->world), pair[1], &error);
    g_assert_no_error(error);
    f->supervisor = control_client_new(pair[0]);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    control_client_free(f->supervisor);
    f->world->backend->stop(f->world);
    world_free(f->world);
}

/* Answer the next question. Returns how many processes it was about. */
static size_t answer(struct fixture *f)
{
    json_t *question = control_client_wait_event(f->supervisor,
                                                 "event.writers");
    json_t *pids = json_object_get(question, "pids"), *writers = json_array();
    size_t i, n = json_array_size(pids);
    json_t *pid;

    json_array_foreach(pids, i, pid)
    {
        json_int_t number = json_integer_value(pid);

        json_array_append_new(writers,
                              json_pack("[I, I]", number, number / EXECUTION));
    }
    json_decref(question);
    json_decref(control_client_request(f->supervisor, "writers.name",
                                       json_pack("{s:o}", "writers", writers),
                                       NULL));
    return n;
}

static json_t *change_of(json_t *report, const char *path)
{
    json_t *change;
    size_t i;

    json_array_foreach(json_object_get(report, "changes"), i, change)
    {
        if (g_strcmp0(json_string_value(json_object_get(change, "path")),
                      path) == 0)
            return change;
    }
    g_test_message("%s is not in the report", path);
    return NULL;
}

/* Check who made a change. NULL: the report does not say. */
static void check_by(json_t *report, const char *path, const char *wanted)
{
    json_t *change = change_of(report, path);
    json_t *by = json_object_get(change, "by");
    json_t *also = json_object_get(change, "also_by");
    g_autofree char *first = by ? json_dumps(by, JSON_ENCODE_ANY) : NULL;
    g_autofree char *others = also ? json_dumps(also, JSON_COMPACT) : NULL;
    g_autofree char *text = by ? g_strconcat(first, others, NULL) : NULL;

    g_test_message("%s", path);
    g_assert_cmpstr(text, ==, wanted);
}

static void put(struct world *w, const char *path, pid_t pid)
{
    ic_set_writer(pid);
    OK(engine_put(w, path, O_CREAT, "text"));
}

/* ---- cases --------------------------------------------------------------- */

static void kinds(struct fixture *f, gconstpointer data)
{
    struct world *w = f->world;
    json_t *report;

    for (const char *const *name =
             (const char *const[]){ "over", "gone", "from", "mode", "target",
                                    NULL };
         *name; name++)
        CREATE(*name, "before");
    json_decref(world_request(w, "preview", NULL)); /* ends the step */
    world_step(w);
    put(w, "made", 101);
    put(w, "over", 201);
    ic_set_writer(202);
    OK(w->backend->unlink(w, "gone"));
    OK(w->backend->rename(w, "from", "to", 0));
    OK(w->backend->chmod(w, "mode", 0600));
    ic_set_writer(301);
    OK(w->backend->mkdir(w, "dir", 0755));
    put(w, "dir/inside", 302);
    put(w, "new", 401);
    OK(w->backend->rename(w, "new", "target", 0));
    ic_set_writer(IC_WRITER_UNKNOWN);
    CREATE("unknown", "text");
    ic_set_writer(IC_WRITER_HOST);
    CREATE("host", "text");
    /* This process, in the ambient step, and six. */
    for (size_t n = 0; n < 7;)
        n += answer(f);
    report = world_close_step(w);
    check_by(report, "made", "1");
    check_by(report, "over", "2");
    check_by(report, "gone", "2");
    check_by(report, "to", "2");
    check_by(report, "mode", "2");
    check_by(report, "dir", "3");
    check_by(report, "dir/inside", "3");
    check_by(report, "target", "4");
    check_by(report, "unknown", "\"?\"");
    check_by(report, "host", NULL);
    json_decref(report);
}

static void several(struct fixture *f, gconstpointer data)
{
    struct world *w = f->world;
    json_t *report;

    world_step(w);
    put(w, "shared", 101);
    answer(f);
    put(w, "shared", 201);
    answer(f);
    /* A set of one execution has room for any number of its processes. */
    for (pid_t pid = 110; pid < 150; pid++) {
        put(w, "busy", pid);
        answer(f);
    }
    for (pid_t pid = 100; pid <= 900; pid += EXECUTION) {
        put(w, "many", pid + 50);
        answer(f);
    }
    put(w, "late", 160);
    report = world_close_step(w);
    check_by(report, "shared", "1[2]");
    check_by(report, "busy", "1");
    check_by(report, "many", "1[2,3,4,5,\"?\"]");
    check_by(report, "late", "\"?\"");
    json_decref(report);
}

/* The number of a removed inode may be that of the next one. */
static void made_again(struct fixture *f, gconstpointer data)
{
    struct world *w = f->world;
    json_t *report;

    world_step(w);
    put(w, "first", 101);
    OK(w->backend->unlink(w, "first"));
    put(w, "second", 201);
    put(w, "second", 101);
    answer(f);
    answer(f);
    report = world_close_step(w);
    check_by(report, "second", "2[1]");
    json_decref(report);
}

static void check_newest(struct world *w, const char *wanted)
{
    json_t *answered = world_request(w, "history", NULL);

    check_by(json_array_get(json_object_get(answered, "steps"), 0), "file",
             wanted);
    json_decref(answered);
}

static void kept(struct fixture *f, gconstpointer data)
{
    struct world *w = f->world;
    json_t *preview;

    world_step(w);
    put(w, "file", 101);
    answer(f);
    world_end_step(w);
    check_newest(w, "1");
    preview = world_request(w, "preview", NULL);
    check_by(json_array_get(json_object_get(preview, "steps"), 0), "file", "1");
    json_decref(preview);
    json_decref(world_request(w, "rollback", NULL));
    json_decref(world_request(w, "redo", NULL));
    check_newest(w, "1");
    w->backend->stop(w);
    world_start(w);
    check_newest(w, "1");
}

static void ambient(struct fixture *f, gconstpointer data)
{
    struct world *w = f->world;

    put(w, "file", 101);
    answer(f);
    json_decref(world_request(w, "preview", NULL));
    check_newest(w, "1");
    put(w, "file", 201);
    answer(f);
    json_decref(world_request(w, "preview", NULL));
    check_newest(w, "1[2]");
}

/* A process that changes a file all the time is asked for once. */
static void asked_once(struct fixture *f, gconstpointer data)
{
    struct world *w = f->world;

    world_step(w);
    put(w, "one", 101);
    answer(f);
    for (unsigned i = 0; i < 100; i++)
        put(w, i % 2 ? "one" : "two", 101);
    json_decref(control_client_request(f->supervisor, "status", NULL, NULL));
    g_assert_null(control_client_event(f->supervisor, "event.writers"));
    world_end_step(w);
}

static void bad_answers(struct fixture *f, gconstpointer data)
{
    static const char *const bad[] = {
        "{}",
        "{\"writers\":7}",
        "{\"writers\":[7]}",
        "{\"writers\":[[1]]}",
        "{\"writers\":[[0,1]]}",
        "{\"writers\":[[\"x\",1]]}",
        "{\"writers\":[[4294967296,1]]}",
    };
    struct world *w = f->world;
    json_t *report;

    world_step(w);
    put(w, "file", 101);
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_null(control_client_request(f->supervisor, "writers.name",
                                             json_loads(bad[i], 0, NULL),
                                             &error));
        g_assert_error(error, IC_ERROR, IC_ERROR_INVALID_FIELD);
    }
    /* Nobody asked for 999, and an execution has no number below 1. */
    json_decref(control_client_request(
        f->supervisor, "writers.name",
        json_loads("{\"writers\":[[999,9],[101,-5],[101,7]]}", 0, NULL), NULL));
    report = world_close_step(w);
    check_by(report, "file", "\"?\"");
    json_decref(report);
}

void add_writers_tests(void)
{
    static const struct {
        const char *path;
        void (*run)(struct fixture *f, gconstpointer data);
    } cases[] = {
        { "/writers/each-kind-of-change-has-its-execution", kinds },
        { "/writers/a-change-lists-several-executions", several },
        { "/writers/a-reused-inode-has-new-writers", made_again },
        { "/writers/the-log-keeps-them", kept },
        { "/writers/an-ambient-step-that-continues-keeps-them", ambient },
        { "/writers/a-process-is-asked-for-once", asked_once },
        { "/writers/bad-answers-are-refused", bad_answers },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_test_add(cases[i].path, struct fixture, NULL, set_up, cases[i].run,
                   tear_down);
}

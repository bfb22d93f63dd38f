/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse-units-test - unit tests of the id table, the request reader and leases.
 */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "virtiofs/fuse/fuse_lease.h"
#include "virtiofs/fuse/fuse_request.h"
#include "virtiofs/fuse/slot_table.h"
#include "virtiofs/fuse/xattr_map.h"

/* ---- slot_table ---------------------------------------------------------- */

static gint n_destroyed;

static void count_destroyed(void *object)
{
    g_atomic_int_inc(&n_destroyed);
}

static void test_ids(void)
{
    struct slot_table *table = slot_table_new(count_destroyed);
    int a = 0, b = 0;
    uint64_t id, own, other;

    n_destroyed = 0;
    g_assert_cmpint(slot_table_insert(table, &a, &own, &id), ==, 0);
    g_assert_cmpuint(id, ==, 1);
    g_assert_true(slot_table_get(table, id) == &a);
    g_assert_true(slot_table_remove(table, id));
    g_assert_false(slot_table_remove(table, id));
    g_assert_null(slot_table_get(table, id));
    g_assert_cmpint(n_destroyed, ==, 0); /* it is still held */
    slot_table_put(table, id);
    g_assert_cmpint(n_destroyed, ==, 1);
    /* The slot is reused under another id. */
    g_assert_cmpint(slot_table_insert(table, &b, &own, &other), ==, 0);
    g_assert_cmpuint((uint32_t)other, ==, (uint32_t)id);
    g_assert_cmpuint(other, !=, id);
    g_assert_null(slot_table_get(table, id));
    g_assert_null(slot_table_get(table, 0));
    g_assert_null(slot_table_get(table, UINT64_MAX));
    slot_table_free(table);
    g_assert_cmpint(n_destroyed, ==, 2);
}

static void test_many(void)
{
    struct slot_table *table = slot_table_new(count_destroyed);
    int object = 0;
    uint64_t id = 0, own;

    n_destroyed = 0;
    for (int i = 0; i < 100000; i++)
        g_assert_cmpint(slot_table_insert(table, &object, &own, &id), ==, 0);
    g_assert_cmpuint(id, ==, 100000);
    slot_table_clear(table, 2);
    g_assert_cmpint(n_destroyed, ==, 99999);
    g_assert_true(slot_table_get(table, 1) == &object);
    slot_table_put(table, 1);
    slot_table_free(table);
}

struct counted {
    gint alive;
};

static void end_life(void *object)
{
    struct counted *counted = object;

    g_assert_cmpint(g_atomic_int_exchange(&counted->alive, 0), ==, 1);
}

static struct slot_table *shared;
static uint64_t shared_id;
static gint stop;

/* Hold whatever is there now; it must be alive while held. */
static gpointer use_shared(gpointer data)
{
    while (!g_atomic_int_get(&stop)) {
        uint64_t id = __atomic_load_n(&shared_id, __ATOMIC_ACQUIRE);
        struct counted *counted = slot_table_get(shared, id);

        if (!counted)
            continue;
        g_assert_cmpint(g_atomic_int_get(&counted->alive), ==, 1);
        slot_table_put(shared, id);
    }
    return NULL;
}

static void test_race(void)
{
    static struct counted objects[20000];
    GThread *threads[2];

    shared = slot_table_new(end_life);
    g_atomic_int_set(&stop, 0);
    for (int i = 0; i < 2; i++)
        threads[i] = g_thread_new("user", use_shared, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(objects); i++) {
        uint64_t id, own;

        objects[i].alive = 1;
        g_assert_cmpint(slot_table_insert(shared, &objects[i], &own, &id), ==,
                        0);
        __atomic_store_n(&shared_id, id, __ATOMIC_RELEASE);
        g_assert_true(slot_table_remove(shared, id));
    }
    g_atomic_int_set(&stop, 1);
    for (int i = 0; i < 2; i++)
        g_thread_join(threads[i]);
    slot_table_free(shared);
    for (size_t i = 0; i < G_N_ELEMENTS(objects); i++)
        g_assert_cmpint(objects[i].alive, ==, 0);
}

/* ---- fuse_request -------------------------------------------------------- */

/* A request in pieces of one byte is read, and its reply written, like a whole
 * one. */
static void test_pieces(void)
{
    struct fuse_scratch *scratch = fuse_scratch_new();
    struct {
        struct fuse_in_header head;
        uint64_t number;
        char names[9];
    } __attribute__((packed)) in = {
        .head = { .len = sizeof(in), .unique = 77 },
        .number = 0x1122334455667788,
        .names = "abc\0x/y\0",
    };
    char out[64] = { 0 };
    struct iovec in_iov[sizeof(in)], out_iov[sizeof(out)];
    struct fuse_out_header head;
    struct fuse_request request;
    const char *name;

    for (size_t i = 0; i < sizeof(in); i++)
        in_iov[i] = (struct iovec){ (char *)&in + i, 1 };
    for (size_t i = 0; i < sizeof(out); i++)
        out_iov[i] = (struct iovec){ out + i, 1 };
    g_assert_cmpint(fuse_request_begin(&request, scratch, in_iov, sizeof(in),
                                       out_iov, sizeof(out)),
                    ==, 0);
    g_assert_cmpint(fuse_request_load_args(&request, 8, false), ==, 0);
    g_assert_cmphex(*(const uint64_t *)fuse_request_take(&request, 8), ==,
                    in.number);
    g_assert_cmpint(fuse_request_take_name(&request, &name), ==, 0);
    g_assert_cmpstr(name, ==, "abc");
    g_assert_cmpint(fuse_request_take_name(&request, &name), ==, -EINVAL);
    g_assert_cmpuint(fuse_request_args_left(&request), ==, 1);
    g_assert_null(fuse_request_take(&request, 2));
    g_assert_cmpint(fuse_request_reply(&request, "reply", 5), ==, 0);
    g_assert_cmpint(fuse_request_reply(&request, out, 64), ==, -ERANGE);
    g_assert_cmpuint(fuse_request_finish(&request, 0), ==, sizeof(head) + 5);
    memcpy(&head, out, sizeof(head));
    g_assert_cmpuint(head.len, ==, sizeof(head) + 5);
    g_assert_cmpuint(head.unique, ==, 77);
    g_assert_cmpmem(out + sizeof(head), 5, "reply", 5);
    fuse_scratch_free(scratch);
}

static void test_data(void)
{
    struct fuse_scratch *scratch = fuse_scratch_new();
    char bytes[200] = { 0 };
    struct fuse_in_header *head = (struct fuse_in_header *)bytes;
    struct iovec in[2] = { { bytes, 50 }, { bytes + 50, 150 } };
    struct fuse_request request;
    struct iovec *iov;
    unsigned n;

    head->len = 150; /* what follows is ignored */
    g_assert_cmpint(fuse_request_begin(&request, scratch, in, 2, NULL, 0), ==,
                    0);
    g_assert_cmpint(fuse_request_load_args(&request, 8, true), ==, 0);
    g_assert_cmpint(fuse_request_data_in(&request, 103, &iov, &n), ==, -EINVAL);
    g_assert_cmpint(fuse_request_data_in(&request, 102, &iov, &n), ==, 0);
    g_assert_cmpuint(n, ==, 2);
    g_assert_true(iov[0].iov_base == bytes + 48);
    g_assert_cmpuint(iov[0].iov_len, ==, 2);
    g_assert_true(iov[1].iov_base == bytes + 50);
    g_assert_cmpuint(iov[1].iov_len, ==, 100);
    g_assert_cmpuint(fuse_request_room(&request), ==, 0);
    g_assert_cmpuint(fuse_request_finish(&request, -EIO), ==, 0);
    fuse_scratch_free(scratch);
}

/* ---- xattr_map ----------------------------------------------------------- */

/* client: what the host gets for a guest's name; an errno's name if refused.
 * server: what the guest sees; "-" if nothing. */
struct mapping {
    const char *name, *client, *server;
};

struct map_case {
    const char *id, *rules;
    struct mapping mappings[5];
};

/* The examples of virtiofsd's documentation, and edge cases of them. */
static const struct map_case map_cases[] = {
    { "prefix-all",
      ":prefix:all::user.virtiofs.::bad:all:::",
      { { "trusted.x", "user.virtiofs.trusted.x", "-" },
        { "user.virtiofs.trusted.x", "user.virtiofs.user.virtiofs.trusted.x",
          "trusted.x" } } },
    { "map-all",
      ":map::user.virtiofs.:",
      { { "trusted.x", "user.virtiofs.trusted.x", "-" },
        { "user.virtiofs.a", "user.virtiofs.user.virtiofs.a", "a" } } },
    { "prefix-some",
      "/prefix/all/trusted./user.virtiofs./\n"
      " /bad/server//trusted./\n /bad/client/user.virtiofs.//\n /ok/all///",
      { { "trusted.x", "user.virtiofs.trusted.x", "-" },
        { "user.virtiofs.trusted.x", "EPERM", "trusted.x" },
        { "user.y", "user.y", "user.y" } } },
    { "map-some",
      "/map/trusted./user.virtiofs./",
      { { "trusted.x", "user.virtiofs.trusted.x", "-" },
        { "user.virtiofs.trusted.x", "EPERM", "trusted.x" },
        { "user.y", "user.y", "user.y" } } },
    { "hide",
      "/bad/all/security./security./\n/ok/all///",
      { { "security.selinux", "EPERM", "-" },
        { "user.y", "user.y", "user.y" } } },
    { "unsupported",
      "/unsupported/all/security.selinux/security.selinux//ok/all///",
      { { "security.selinux", "ENOTSUP", "-" },
        { "security.x", "security.x", "security.x" } } },
    { "no-end", ":ok:client:user.::", { { "trusted.x", "EPERM", "-" } } },
};

static void test_map(gconstpointer data)
{
    const struct map_case *test = data;
    struct xattr_map *map = xattr_map_parse(test->rules, NULL);

    g_assert_nonnull(map);
    for (const struct mapping *m = test->mappings; m->name; m++) {
        struct xattr_map_name mapped;
        int r = xattr_map_client(map, m->name, &mapped);
        const char *seen = xattr_map_server(map, m->name);

        g_assert_cmpstr(r == 0          ? mapped.text
                        : r == -EPERM   ? "EPERM"
                        : r == -ENOTSUP ? "ENOTSUP"
                                        : "?",
                        ==, m->client);
        g_assert_cmpstr(seen ? seen : "-", ==, m->server);
    }
    xattr_map_free(map);
}

static void test_map_list(void)
{
    struct xattr_map *map = xattr_map_parse(":map:trusted.:user.virtiofs.:",
                                            NULL);
    char list[] = "user.a\0trusted.b\0user.virtiofs.trusted.c\0user.d";
    const char expected[] = "user.a\0trusted.c\0user.d";
    struct xattr_map_name mapped;
    char long_name[XATTR_NAME_MAX + 1];

    g_assert_cmpmem(list, xattr_map_list(map, list, sizeof(list)), expected,
                    sizeof(expected));
    g_assert_cmpuint(xattr_map_list(map, list, 0), ==, 0);
    memset(long_name, 'x', sizeof(long_name));
    memcpy(long_name, "trusted.", 8);
    long_name[XATTR_NAME_MAX] = '\0';
    g_assert_cmpint(xattr_map_client(map, long_name, &mapped), ==, -ERANGE);
    xattr_map_free(map);
}

static void test_map_errors(void)
{
    static const char *const wrong[] = {
        "",
        " ",
        ":",
        "prefix",
        ":prefix:all:a:b",
        ":prefix:some:a:b:",
        ":what:all:a:b:",
        ":ok:all:",
        ":map:a:b::ok:all:::",
        ":map:a",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_null(xattr_map_parse(wrong[i], &error));
        g_assert_nonnull(error);
    }
}

/* ---- leases -------------------------------------------------------------- */

static uint64_t n_changes, n_own;

uint64_t ic_stale_count(struct ic *ic, uint64_t *ret_n_own)
{
    if (ret_n_own)
        *ret_n_own = n_own;
    return n_changes;
}

static bool is_reported = true;

bool ic_stale_is_reported(struct ic *ic)
{
    return is_reported;
}

/* A reply that is prepared before a change, and sent after it, has no lease. */
static void test_late_reply(void)
{
    struct fuse_lease *lease = fuse_lease_new(NULL, 0.05);

    fuse_lease_begin(lease);
    g_assert_true(fuse_lease_grant(lease, true));
    fuse_lease_tell(NULL, 0, false, lease);
    g_assert_false(fuse_lease_grant(lease, true));
    fuse_lease_begin(lease);
    g_assert_true(fuse_lease_grant(lease, true));
    is_reported = false; /* nothing watches the folder */
    g_assert_false(fuse_lease_grant(lease, true));
    is_reported = true;
    fuse_lease_free(lease);
}

static gint64 tell_us(struct fuse_lease *lease, size_t n)
{
    static const struct ic_stale change = { .inode = 7 };
    gint64 start = g_get_monotonic_time();

    fuse_lease_tell(&change, n, true, lease);
    return g_get_monotonic_time() - start;
}

/* A step waits for leases that no watcher guards, and for changes. */
static void test_waits(void)
{
    enum { LEASE_US = 1000000 };
    struct fuse_lease *lease = fuse_lease_new(NULL, 1);

    g_assert_cmpint(tell_us(lease, 0), <, LEASE_US / 2);
    fuse_lease_begin(lease);
    g_assert_true(fuse_lease_grant(lease, true));
    g_assert_cmpint(tell_us(lease, 0), <, LEASE_US / 2);
    g_assert_cmpint(tell_us(lease, 1), >=, LEASE_US / 2);
    fuse_lease_begin(lease);
    g_assert_true(fuse_lease_grant(lease, false));
    g_assert_cmpint(tell_us(lease, 0), >=, LEASE_US);
    fuse_lease_free(lease);
}

#define STALE(call) g_assert_cmpint((call), ==, -ESTALE)
#define OK(call)    g_assert_cmpint((call), ==, 0)

static void test_repetition(void)
{
    struct fuse_lease *lease = fuse_lease_new(NULL, 0.05);

    n_changes = n_own = 0;
    g_assert_false(fuse_lease_guards(lease));
    n_changes++;
    g_assert_true(fuse_lease_guards(lease));
    OK(fuse_lease_check(lease, 9, 1, 1)); /* no name leads to the root */
    STALE(fuse_lease_check(lease, 9, 5, 5));
    fuse_lease_note_lookup(lease, 9, 3, 5);
    STALE(fuse_lease_check(lease, 9, 4, 4)); /* was not looked up */
    fuse_lease_note_lookup(lease, 9, 3, 5);
    STALE(fuse_lease_check(lease, 9, 5, 4));
    fuse_lease_note_lookup(lease, 9, 3, 5);
    OK(fuse_lease_check(lease, 9, 3, 5));
    OK(fuse_lease_check(lease, 9, 3, 5)); /* it was parked */
    fuse_lease_settle(lease, 9);
    STALE(fuse_lease_check(lease, 9, 3, 5));
    fuse_lease_note_lookup(lease, 9, 3, 5);
    n_own++; /* undone in the meantime */
    STALE(fuse_lease_check(lease, 9, 3, 5));
    OK(fuse_lease_check(lease, 9, 3, 5)); /* without a lookup: by an fd */
    fuse_lease_free(lease);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(map_cases); i++) {
        g_autofree char *path = g_strdup_printf("/fuse/xattrmap/%s",
                                                map_cases[i].id);

        g_test_add_data_func(path, &map_cases[i], test_map);
    }
    g_test_add_func("/fuse/xattrmap/list", test_map_list);
    g_test_add_func("/fuse/xattrmap/errors", test_map_errors);
    g_test_add_func("/fuse/slots/ids", test_ids);
    g_test_add_func("/fuse/slots/many", test_many);
    g_test_add_func("/fuse/slots/race", test_race);
    g_test_add_func("/fuse/request/pieces", test_pieces);
    g_test_add_func("/fuse/request/data", test_data);
    g_test_add_func("/fuse/lease/late-reply", test_late_reply);
    g_test_add_func("/fuse/lease/waits", test_waits);
    g_test_add_func("/fuse/lease/repetition", test_repetition);
    return g_test_run();
}

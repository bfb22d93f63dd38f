/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_links - reports list each name that a file gained or lost.
 *
 * See engine_cases.h.
 */
#include "tests/lib/engine_cases.h"

/* Return whether the report has this change; from NULL: without one. */
static bool has_change(json_t *report, const char *path, const char *kind,
                       const char *from)
{
    json_t *change;
    size_t i;

    json_array_foreach(json_object_get(report, "changes"), i, change)
    {
        if (g_strcmp0(json_string_value(json_object_get(change, "path")),
                      path) == 0 &&
            g_strcmp0(json_string_value(json_object_get(change, "change")),
                      kind) == 0 &&
            g_strcmp0(json_string_value(json_object_get(change, "from")),
                      from) == 0)
            return true;
    }
    return false;
}

static void rename_and_link(struct world *w)
{
    DO(rename, "small.txt", "b", 0);
    DO(link, "b", "c");
    DO(mkdir, "new", 0755);
    DO(link, "b", "new/d");
    DO(link, "b", "gone");
    DO(unlink, "gone");
}

static void link_and_rename(struct world *w)
{
    DO(link, "small.txt", "c");
    DO(mkdir, "new", 0755);
    DO(link, "small.txt", "new/d");
    DO(rename, "small.txt", "b", 0);
}

static void renamed_linked_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "small.txt", "b", "c", "new", "new/d", NULL);
    g_assert_true(has_change(report, "b", "renamed", "small.txt"));
    g_assert_true(has_change(report, "c", "created", NULL));
    g_assert_true(has_change(report, "new/d", "created", NULL));
}

/* The target existed. */
static void rename_and_link_over(struct world *w)
{
    DO(rename, "small.txt", "b", 0);
    DO(unlink, "run.sh");
    DO(link, "b", "run.sh");
}

static void link_over_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "small.txt", "b", "run.sh", NULL);
    g_assert_true(has_change(report, "b", "renamed", "small.txt"));
    g_assert_true(has_change(report, "run.sh", "modified", NULL));
}

/* A name lost by a rename is reported, others are not. */
static void rename_over(struct world *w)
{
    DO(rename, "small.txt", "src/main.c", 0);
    DO(rename, "run.sh", "empty.txt", 0);
    CREATE("run.sh", "another");
    DO(rename, "third", "src/hard", 0); /* both name one file: no effect */
    DO(rename, "soft", "dangling", RENAME_EXCHANGE);
}

static void rename_over_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "small.txt", "src/main.c", "run.sh",
                          "empty.txt", "soft", "dangling", NULL);
    g_assert_cmpint(json_integer_value(json_object_get(report, "affected")), ==,
                    7);
    g_assert_true(has_change(report, "src/main.c", "renamed", "small.txt"));
    g_assert_true(has_change(report, "src/main.c", "deleted", NULL));
    g_assert_true(has_change(report, "empty.txt", "renamed", "run.sh"));
    g_assert_true(has_change(report, "empty.txt", "deleted", NULL));
    g_assert_true(has_change(report, "run.sh", "created", NULL));
    g_assert_true(has_change(report, "soft", "renamed", "dangling"));
    g_assert_true(has_change(report, "dangling", "renamed", "soft"));
}

/* Of three names one is renamed, one removed, and one stays. */
static void rename_and_unlink(struct world *w)
{
    DO(rename, "small.txt", "b", 0);
    DO(unlink, "src/hard");
}

static void rename_unlink_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "small.txt", "b", "src/hard", NULL);
    g_assert_true(has_change(report, "b", "renamed", "small.txt") ||
                  has_change(report, "b", "renamed", "src/hard"));
    g_assert_true(has_change(report, "src/hard", "deleted", NULL) ||
                  has_change(report, "small.txt", "deleted", NULL));
}

/* A known name that stays is not the target of a rename. */
static void write_and_unlink(struct world *w)
{
    WRITE("src/hard", "through the name that stays");
    DO(unlink, "small.txt");
    CREATE("small.txt", "another");
    DO(unlink, "third");
}

static void write_unlink_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "small.txt", "src/hard", "third", NULL);
    g_assert_true(has_change(report, "small.txt", "modified", NULL));
    g_assert_true(has_change(report, "third", "deleted", NULL));
    g_assert_true(has_change(report, "src/hard", "modified", NULL));
}

/* The name that stays is reported even if the file first lost another. */
static void unlink_and_chmod(struct world *w)
{
    DO(unlink, "src/hard");
    DO(chmod, "small.txt", 0640);
}

static void unlink_chmod_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "small.txt", "src/hard", NULL);
    g_assert_true(has_change(report, "small.txt", "metadata", NULL));
    g_assert_true(has_change(report, "src/hard", "deleted", NULL));
}

static void unlink_and_write(struct world *w)
{
    DO(unlink, "small.txt");
    WRITE("src/hard", "through the name that stays");
    DO(unlink, "third");
}

static void unlink_write_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "small.txt", "src/hard", "third", NULL);
    g_assert_true(has_change(report, "small.txt", "deleted", NULL));
    g_assert_true(has_change(report, "third", "deleted", NULL));
    g_assert_true(has_change(report, "src/hard", "modified", NULL));
}

/* If the log is elsewhere, a file is copied when it loses a name: that alone is
 * not a change of the file. */
static void link_and_unlink(struct world *w)
{
    DO(link, "run.sh", "walk.sh");
    DO(unlink, "run.sh");
    DO(unlink, "small.txt");
    DO(unlink, "third");
}

static void link_unlink_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "run.sh", "walk.sh", "small.txt", "third",
                          NULL);
    g_assert_cmpint(json_integer_value(json_object_get(report, "affected")), ==,
                    3);
    g_assert_true(has_change(report, "walk.sh", "renamed", "run.sh"));
}

static void link_unlink_and_write(struct world *w)
{
    DO(link, "run.sh", "walk.sh");
    DO(unlink, "run.sh");
    WRITE("walk.sh", "written");
    DO(link, "large.bin", "b");
    WRITE("b", "before");
    DO(unlink, "large.bin");
}

static void link_write_check(struct world *w, json_t *report)
{
    g_assert_true(has_change(report, "walk.sh", "renamed", "run.sh"));
    g_assert_true(has_change(report, "walk.sh", "modified", NULL));
    g_assert_true(has_change(report, "b", "renamed", "large.bin"));
    g_assert_true(has_change(report, "b", "modified", NULL));
}

const struct undo_case engine_links_cases[] = {
    { "links/rename-and-link", engine_fill_small, rename_and_link,
      renamed_linked_check },
    { "links/link-and-rename", engine_fill_small, link_and_rename,
      renamed_linked_check },
    { "links/rename-and-link-over", engine_fill_small, rename_and_link_over,
      link_over_check },
    { "links/rename-over", engine_fill_links, rename_over, rename_over_check },
    { "links/rename-and-unlink", engine_fill_links, rename_and_unlink,
      rename_unlink_check },
    { "links/write-and-unlink", engine_fill_links, write_and_unlink,
      write_unlink_check },
    { "links/unlink-and-chmod", engine_fill_links, unlink_and_chmod,
      unlink_chmod_check },
    { "links/unlink-and-write", engine_fill_links, unlink_and_write,
      unlink_write_check },
    { "links/link-and-unlink", engine_fill_links, link_and_unlink,
      link_unlink_check },
    { "links/link-unlink-and-write", engine_fill_links, link_unlink_and_write,
      link_write_check },
};

const size_t engine_links_cases_count = G_N_ELEMENTS(engine_links_cases);

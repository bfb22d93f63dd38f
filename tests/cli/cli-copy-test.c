/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of cli_copy.h: the places of a copy, and hostile streams from a guest.
 */
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cli/cli_copy.h"
#include "common/errors.h"

static const struct copy_options none;

/* ---- places -------------------------------------------------------------- */

static void test_places(void)
{
    static const struct {
        const char *from, *to;
        bool in, stream;
        const char *sandbox, *guest, *host;
    } cases[] = {
        { "a", "box:/b", true, false, "box", "/b", "a" },
        { "box:b/.", "/a", false, false, "box", "/b/.", "/a" },
        { "./x:y", "a.b-c_1:/", true, false, "a.b-c_1", "/", "./x:y" },
        { "-", "box:/b", true, true, "box", "/b", NULL },
        { "box:/b:c", "-", false, true, "box", "/b:c", NULL },
        { "/a:b", "box:/b", true, false, "box", "/b", "/a:b" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct copy_plan *plan = cli_copy_parse(cases[i].from, cases[i].to,
                                                &none, NULL);

        g_assert_nonnull(plan);
        g_assert_cmpint(plan->in, ==, cases[i].in);
        g_assert_cmpint(plan->stream, ==, cases[i].stream);
        g_assert_cmpstr(plan->sandbox, ==, cases[i].sandbox);
        g_assert_cmpstr(plan->guest_path, ==, cases[i].guest);
        g_assert_cmpstr(plan->host_path, ==, cases[i].host);
        cli_copy_free(plan);
    }
}

static void test_bad_places(void)
{
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        { "a", "b", "one of the two must be NAME:PATH" },
        { "-", "b", "one of the two must be NAME:PATH" },
        { "x:/a", "y:/b", "between two sandboxes" },
        { "Box:/a", "b", "not a sandbox name" },
        { ":/a", "b", "not a sandbox name" },
        { "box:", "b", "no path after ':'" },
        { "box:/a", "", "empty" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_null(
            cli_copy_parse(cases[i].from, cases[i].to, &none, &error));
        g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
        if (!strstr(error->message, cases[i].says))
            g_error("%s", error->message);
    }
}

/* ---- streams of a guest -------------------------------------------------- */

struct box {
    char *root;      /* a temporary directory, */
    char *target;    /* and "target" in it */
    GString *report; /* of cli_copy_run() */
    struct copy_result result;
};

static void set_up(struct box *box, gconstpointer data)
{
    box->root = g_dir_make_tmp("cp-XXXXXX", NULL);
    box->target = g_build_filename(box->root, "target", NULL);
    g_assert_cmpint(mkdir(box->target, 0755), ==, 0);
    box->report = g_string_new(NULL);
}

static void tear_down(struct box *box, gconstpointer data)
{
    g_autofree char *clean = g_strdup_printf("rm -rf '%s'", box->root);

    g_assert_cmpint(system(clean), ==, 0);
    g_string_free(box->report, TRUE);
    g_free(box->target);
    g_free(box->root);
}

struct member {
    const char *name;
    mode_t mode; /* with the type; 0: the end */
    const char *link;
};

static void write_members(int fd, const struct member *members)
{
    struct archive *archive = archive_write_new();

    archive_write_set_format_pax(archive);
    archive_write_open_fd(archive, fd);
    for (; members->mode; members++) {
        struct archive_entry *entry = archive_entry_new();

        archive_entry_set_pathname(entry, members->name);
        archive_entry_set_mode(entry, members->mode);
        archive_entry_set_uid(entry, 4321);
        archive_entry_set_mtime(entry, 1000000000, 5);
        if (S_ISLNK(members->mode))
            archive_entry_set_symlink(entry, members->link);
        else if (members->link)
            archive_entry_set_hardlink(entry, members->link);
        archive_entry_set_size(
            entry, S_ISREG(members->mode) && !members->link ? 4 : 0);
        archive_write_header(archive, entry);
        if (S_ISREG(members->mode) && !members->link)
            archive_write_data(archive, "evil", 4);
        archive_entry_free(entry);
    }
    archive_write_free(archive);
}

static bool run_plan(struct box *box, const struct copy_plan *plan,
                     const struct member *members)
{
    g_autoptr(GError) error = NULL;
    int ends[2];
    bool good;
    pid_t pid;

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), ==, 0);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        write_members(ends[1], members);
        _exit(0);
    }
    close(ends[1]);
    good = cli_copy_run(plan, ends[0], &box->result, &error);
    close(ends[0]);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    g_string_assign(box->report, error ? error->message : "");
    return good;
}

/* Copy NAME:from to "to" below the root, from a guest that sends these. */
static bool receive(struct box *box, const char *from, const char *to,
                    const struct member *members,
                    const struct copy_options *options)
{
    g_autofree char *host = g_build_filename(box->root, to, NULL);
    g_autofree char *guest = g_strconcat("box:", from, NULL);
    struct copy_plan *plan = cli_copy_parse(guest, host, options, NULL);
    bool good = run_plan(box, plan, members);

    cli_copy_free(plan);
    return good;
}

static bool exists(struct box *box, const char *name)
{
    g_autofree char *path = g_build_filename(box->root, name, NULL);
    struct stat st;

    return lstat(path, &st) == 0;
}

static void check_says(struct box *box, const char *part)
{
    if (!strstr(box->report->str, part))
        g_error("'%s' is not in '%s'", part, box->report->str);
}

static void test_other_name(struct box *box, gconstpointer data)
{
    static const struct member bashrc[] = { { ".bashrc", S_IFREG | 0644 }, {} };
    static const struct member beside[] = { { "x", S_IFDIR | 0755 },
                                            { ".bashrc", S_IFREG | 0644 },
                                            {} };
    static const struct member prefix[] = { { "xy", S_IFREG | 0644 }, {} };

    for (int i = 0; i < 2; i++) {
        const char *to = i ? "target" : "new";

        g_assert_false(receive(box, "/x", to, bashrc, &none));
        check_says(box, "outside of x");
        g_assert_false(receive(box, "/x", to, prefix, &none));
        g_assert_false(receive(box, "/x", to, beside, &none));
        check_says(box, "outside of x");
    }
    g_assert_false(exists(box, ".bashrc") || exists(box, "target/.bashrc"));
    g_assert_false(exists(box, "target/xy"));
}

static void test_links(struct box *box, gconstpointer data)
{
    static const struct member through[] = {
        { "x", S_IFDIR | 0755 },
        { "x/link", S_IFLNK | 0777, ".." },
        { "x/link/evil", S_IFREG | 0644 },
        {},
    };
    static const struct member over[] = { { "x", S_IFREG | 0644 }, {} };
    static const struct member hard[] = {
        { "x", S_IFREG | 0644, "../secret" },
        {},
    };
    g_autofree char *secret = g_build_filename(box->root, "secret", NULL);
    g_autofree char *link = g_build_filename(box->target, "x", NULL);
    g_autofree char *text = NULL;

    g_assert_true(g_file_set_contents(secret, "old", -1, NULL));
    g_assert_false(receive(box, "/x", "new", through, &none));
    check_says(box, "symbolic link");
    g_assert_false(receive(box, "/x", "target", through, &none));
    check_says(box, "symbolic link");
    g_assert_false(exists(box, "evil") || exists(box, "target/evil"));
    g_assert_false(receive(box, "/x", "another", hard, &none));
    check_says(box, "leads out of the target");

    /* A link at the final name is replaced, not followed. */
    g_autofree char *clean = g_strdup_printf("rm -rf '%s'", link);
    g_assert_cmpint(system(clean), ==, 0);
    g_assert_cmpint(symlink("../secret", link), ==, 0);
    g_assert_true(receive(box, "/x", "target", over, &none));
    g_assert_true(g_file_get_contents(secret, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "old");
}

/* A name in a directory, as the copies of an MCP client have it: a link that
 * takes its place is never followed. */
static void test_names(struct box *box, gconstpointer data)
{
    static const struct member file[] = { { "x", S_IFREG | 0644 }, {} };
    static const struct member tree[] = { { "x", S_IFDIR | 0755 },
                                          { "x/y", S_IFREG | 0644 },
                                          {} };
    struct copy_plan plan = { .guest_path = (char *)"/x",
                              .host_path = (char *)"link" };
    g_autofree char *aside = g_build_filename(box->root, "aside", NULL);

    plan.dir_fd = open(box->target, O_PATH | O_DIRECTORY);
    g_assert_cmpint(mkdir(aside, 0755), ==, 0);
    g_assert_cmpint(symlinkat(aside, plan.dir_fd, "link"), ==, 0);
    g_assert_false(run_plan(box, &plan, tree));
    check_says(box, "a directory cannot replace a file");
    g_assert_true(run_plan(box, &plan, file));
    g_assert_false(exists(box, "aside/x") || exists(box, "aside/y"));
    g_assert_true(exists(box, "target/link"));
    plan.host_path = (char *)"new";
    g_assert_true(run_plan(box, &plan, tree));
    g_assert_true(run_plan(box, &plan, tree));
    g_assert_true(exists(box, "target/new/y") && exists(box, "target/new/x/y"));
    plan.host_path = (char *)".";
    g_assert_true(run_plan(box, &plan, file));
    g_assert_true(exists(box, "target/x"));
    close(plan.dir_fd);
}

/* It would be obeyed on the host. */
static void test_undo_log(struct box *box, gconstpointer data)
{
    static const struct member members[] = {
        { "x", S_IFDIR | 0755 },
        { "x/.stepback", S_IFDIR | 0755 },
        { "x/.stepback/y", S_IFDIR | 0755 },
        { "x/.Stepback", S_IFREG | 0644 },
        { "x/y", S_IFREG | 0644 },
        {},
    };
    static const struct member links[] = {
        { "x", S_IFDIR | 0755 },
        { "x/new", S_IFREG | 0644, "x/.stepback/y/version" },
        {},
    };
    g_autofree char *logs = g_build_filename(box->target, "x/.stepback/y",
                                             NULL);
    g_autofree char *version = g_build_filename(logs, "version", NULL);

    g_assert_true(receive(box, "/x", "target", members, &none));
    g_assert_cmpint(box->result.skipped, ==, 3);
    g_assert_cmpint(box->result.entries, ==, 2);
    g_assert_false(exists(box, "target/x/.stepback"));
    g_assert_false(exists(box, "target/x/.Stepback"));
    g_assert_true(exists(box, "target/x/y"));
    /* Nor does a file of one get a name outside it. */
    g_assert_cmpint(g_mkdir_with_parents(logs, 0700), ==, 0);
    g_assert_true(g_file_set_contents(version, "1", 1, NULL));
    g_assert_false(receive(box, "/x", "target", links, &none));
    g_assert_false(exists(box, "target/x/new"));
}

static void test_special(struct box *box, gconstpointer data)
{
    static const struct member members[] = {
        { "x", S_IFDIR | 02755 },     { "x/null", S_IFCHR | 0666 },
        { "x/disk", S_IFBLK | 0666 }, { "x/tool", S_IFREG | 06755 },
        { "x/fifo", S_IFIFO | 0600 }, {},
    };
    static const struct copy_options all = { .archive = true,
                                             .allow_special = true };
    static const struct copy_options archive = { .archive = true };
    g_autofree char *tool = g_build_filename(box->target, "x/tool", NULL);
    struct stat st;

    g_assert_true(receive(box, "/x", "target", members, &none));
    g_assert_cmpint(box->result.skipped, ==, 2);
    g_assert_cmpint(box->result.entries, ==, 3);
    g_assert_false(exists(box, "target/x/null"));
    g_assert_true(exists(box, "target/x/fifo"));
    g_assert_cmpint(stat(tool, &st), ==, 0);
    g_assert_cmpint(st.st_mode, ==, S_IFREG | 0755);
    g_assert_cmpint(st.st_uid, ==, geteuid());
    g_assert_cmpint(st.st_mtim.tv_sec, ==, 1000000000);
    g_assert_cmpint(st.st_mtim.tv_nsec, ==, 5);
    if (geteuid() != 0)
        return;
    g_assert_true(receive(box, "/x", "target", members, &archive));
    g_assert_cmpint(stat(tool, &st), ==, 0);
    g_assert_cmpint(st.st_mode, ==, S_IFREG | 0755);
    g_assert_cmpint(st.st_uid, ==, 4321);
    g_assert_true(receive(box, "/x", "target", members, &all));
    g_assert_cmpint(stat(tool, &st), ==, 0);
    g_assert_cmpint(st.st_mode, ==, S_IFREG | 06755);
    g_assert_true(exists(box, "target/x/null"));
}

static void test_attributes_of_targets(struct box *box, gconstpointer data)
{
    static const struct member members[] = { { ".", S_IFDIR | 0777 },
                                             { "./x", S_IFREG | 0644 },
                                             {} };
    struct stat st;

    g_assert_true(receive(box, "/x/.", "target", members, &none));
    g_assert_true(exists(box, "target/x"));
    g_assert_cmpint(stat(box->target, &st), ==, 0);
    g_assert_cmpint(st.st_mode, ==, S_IFDIR | 0755);
}

/* A header of a GNU sparse file, version 1.0, and a map of as many holes as
 * memory could hold. */
static void send_map(int fd)
{
    static const char records[] = "22 GNU.sparse.major=1\n"
                                  "22 GNU.sparse.minor=0\n"
                                  "25 GNU.sparse.name=x\n";
    g_autofree char *block = g_malloc(1 << 20);
    struct {
        char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8],
            type, link[100], magic[8], rest[247];
    } header[2] = { 0 };

    for (int i = 0; i < 2; i++) {
        unsigned sum = 0;

        g_snprintf(header[i].name, 100, "x");
        g_snprintf(header[i].mode, 8, "0000644");
        g_snprintf(header[i].size, 12, i ? "77777777777" : "%011o",
                   (unsigned)sizeof(records) - 1);
        memcpy(header[i].magic, "ustar\00000", 8);
        memset(header[i].sum, ' ', 8);
        header[i].type = i ? '0' : 'x';
        for (int at = 0; at < 512; at++)
            sum += ((unsigned char *)&header[i])[at];
        g_snprintf(header[i].sum, 8, "%06o", sum);
        g_assert_cmpint(write(fd, &header[i], 512), ==, 512);
        memset(block, 0, 512);
        memcpy(block, records, sizeof(records) - 1);
        if (i == 0)
            g_assert_cmpint(write(fd, block, 512), ==, 512);
    }
    for (size_t at = 0; at < 1 << 20; at += 4)
        memcpy(block + at, "0\n0\n", 4);
    memcpy(block, "9999999999\n0", 12);
    while (write(fd, block, 1 << 20) > 0)
        memcpy(block, "0\n0\n0\n0\n0\n0\n", 12);
}

static void test_memory(struct box *box, gconstpointer data)
{
    struct copy_plan *plan = cli_copy_parse("box:/x", box->target, &none, NULL);
    g_autoptr(GError) error = NULL;
    int ends[2];
    pid_t pid;

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), ==, 0);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        send_map(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    g_assert_false(cli_copy_run(plan, ends[0], &box->result, &error));
    close(ends[0]);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    g_test_message("%s", error->message);
    g_assert_false(exists(box, "target/x"));
    cli_copy_free(plan);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    signal(SIGPIPE, SIG_IGN);
#define ADD(name, function)                                                    \
    g_test_add("/cli-copy/" name, struct box, NULL, set_up, function, tear_down)
    g_test_add_func("/cli-copy/NAME:PATH and a host path are told apart",
                    test_places);
    g_test_add_func("/cli-copy/other places are refused with the remedy",
                    test_bad_places);
    ADD("only the name that was asked for is created", test_other_name);
    ADD("no link leads the copy elsewhere", test_links);
    ADD("a name in a directory is never a link that is followed", test_names);
    ADD("no undo log comes with a copy, nor gets a second name", test_undo_log);
    ADD("device nodes and set-id bits need root, -a and --allow-special",
        test_special);
    ADD("an existing directory keeps its mode", test_attributes_of_targets);
    ADD("a map of holes cannot use up the memory", test_memory);
    return g_test_run();
}

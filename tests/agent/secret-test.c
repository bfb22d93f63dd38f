/* SPDX-License-Identifier: Apache-2.0
 *
 * secret-test - secrets: their notation, where values come from, the policy.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/machine/secret.h"
#include "agent/machine/secret_source.h"
#include "common/errors.h"

#define PASSED_ON "value_of_stepback_secret_T"
#define VALUE     "s3cret-value"

static void expect_error(GError *error, const char *part)
{
    g_test_message("%s", error ? error->message : "no error");
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
    g_assert_nonnull(strstr(error->message, part));
    g_assert_null(strstr(error->message, VALUE));
}

/* ---- notation ------------------------------------------------------------ */

static void test_option(void)
{
    g_autoptr(GPtrArray) list = secret_list_new();
    const struct secret *secret;
    GError *error = NULL;

    secret_list_add_option(
        list, "TOKEN_1=command:pass a@b=c@api.example.org,B.example.org",
        &error);
    g_assert_no_error(error);
    secret = g_ptr_array_index(list, 0);
    g_assert_cmpstr(secret->name, ==, "TOKEN_1");
    g_assert_cmpstr(secret->value_from, ==, "command:pass a@b=c");
    g_assert_cmpstr(secret->hosts[1], ==, "B.example.org");
    g_assert_null(secret->hosts[2]);
    g_assert_cmpstr(secret->headers[0], ==, "authorization");
    g_assert_null(secret->value);
}

static const struct {
    const char *option, *part;
} bad[] = {
    { "T", "NAME=SOURCE@HOST" },
    { "T=env:X", "NAME=SOURCE@HOST" },
    { "T@a.org=env:X", "NAME=SOURCE@HOST" },
    { "T=env:X@", "it has no hosts" },
    { "T=env:X@a.org,", "'' is not a host" },
    { "T=env:X@*.a.org", "without wildcard" },
    { "T=env:X@a.org:443", "without wildcard, port" },
    { "T=env:X@a.org/v1", "without wildcard, port" },
    { "T=env:X@1.2.3.4", "'1.2.3.4' is not a host" },
    { "T=env:X@localhost", "'localhost' is not a host" },
    { "T=env:@a.org", "must come from" },
    { "T=x@a.org", "must come from" },
    { "T=file:x@a.org", "absolute" },
    { "1T=env:X@a.org", "the name must be" },
    { "=env:X@a.org", "the name must be" },
    { "T-T=env:X@a.org", "the name must be" },
    { "SAME=env:X@a.org", "twice" },
};

static void test_bad_options(void)
{
    g_autoptr(GPtrArray) list = secret_list_new();

    g_assert_true(secret_list_add_option(list, "SAME=env:X@a.org", NULL));
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;

        g_test_message("%s", bad[i].option);
        g_assert_false(secret_list_add_option(list, bad[i].option, &error));
        expect_error(error, bad[i].part);
    }
    g_assert_cmpuint(list->len, ==, 1);
}

/* ---- values -------------------------------------------------------------- */

/* Read the value of a source: a new list, or NULL with the error. */
static GPtrArray *read_from(const char *source, GError **error)
{
    g_autofree char *option = g_strdup_printf("T=%s@a.example.org", source);
    g_autoptr(GPtrArray) list = secret_list_new();

    g_assert_true(secret_list_add_option(list, option, NULL));
    return secret_list_read(list, error) ? g_steal_pointer(&list) : NULL;
}

static void expect_value(const char *source, const char *value)
{
    GError *error = NULL;
    g_autoptr(GPtrArray) list = read_from(source, &error);
    const struct secret *secret;
    g_auto(GStrv) env = NULL;

    g_assert_no_error(error);
    secret = g_ptr_array_index(list, 0);
    g_assert_cmpstr(secret->value, ==, value);
    g_assert_cmpuint(strlen(secret->placeholder), ==, strlen("stepback-") + 24);
    env = secret_list_env(list);
    g_assert_true(g_str_has_prefix(env[0], "T=stepback-"));
    g_assert_null(env[1]);
}

static void expect_failure(const char *source, const char *part)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(read_from(source, &error));
    expect_error(error, part);
}

static void test_sources(void)
{
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "secret-XXXXXX",
                                             NULL);
    g_autofree char *source = g_strconcat("file:", path, NULL);
    g_autofree char *most = g_strnfill(SECRET_VALUE_MAX, 'x');
    g_autofree char *more = g_strconcat(most, "x", NULL);
    int fd = g_mkstemp(path);

    g_assert_cmpint(fd, >=, 0);
    g_close(fd, NULL);
    g_free(source);
    source = g_strconcat("file:", path, NULL);
    g_assert_true(g_file_set_contents(path, VALUE "\r\n\n", -1, NULL));
    expect_value(source, VALUE);
    g_assert_true(g_file_set_contents(path, most, -1, NULL));
    expect_value(source, most);
    g_assert_true(g_file_set_contents(path, more, -1, NULL));
    expect_failure(source, "8 to 8192 bytes");
    g_assert_true(g_file_set_contents(path, VALUE "\0x", 14, NULL));
    expect_failure(source, "cannot read");
    g_unlink(path);
    expect_failure(source, "No such file");
    expect_failure("file:/dev", "not a regular file");
    expect_failure("file:/dev/null", "not a regular file");
    g_setenv("SECRET_TEST", VALUE, TRUE);
    expect_value("env:SECRET_TEST", VALUE);
    expect_failure("env:SECRET_NONE", "is not set");
    expect_value("command:echo " VALUE, VALUE);
}

static void test_bad_values(void)
{
    expect_failure("command:echo short", "8 to 8192 bytes");
    expect_failure("command:yes", "more than 64 KiB");
    expect_failure("command:yes | head -c 60000", "8 to 8192 bytes");
    expect_failure("command:echo", "is empty");
    expect_failure("command:echo " VALUE " | tee /dev/stderr; exit 3",
                   "failed (status 3); run it");
    expect_failure("command:printf '" VALUE "\\0x'", "a NUL byte");
    expect_failure("command:kill -9 $$", "failed (status 137)");
    expect_failure("command:printf '" VALUE "\\n" VALUE "'", "line end");
    expect_failure("command:echo ' " VALUE "'", "a space");
}

static void test_command_environment(void)
{
    /* Standard input and messages lead to nothing, and no file is open. */
    expect_value("command:readlink /proc/self/fd/0 /proc/self/fd/2 | sort -u",
                 "/dev/null");
    expect_value("command:for fd in 3 4 5 6 7 8 9 10 11 12; do "
                 "test ! -e /proc/$$/fd/$fd || echo $fd; done; printf no-other",
                 "no-other");
    expect_value("command:ps -o pid=,pgid=,sid= -p $$ | awk "
                 "'{ print $1 == $2, $2 == $3, \"and more\" }'",
                 "1 1 and more");
}

/* Or is a zombie, as long as its new parent does not wait for it. */
static bool has_ended(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid);
    g_autofree char *text = NULL;

    return !g_file_get_contents(path, &text, NULL, NULL) ||
           strstr(text, ") Z") != NULL;
}

static void test_deadline(void)
{
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "secret-XXXXXX",
                                             NULL);
    g_autofree char *source = NULL, *text = NULL, *problem = NULL;
    gint64 start = g_get_monotonic_time();
    char room[100];
    pid_t pid;

    g_close(g_mkstemp(path), NULL);
    source = g_strdup_printf("command:sleep 1000 & echo $! >%s; wait", path);
    for (gint64 ms = 100; !text || !*text; ms *= 2) {
        g_clear_pointer(&text, g_free);
        g_clear_pointer(&problem, g_free);
        problem = secret_source_read(source, room, sizeof(room),
                                     g_get_monotonic_time() +
                                         ms * G_TIME_SPAN_MILLISECOND);
        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    }
    g_assert_nonnull(strstr(problem, "within 30 seconds"));
    pid = (pid_t)atoi(text);
    while (!has_ended(pid) &&
           g_get_monotonic_time() < start + 20 * G_TIME_SPAN_SECOND)
        g_usleep(1000);
    g_assert_true(has_ended(pid));
    g_unlink(path);
}

/* A supervisor gets the values of variables from the command that starts it. */
static void test_passing_on(void)
{
    g_autoptr(GPtrArray) list = secret_list_new();
    g_auto(GStrv) env = NULL;

    g_setenv("SECRET_TEST", VALUE, TRUE);
    g_assert_true(
        secret_list_add_option(list, "T=env:SECRET_TEST@a.org", NULL));
    g_assert_true(secret_list_add_option(list, "U=command:echo x@a.org", NULL));
    env = secret_list_pass_on(list);
    g_assert_cmpstr(env[0], ==, PASSED_ON "=" VALUE);
    g_assert_null(env[1]);
    g_unsetenv("SECRET_TEST");
    g_setenv(PASSED_ON, VALUE, TRUE);
    expect_value("env:SECRET_TEST", VALUE);
    g_unsetenv(PASSED_ON);
}

/* ---- the policy ---------------------------------------------------------- */

static struct network_policy *policy_of(const char *const *entries)
{
    struct network_policy *policy = g_new0(struct network_policy, 1);

    policy->kind = NETWORK_ALLOW;
    for (; *entries; entries++)
        g_assert_true(network_policy_add(policy, *entries, NULL));
    return policy;
}

static void test_policy(void)
{
    static const char *const web[] = { "a.example.org", NULL };
    static const char *const raw[] = { "raw:a.example.org:443", NULL };
    static const char *const other[] = { "b.example.org", NULL };
    g_autofree struct network_policy *policy = policy_of(web);
    g_autofree struct network_policy *of_raw = policy_of(raw);
    g_autofree struct network_policy *of_other = policy_of(other);
    g_auto(GStrv) losses = NULL;
    g_autoptr(GPtrArray) list = secret_list_new();
    g_autoptr(GError) error = NULL;

    g_assert_true(secret_list_add_option(list, "T=env:X@A.example.org", NULL));
    g_assert_true(secret_list_check(list, policy, NULL));
    g_assert_false(network_policy_intercepts(policy));
    g_assert_true(secret_list_intercept(list, policy, NULL));
    g_assert_cmpint(network_policy_judge_name(policy, "a.example.org", 443), ==,
                    NAME_INTERCEPT);
    g_assert_false(secret_list_check(list, of_raw, &error));
    expect_error(error, "exclude each other");
    g_clear_error(&error);
    g_assert_false(secret_list_check(list, of_other, &error));
    expect_error(error, "does not allow A.example.org");
    g_clear_error(&error);
    losses = secret_list_losses(list, policy, of_other);
    g_assert_cmpuint(g_strv_length(losses), ==, 1);
    g_assert_nonnull(strstr(losses[0], "secret T: "));
    g_assert_nonnull(strstr(losses[0], "last host"));
    g_assert_nonnull(strstr(losses[0], "net allow A.example.org"));
    g_strfreev(losses);
    losses = secret_list_losses(list, of_other, of_other);
    g_assert_null(losses[0]);
    g_assert_true(secret_list_intercept(list, of_other, NULL));
    of_other->kind = NETWORK_OPEN;
    g_assert_false(secret_list_check(list, of_other, &error));
    expect_error(error, "--network=open,api.example.org");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/secret/option", test_option);
    g_test_add_func("/secret/errors-have-a-remedy", test_bad_options);
    g_test_add_func("/secret/values-come-from-three-sources", test_sources);
    g_test_add_func("/secret/bad-values-are-not-shown", test_bad_values);
    g_test_add_func("/secret/commands-have-no-terminal-and-no-files",
                    test_command_environment);
    g_test_add_func("/secret/commands-end-with-their-group-in-time",
                    test_deadline);
    g_test_add_func("/secret/variables-are-passed-on", test_passing_on);
    g_test_add_func("/secret/hosts-are-intercepted", test_policy);
    return g_test_run();
}

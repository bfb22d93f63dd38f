/* SPDX-License-Identifier: Apache-2.0
 *
 * secret - see secret.h.
 */
#include "agent/machine/secret.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "agent/base/core_dumps.h"
#include "agent/machine/secret_source.h"
#include "common/errors.h"
#include "common/host_environ.h"

#define PLACEHOLDER "stepback-"
#define ENV         "env:"
/* Not STEPBACK_..., which other processes get, too (host_environ.h). A shell
 * between here and the supervisor would drop a name that it cannot use. */
#define PASSED_ON "value_of_stepback_secret_"

enum {
    LETTERS = 24,
    NAME_LENGTH_MAX = 64,
    HOSTS_MAX = 64,
    ROOM = 2 * 8192,
    READ_S = 30
};

static const char *const usual_headers[] = { "authorization", "x-api-key",
                                             "api-key",       "x-goog-api-key",
                                             "private-token", NULL };

static void free_secret(gpointer data)
{
    struct secret *secret = data;

    g_free(secret->name);
    g_free(secret->value_from);
    g_strfreev(secret->hosts);
    g_strfreev(secret->headers);
    g_free(secret->placeholder);
    if (secret->value) {
        explicit_bzero(secret->value, ROOM);
        munmap(secret->value, ROOM);
    }
    g_free(secret);
}

GPtrArray *secret_list_new(void)
{
    return g_ptr_array_new_with_free_func(free_secret);
}

static gboolean fail(GError **error, const char *name, const char *text)
{
    g_autofree char *shown = network_name_printable(name);

    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, "secret '%s': %s",
                shown, text);
    return FALSE;
}

/* ---- definitions --------------------------------------------------------- */

static bool is_variable(const char *name)
{
    size_t length = strlen(name);

    return length > 0 && length <= NAME_LENGTH_MAX && !g_ascii_isdigit(*name) &&
           strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_") == length;
}

/* A placeholder in these would break each program of the guest. */
static bool is_needed(const char *name)
{
    static const char *const names[] = { "HOME",   "IFS",  "LANG",  "LOGNAME",
                                         "PATH",   "PWD",  "SHELL", "TERM",
                                         "TMPDIR", "USER", NULL };

    return g_strv_contains(names, name) || g_str_has_prefix(name, "LD_") ||
           g_str_has_prefix(name, "LC_");
}

static bool is_header(const char *name)
{
    /* The fields that divide the bytes into requests; proxy/secrets.c refuses
     * them, too. */
    static const char *const framing[] = {
        "connection", "content-length",    "expect",  "host",    "keep-alive",
        "te",         "transfer-encoding", "trailer", "upgrade",
    };
    size_t length = strlen(name);

    for (size_t i = 0; i < G_N_ELEMENTS(framing); i++) {
        if (g_ascii_strcasecmp(name, framing[i]) == 0)
            return false;
    }
    return length > 0 && length <= NAME_LENGTH_MAX &&
           strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_") == length;
}

static bool is_host(const char *host)
{
    struct network_name name;

    return network_name_is_meant(host) &&
           network_name_parse(host, &name, NULL) && !name.deny && !name.raw &&
           !name.intercept && !name.ask && !name.secret && !name.below &&
           name.port == 0 && !*name.method && !*name.path;
}

static bool is_source(const char *text)
{
    static const char *const kinds[] = { ENV, "file:/", "command:" };

    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (g_str_has_prefix(text, kinds[i]))
            return text[strlen(kinds[i])] != '\0';
    }
    return false;
}

/* Return the first that is not valid, or NULL. */
static const char *find_invalid(char *const *list,
                                bool (*is_valid)(const char *))
{
    while (*list && is_valid(*list))
        list++;
    return *list;
}

static bool has_name(const GPtrArray *list, const char *name)
{
    for (guint i = 0; i < list->len; i++) {
        const struct secret *secret = g_ptr_array_index(list, i);

        if (strcmp(secret->name, name) == 0)
            return true;
    }
    return false;
}

static const char *find_problem(const GPtrArray *list, const char *name,
                                const char *value_from, char *const *hosts,
                                char *const *headers)
{
    if (!is_variable(name))
        return "the name must be that of a variable, with letters, digits and "
               "underscores";
    if (is_needed(name))
        return "programs need the variable of this name; choose another one";
    if (has_name(list, name))
        return "it is given twice; remove one";
    if (list->len == SECRET_LIST_MAX)
        return "there can be at most 64 secrets";
    if (!is_source(value_from))
        return "the value must come from env:VARIABLE, file:/PATH (absolute) "
               "or command:LINE";
    if (!hosts || !*hosts)
        return "it has no hosts; add those that get the value, as in "
               "@api.example.org";
    if (g_strv_length((char **)hosts) > HOSTS_MAX ||
        g_strv_length((char **)headers) > HOSTS_MAX)
        return "it can have at most 64 hosts and 64 headers";
    return *headers ? NULL
                    : "it has no headers; omit them for the usual ones, or "
                      "name one such as authorization";
}

static gboolean check_words(const char *name, char *const *hosts,
                            char *const *headers, GError **error)
{
    const char *host = find_invalid(hosts, is_host);
    const char *word = host ? host : find_invalid(headers, is_header);
    g_autofree char *shown = word ? network_name_printable(word) : NULL;
    g_autofree char *text = NULL;

    if (!word)
        return TRUE;
    if (host)
        text = g_strdup_printf("'%s' is not a host's name; write one such as "
                               "api.example.org, without wildcard, port and "
                               "path",
                               shown);
    else
        text = g_strdup_printf("'%s' is not a header that can have a secret; "
                               "name one such as authorization",
                               shown);
    return fail(error, name, text);
}

gboolean secret_list_add(GPtrArray *list, const char *name,
                         const char *value_from, char *const *hosts,
                         char *const *headers, GError **error)
{
    char *const *used = headers ? headers : (char *const *)usual_headers;
    const char *problem = find_problem(list, name, value_from, hosts, used);
    struct secret *secret;

    if (problem)
        return fail(error, name, problem);
    if (!check_words(name, hosts, used, error))
        return FALSE;
    secret = g_new0(struct secret, 1);
    secret->name = g_strdup(name);
    secret->value_from = g_strdup(value_from);
    secret->hosts = g_strdupv((char **)hosts);
    secret->headers = g_strdupv((char **)used);
    g_ptr_array_add(list, secret);
    return TRUE;
}

gboolean secret_list_add_option(GPtrArray *list, const char *text,
                                GError **error)
{
    const char *equals = strchr(text, '='), *at = strrchr(text, '@');
    g_autofree char *name = g_strndup(text, strcspn(text, "=@"));
    g_autofree char *source = NULL;
    g_auto(GStrv) hosts = NULL;

    if (!equals || !at || at < equals)
        return fail(error, name,
                    "it must have the form NAME=SOURCE@HOST[,HOST], as in "
                    "TOKEN=env:TOKEN@api.example.org");
    source = g_strndup(equals + 1, (gsize)(at - equals - 1));
    hosts = g_strsplit(at + 1, ",", -1);
    return secret_list_add(list, name, source, hosts, NULL, error);
}

/* ---- values -------------------------------------------------------------- */

static char *make_placeholder(void)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    GString *text = g_string_new(PLACEHOLDER);
    unsigned char byte;

    while (text->len < strlen(PLACEHOLDER) + LETTERS) {
        if (getrandom(&byte, 1, 0) == 1 && byte < 26 * 9)
            g_string_append_c(text, letters[byte % 26]);
    }
    return g_string_free(text, FALSE);
}

static const char *value_problem(const char *value)
{
    size_t length = strlen(value);

    if (length == 0)
        return "its value is empty";
    if (length < SECRET_VALUE_MIN || length > SECRET_VALUE_MAX)
        return "its value must have 8 to 8192 bytes";
    for (const char *at = value; *at; at++) {
        if (g_ascii_iscntrl(*at))
            return "its value has a line end or another control character";
    }
    if (!g_utf8_validate(value, -1, NULL))
        return "its value is not UTF-8";
    return value[0] == ' ' || value[length - 1] == ' '
               ? "its value begins or ends with a space"
               : NULL;
}

static gboolean read_value(struct secret *secret, char *room, gint64 end,
                           GError **error)
{
    g_autofree char *passed_on = g_strconcat(PASSED_ON, secret->name, NULL);
    const char *given = host_environ_given(passed_on);
    g_autofree char *problem = NULL;
    const char *wrong;

    if (given)
        g_strlcpy(room, given, ROOM);
    else
        problem = secret_source_read(secret->value_from, room, ROOM, end);
    if (problem)
        return fail(error, secret->name, problem);
    wrong = value_problem(room);
    return !wrong || fail(error, secret->name, wrong);
}

static gboolean read_one(struct secret *secret, gint64 end, GError **error)
{
    char *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (room == MAP_FAILED)
        return fail(error, secret->name, "there is no memory for its value");
    madvise(room, ROOM, MADV_DONTDUMP);
    mlock(room, ROOM);
    if (!read_value(secret, room, end, error)) {
        explicit_bzero(room, ROOM);
        munmap(room, ROOM);
        return FALSE;
    }
    secret->value = room;
    secret->placeholder = make_placeholder();
    return TRUE;
}

gboolean secret_list_read(const GPtrArray *list, GError **error)
{
    gint64 end = g_get_monotonic_time() + READ_S * G_TIME_SPAN_SECOND;

    /* Messages to the proxy have the values, too. */
    if (list->len > 0)
        core_dumps_forbid();
    for (guint i = 0; i < list->len; i++) {
        struct secret *secret = g_ptr_array_index(list, i);

        if (!secret->value && !read_one(secret, end, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- use ----------------------------------------------------------------- */

gboolean secret_list_intercept(const GPtrArray *list,
                               struct network_policy *policy, GError **error)
{
    for (guint i = 0; i < list->len; i++) {
        const struct secret *secret = g_ptr_array_index(list, i);

        if (policy->kind == NETWORK_OPEN)
            return fail(error, secret->name,
                        "an open network does not look at names; list the "
                        "hosts, as in --network=api.example.org or "
                        "--network=open,api.example.org");
        for (char **host = secret->hosts; *host; host++) {
            g_autofree char *entry = g_strconcat("secret:", *host, NULL);

            if (!network_policy_add(policy, entry, error))
                return FALSE;
        }
    }
    return TRUE;
}

bool secret_host_is_allowed(const char *host,
                            const struct network_policy *policy)
{
    return network_policy_judge_name(policy, host, 443) != NAME_DENIED ||
           network_policy_judge_name(policy, host, 80) != NAME_DENIED;
}

static bool has_host(const struct secret *secret,
                     const struct network_policy *policy)
{
    for (char **host = secret->hosts; *host; host++) {
        if (secret_host_is_allowed(*host, policy))
            return true;
    }
    return false;
}

char *secret_describe_loss(const struct secret *secret, const char *host,
                           const struct network_policy *policy)
{
    bool excepted = network_policy_excepts_name(policy, host);

    return g_strdup_printf(
        "secret %s: the network policy does not allow %s any more%s; to allow "
        "it again: stepback net %s%s",
        secret->name, host,
        has_host(secret, policy) ? "" : ", the last host that gets it",
        excepted ? "rm deny:" : "allow ", host);
}

char **secret_list_losses(const GPtrArray *list,
                          const struct network_policy *before,
                          const struct network_policy *policy)
{
    GPtrArray *texts = g_ptr_array_new();

    for (guint i = 0; i < list->len; i++) {
        const struct secret *secret = g_ptr_array_index(list, i);

        for (char **host = secret->hosts; *host; host++) {
            if (secret_host_is_allowed(*host, before) &&
                !secret_host_is_allowed(*host, policy))
                g_ptr_array_add(texts,
                                secret_describe_loss(secret, *host, policy));
        }
    }
    g_ptr_array_add(texts, NULL);
    return (char **)g_ptr_array_free(texts, FALSE);
}

static gboolean check_hosts(const struct secret *secret,
                            const struct network_policy *policy, GError **error)
{
    for (char **host = secret->hosts; *host; host++) {
        g_autofree char *problem = NULL;

        if (secret_host_is_allowed(*host, policy))
            continue;
        problem = g_strdup_printf("the network policy does not allow %s; add "
                                  "it to --network",
                                  *host);
        return fail(error, secret->name, problem);
    }
    return TRUE;
}

gboolean secret_list_check(const GPtrArray *list,
                           const struct network_policy *policy, GError **error)
{
    g_autofree struct network_policy *copy = g_new(struct network_policy, 1);

    *copy = *policy;
    for (guint i = 0; i < list->len; i++) {
        if (!check_hosts(g_ptr_array_index(list, i), policy, error))
            return FALSE;
    }
    return secret_list_intercept(list, copy, error);
}

char **secret_list_env(const GPtrArray *list)
{
    GPtrArray *env = g_ptr_array_new();

    for (guint i = 0; i < list->len; i++) {
        const struct secret *secret = g_ptr_array_index(list, i);

        if (secret->placeholder)
            g_ptr_array_add(
                env, g_strconcat(secret->name, "=", secret->placeholder, NULL));
    }
    g_ptr_array_add(env, NULL);
    return (char **)g_ptr_array_free(env, FALSE);
}

char **secret_list_pass_on(const GPtrArray *list)
{
    GPtrArray *env = g_ptr_array_new();

    for (guint i = 0; i < list->len; i++) {
        const struct secret *secret = g_ptr_array_index(list, i);
        const char *from = secret->value_from;
        const char *value = g_str_has_prefix(from, ENV)
                                ? host_environ_given(from + strlen(ENV))
                                : NULL;

        if (value)
            g_ptr_array_add(
                env, g_strconcat(PASSED_ON, secret->name, "=", value, NULL));
    }
    g_ptr_array_add(env, NULL);
    return (char **)g_ptr_array_free(env, FALSE);
}

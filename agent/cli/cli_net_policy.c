/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_net_policy - see cli_net_policy.h.
 *
 * The supervisor replaces a policy as a whole. A change names the policy that
 * it was made of, and is made again if another one is in force by then.
 */
#include "agent/cli/cli_net_policy.h"

#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/network_entry.h"
#include "agent/cli/cli.h"
#include "agent/cli/cli_machine.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/wire/secret_json.h"
#include "common/errors.h"

#define NO_POLICY "the supervisor's answer has no network policy"

enum { ATTEMPTS = 50, ATTEMPT_US = 20 * 1000 };

/* Change the policy in force. ERROR_INVALID_FIELD. */
typedef gboolean change_fn(struct network_policy *policy, char **entries,
                           GError **error);

static gboolean fail(GError **error, const char *text)
{
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, text);
    return FALSE;
}

/* ---- the verbs ----------------------------------------------------------- */

static gboolean allow(struct network_policy *policy, char **entries,
                      GError **error)
{
    if (policy->kind == NETWORK_OPEN)
        return fail(error,
                    "the network is open and allows everything; to "
                    "allow only a list: " CLI_PROGRAM " net policy LIST");
    policy->kind = NETWORK_ALLOW;
    for (char **entry = entries; *entry; entry++) {
        if (strcmp(*entry, "dns") == 0)
            policy->dns = true;
        else if (!network_entry_add(policy, *entry, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean deny(struct network_policy *policy, char **entries,
                     GError **error)
{
    if (policy->kind == NETWORK_OPEN) {
        policy->kind = NETWORK_ALLOW;
        if (!network_policy_add(policy, "0.0.0.0/0", error) ||
            !network_policy_add(policy, "::/0", error))
            return FALSE;
    }
    policy->kind = NETWORK_ALLOW;
    for (char **entry = entries; *entry; entry++) {
        bool has_word = g_str_has_prefix(*entry, "deny:");
        g_autofree char *text = g_strconcat(has_word ? "" : "deny:", *entry,
                                            NULL);

        if (!network_entry_add(policy, text, error))
            return FALSE;
    }
    return TRUE;
}

/* Remove the text from a policy's list, which may have it several times. */
static bool remove_text(json_t *list, const char *text)
{
    bool found = false;

    for (size_t i = json_array_size(list); i-- > 0;) {
        if (strcmp(json_string_value(json_array_get(list, i)), text) == 0) {
            json_array_remove(list, i);
            found = true;
        }
    }
    return found;
}

/* Remove what the entry stands for: a preset has several. */
static gboolean remove_entry(json_t *policy, const char *entry, GError **error)
{
    g_autofree struct network_policy *wanted = g_new0(struct network_policy, 1);
    json_t *list = json_object_get(policy, "allow"), *texts, *value;
    bool found = false;
    size_t i;

    wanted->kind = NETWORK_ALLOW;
    if (strcmp(entry, "dns") == 0) {
        found = json_is_true(json_object_get(policy, "dns"));
        json_object_set_new(policy, "dns", json_false());
    } else if (!network_entry_add(wanted, entry, error)) {
        return FALSE;
    }
    texts = network_policy_to_json(wanted);
    json_array_foreach(json_object_get(texts, "allow"), i, value)
    {
        found |= remove_text(list, json_string_value(value));
    }
    json_decref(texts);
    if (!found)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "the network policy has no entry '%s'; '" CLI_PROGRAM
                    " net policy' lists them",
                    entry);
    return found;
}

static gboolean remove_entries(struct network_policy *policy, char **entries,
                               GError **error)
{
    json_t *object = network_policy_to_json(policy);
    gboolean ok = json_is_object(object) ||
                  fail(error,
                       "the network policy is no list of entries; to "
                       "allow only a list: " CLI_PROGRAM " net policy LIST");

    for (char **entry = entries; ok && *entry; entry++)
        ok = remove_entry(object, *entry, error);
    ok = ok && network_policy_parse(object, policy, error);
    json_decref(object);
    return ok;
}

/* The value of --network. */
static gboolean replace(struct network_policy *policy, char **entries,
                        GError **error)
{
    const struct cli_machine machine = { .network = entries[0] };

    return cli_machine_network(&machine, policy, error);
}

static const struct verb {
    const char *name;
    change_fn *change;
} verbs[] = {
    { "policy", replace },
    { "allow", allow },
    { "deny", deny },
    { "rm", remove_entries },
};

static const struct verb *find_verb(const char *word)
{
    for (size_t i = 0; word && i < G_N_ELEMENTS(verbs); i++) {
        if (strcmp(word, verbs[i].name) == 0)
            return &verbs[i];
    }
    return NULL;
}

bool cli_net_policy_is_verb(const char *word)
{
    return find_verb(word) != NULL;
}

/* ---- the sandbox --------------------------------------------------------- */

/* Print an entry a line, as --network takes them. */
static void print_policy(json_t *policy, bool json)
{
    json_t *list = json_object_get(policy, "allow"), *entry;
    const char *word = json_string_value(policy);
    size_t i;

    if (json) {
        cli_place_print_json(policy);
        return;
    }
    if (word)
        printf("%s\n", strcmp(word, "disabled") == 0 ? "none" : word);
    json_array_foreach(list, i, entry)
    {
        g_autofree char *text = cli_options_printable(json_string_value(entry));

        printf("%s\n", text);
    }
    if (json_is_true(json_object_get(policy, "dns")))
        printf("dns\n");
}

/* Return the policy in force: a new reference, or NULL and error. */
static json_t *ask_policy(const struct sandbox_record *record, GError **error)
{
    json_t *answer = cli_sandbox_ask(record, "network.status", NULL, error);
    json_t *policy = json_incref(json_object_get(answer, "network_policy"));

    if (answer && !policy)
        fail(error, NO_POLICY);
    json_decref(answer);
    return policy;
}

/* Make the change once. now: the policy in force, or NULL if the change does
 * not depend on it. Return the new policy: a new reference, or NULL and error.
 */
static json_t *try_change(const struct sandbox_record *record,
                          const struct verb *verb, char **entries, json_t *now,
                          GError **error)
{
    g_autofree struct network_policy *policy = g_new0(struct network_policy, 1);
    json_t *answer, *result;

    if ((now && !network_policy_parse(now, policy, error)) ||
        !verb->change(policy, entries, error))
        return NULL;
    answer = cli_sandbox_ask(record, "session.configure_network",
                             json_pack("{s:o, s:O*}", "network_policy",
                                       network_policy_to_json(policy),
                                       "expected", now),
                             error);
    result = json_incref(json_object_get(answer, "network_policy"));
    if (answer && !result)
        fail(error, NO_POLICY);
    json_decref(answer);
    return result;
}

static json_t *change(const struct sandbox_record *record,
                      const struct verb *verb, char **entries, GError **error)
{
    json_t *now, *result;

    if (verb->change == replace)
        return try_change(record, verb, entries, NULL, error);
    for (int attempt = 1;; attempt++) {
        g_autoptr(GError) cause = NULL;

        now = ask_policy(record, error);
        if (!now)
            return NULL;
        result = try_change(record, verb, entries, now, &cause);
        json_decref(now);
        if (result)
            return result;
        if (error_code_of(cause) != ERROR_BUSY || attempt == ATTEMPTS) {
            g_propagate_error(error, g_steal_pointer(&cause));
            return NULL;
        }
        g_usleep(ATTEMPT_US);
    }
}

/* An entry that is also an exception stays without effect: say so. */
static void warn_of_exceptions(json_t *policy, char **entries)
{
    json_t *list = json_object_get(policy, "allow"), *value;
    size_t i;

    json_array_foreach(list, i, value)
    {
        const char *text = json_string_value(value);
        const char *denied = text && g_str_has_prefix(text, "deny:")
                                 ? text + strlen("deny:")
                                 : NULL;

        if (!denied || !g_strv_contains((const char *const *)entries, denied))
            continue;
        g_autofree char *warning = g_strdup_printf(
            "'%s' still excepts it; remove that with: " CLI_PROGRAM
            " net rm %s",
            text, text);
        cli_place_warn(warning);
    }
}

/* A secret whose host the change has refused is not sent to it any more. */
static void warn_of_secrets(const struct sandbox_record *record, json_t *policy)
{
    g_autofree struct network_policy *parsed = g_new(struct network_policy, 1);
    json_t *session = json_object_get(record->config, "session");
    g_autoptr(GPtrArray) secrets = secret_list_new();

    if (!network_policy_parse(policy, parsed, NULL) ||
        !secrets_from_json(json_object_get(session, "secrets"), secrets, NULL))
        return;
    for (guint i = 0; i < secrets->len; i++) {
        const struct secret *secret = g_ptr_array_index(secrets, i);

        for (char **host = secret->hosts; *host; host++) {
            g_autofree char *text = secret_describe_loss(secret, *host, parsed);

            if (!secret_host_is_allowed(*host, parsed))
                cli_place_warn(text);
        }
    }
}

/* Entries are words, or are separated by commas: a new list. */
static char **split(char **words)
{
    g_autofree char *all = g_strjoinv(",", words);

    return g_strsplit(all, ",", -1);
}

int cli_net_policy(const char *name, char **words, bool json)
{
    const struct verb *verb = find_verb(words[0]);
    g_auto(GStrv) entries = verb->change == replace ? g_strdupv(words + 1)
                                                    : split(words + 1);
    bool shows = verb->change == replace && !words[1];
    g_autoptr(sandbox_record) record = NULL;
    g_autoptr(GError) error = NULL;
    json_t *policy;

    if (!words[1] && !shows)
        return cli_options_wrong("net: give an entry: " CLI_PROGRAM
                                 " net [NAME] %s ENTRY...",
                                 verb->name);
    if (verb->change == replace && words[1] && words[2])
        return cli_options_wrong("net: separate the policy's entries by "
                                 "commas: " CLI_PROGRAM " net policy %s,%s",
                                 words[1], words[2]);
    record = cli_sandbox_find(name, CLI_SANDBOX_RUNNING);
    if (!record)
        return CLI_FAILED;
    policy = shows ? ask_policy(record, &error)
                   : change(record, verb, entries, &error);
    if (!policy) {
        cli_options_failed("%s", error->message);
        return CLI_FAILED;
    }
    print_policy(policy, json);
    if (verb->change == allow)
        warn_of_exceptions(policy, entries);
    else if (!shows)
        warn_of_secrets(record, policy);
    json_decref(policy);
    return CLI_OK;
}

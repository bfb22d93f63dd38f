/* SPDX-License-Identifier: Apache-2.0
 *
 * secrets - see secrets.h.
 */
#include "proxy/secrets.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "common/errors.h"
#include "common/log.h"
#include "common/wiped.h"
#include "common/network_name.h"
#include "proxy/replacements.h"

_Static_assert((int)SECRETS_MAX <= (int)REPLACEMENTS_MAX, "one for each");

enum { NAME_MAX_LENGTH = 64, LIST_MAX = 64, FIELD_MAX = 32 << 10 };

struct secret {
    char *name, *placeholder;
    const char *value; /* in the locked memory */
    size_t value_len;
    GPtrArray *hosts; /* normalized names; "*." in front: those below it */
    GPtrArray *headers;
};

struct secrets {
    struct secret list[SECRETS_MAX]; /* the longest value first */
    unsigned count;
    char *memory; /* the values */
    size_t size;
    struct replacements in, out; /* placeholder to value, and back */
};

/* ---- memory -------------------------------------------------------------- */

static void clear(struct secrets *secrets)
{
    for (unsigned i = 0; i < secrets->count; i++) {
        struct secret *secret = &secrets->list[i];

        g_free(secret->name);
        g_free(secret->placeholder);
        g_clear_pointer(&secret->hosts, g_ptr_array_unref);
        g_clear_pointer(&secret->headers, g_ptr_array_unref);
    }
    if (secrets->memory) {
        explicit_bzero(secrets->memory, secrets->size);
        munmap(secrets->memory, secrets->size);
    }
    *secrets = (struct secrets){ 0 };
}

/* Make room for all values. */
static gboolean allocate(struct secrets *secrets, size_t size, GError **error)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "secrets: no memory for their values: %s",
                    g_strerror(errno));
        return FALSE;
    }
    if (mlock(memory, size) < 0)
        log_warn(LOG_SESSION,
                 "secrets: cannot lock the memory of their values, which may "
                 "be swapped out: %s; raise the limit of locked memory",
                 g_strerror(errno));
    madvise(memory, size, MADV_DONTDUMP);
    secrets->memory = memory;
    secrets->size = size;
    return TRUE;
}

struct secrets *secrets_new(void)
{
    return g_new0(struct secrets, 1);
}

void secrets_free(struct secrets *secrets)
{
    if (!secrets)
        return;
    clear(secrets);
    g_free(secrets);
}

/* ---- configuration ------------------------------------------------------- */

/* text must not have any part of a value. */
static gboolean fail(GError **error, const char *name, const char *text)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, "secret '%s': %s",
                name, text);
    return FALSE;
}

static bool has_only(const char *text, size_t min, size_t max,
                     const char *others)
{
    size_t len = text ? strlen(text) : 0;

    for (size_t i = 0; i < len; i++) {
        if (!g_ascii_isalnum(text[i]) && !strchr(others, text[i]))
            return false;
    }
    return len >= min && len <= max;
}

static bool is_value(json_t *value)
{
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);

    if (!text || len < SECRETS_VALUE_MIN || len > SECRETS_VALUE_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (g_ascii_iscntrl(text[i]))
            return false;
    }
    return text[0] != ' ' && text[len - 1] != ' ';
}

/* Return a host in the form of the list, or NULL: a new string. */
static char *normalize_host(const char *host)
{
    bool below = g_str_has_prefix(host, "*.");
    char name[NETWORK_NAME_MAX + 1];

    return network_name_normalize(host + (below ? 2 : 0), name)
               ? g_strconcat(below ? "*." : "", name, NULL)
               : NULL;
}

/* Return a header's name, or NULL: a new string. The fields that divide the
 * bytes into requests cannot have a secret. */
static char *normalize_header(const char *header)
{
    static const char *const framing[] = {
        "connection", "content-length",    "expect",  "host",    "keep-alive",
        "te",         "transfer-encoding", "trailer", "upgrade",
    };
    g_autofree char *lower = g_ascii_strdown(header, -1);

    if (!has_only(lower, 1, NAME_MAX_LENGTH, "-_"))
        return NULL;
    for (unsigned i = 0; i < G_N_ELEMENTS(framing); i++) {
        if (strcmp(lower, framing[i]) == 0)
            return NULL;
    }
    return g_steal_pointer(&lower);
}

/* Return a list of texts, or NULL. */
static GPtrArray *read_list(json_t *list, char *(*normalize)(const char *text))
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    json_t *value;
    size_t i;

    if (json_array_size(list) == 0 || json_array_size(list) > LIST_MAX)
        return NULL;
    json_array_foreach(list, i, value)
    {
        const char *text = json_string_value(value);
        char *normalized = text ? normalize(text) : NULL;

        if (!normalized)
            return NULL;
        g_ptr_array_add(texts, normalized);
    }
    return g_steal_pointer(&texts);
}

/* Read all but the value into the secret, which is then cleared by clear(). */
static gboolean read_secret(struct secret *secret, json_t *object,
                            GError **error)
{
    const char *name = json_string_value(json_object_get(object, "name"));
    const char *placeholder = json_string_value(
        json_object_get(object, "placeholder"));
    json_t *value = json_object_get(object, "value");

    if (!has_only(name, 1, NAME_MAX_LENGTH, "_-."))
        return fail(error, "?",
                    "its name must have 1 to 64 letters, digits, '_', '-' "
                    "and '.'");
    if (!has_only(placeholder, SECRETS_PLACEHOLDER_MIN, SECRETS_PLACEHOLDER_MAX,
                  "_-"))
        return fail(error, name,
                    "its placeholder must have 8 to 64 letters, digits, '_' "
                    "and '-'");
    if (!is_value(value))
        return fail(error, name,
                    "its value must have 8 to 8192 bytes, no control "
                    "characters, and no space at its ends");
    secret->name = g_strdup(name);
    secret->placeholder = g_strdup(placeholder);
    secret->value_len = json_string_length(value);
    secret->hosts = read_list(json_object_get(object, "hosts"), normalize_host);
    secret->headers = read_list(json_object_get(object, "headers"),
                                normalize_header);
    if (!secret->hosts)
        return fail(error, name, "its hosts must be 1 to 64 names");
    if (!secret->headers)
        return fail(error, name,
                    "its headers must be 1 to 64 names of header fields, none "
                    "of those that HTTP itself needs");
    return TRUE;
}

static int compare(const void *a, const void *b)
{
    const struct secret *first = a, *second = b;

    return (first->value_len < second->value_len) -
           (first->value_len > second->value_len);
}

/* Replacing would otherwise depend on the order. */
static gboolean check_pairs(const struct secrets *secrets, GError **error)
{
    for (unsigned i = 0; i < secrets->count; i++) {
        const struct secret *a = &secrets->list[i];

        for (unsigned j = 0; j < secrets->count; j++) {
            const struct secret *b = &secrets->list[j];

            if (i != j && strstr(a->placeholder, b->placeholder))
                return fail(error, a->name,
                            "its placeholder includes that of another secret");
            if (memmem(a->placeholder, strlen(a->placeholder), b->value,
                       b->value_len) ||
                memmem(b->value, b->value_len, a->placeholder,
                       strlen(a->placeholder)))
                return fail(error, a->name,
                            "a value includes its placeholder, or the "
                            "placeholder a value");
        }
    }
    return TRUE;
}

static void list_replacements(struct secrets *secrets)
{
    for (unsigned i = 0; i < secrets->count; i++) {
        const struct secret *secret = &secrets->list[i];
        struct replacement out = { secret->value, secret->placeholder,
                                   secret->value_len,
                                   strlen(secret->placeholder) };

        secrets->out.list[i] = out;
        secrets->in.list[i] = (struct replacement){ out.to, out.from,
                                                    out.to_len, out.from_len };
    }
    secrets->out.count = secrets->in.count = secrets->count;
}

/* Copy the values to the locked memory. */
static gboolean copy_values(struct secrets *secrets, json_t *list,
                            GError **error)
{
    size_t size = 0, at = 0;

    for (unsigned i = 0; i < secrets->count; i++)
        size += secrets->list[i].value_len;
    if (!allocate(secrets, size, error))
        return FALSE;
    for (unsigned i = 0; i < secrets->count; i++) {
        struct secret *secret = &secrets->list[i];
        json_t *value = json_object_get(json_array_get(list, i), "value");

        secret->value = memcpy(secrets->memory + at, json_string_value(value),
                               secret->value_len);
        at += secret->value_len;
    }
    return TRUE;
}

static gboolean read_all(struct secrets *secrets, json_t *list, GError **error)
{
    size_t count = json_array_size(list);

    if (!json_is_array(list) || count > SECRETS_MAX) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "the field 'secrets' must be a list of at most %d "
                    "secrets",
                    SECRETS_MAX);
        return FALSE;
    }
    for (size_t i = 0; i < count; i++) {
        secrets->count++;
        if (!read_secret(&secrets->list[i], json_array_get(list, i), error))
            return FALSE;
    }
    if (count == 0)
        return TRUE;
    if (!copy_values(secrets, list, error))
        return FALSE;
    qsort(secrets->list, count, sizeof(secrets->list[0]), compare);
    list_replacements(secrets);
    return check_pairs(secrets, error);
}

gboolean secrets_configure(struct secrets *secrets, json_t *list,
                           GError **error)
{
    struct secrets *wanted = secrets_new();

    if (!read_all(wanted, list, error)) {
        secrets_free(wanted);
        return FALSE;
    }
    clear(secrets);
    *secrets = *wanted;
    g_free(wanted);
    return TRUE;
}

/* ---- requests ------------------------------------------------------------ */

static bool has_host(const struct secret *secret, const char *host)
{
    for (guint i = 0; i < secret->hosts->len; i++) {
        const char *entry = secret->hosts->pdata[i];
        bool below = entry[0] == '*';

        if (network_name_matches(entry + (below ? 2 : 0), below, host))
            return true;
    }
    return false;
}

static bool has_header(const struct secret *secret, const char *header)
{
    for (guint i = 0; i < secret->headers->len; i++) {
        if (g_ascii_strcasecmp(secret->headers->pdata[i], header) == 0)
            return true;
    }
    return false;
}

/* A field of a request, and the connection it is for. */
struct field {
    const char *host;
    bool tls;
    const char *header;
};

/* Return why the field must not have this secret, or NULL. */
static const char *find_problem(const struct secret *secret,
                                const struct field *field)
{
    char host[NETWORK_NAME_MAX + 1];

    if (!network_name_normalize(field->host, host) || !has_host(secret, host))
        return "a secret's placeholder is for another host";
    if (!field->tls)
        return "a secret's placeholder is sent without TLS";
    if (!has_header(secret, field->header))
        return "a secret's placeholder is in a header field that the secret "
               "does not list";
    return NULL;
}

/* Replace the placeholders in text; append the whole result to out. */
static enum secrets_verdict put_in(struct secrets *secrets,
                                   const struct field *field, const char *text,
                                   size_t len, GString *out,
                                   const char **ret_reason)
{
    for (unsigned i = 0; i < secrets->count; i++) {
        const struct secret *secret = &secrets->list[i];
        const char *problem;

        if (!memmem(text, len, secret->placeholder,
                    strlen(secret->placeholder)))
            continue;
        problem = find_problem(secret, field);
        if (problem) {
            *ret_reason = problem;
            return SECRETS_REFUSED;
        }
    }
    return replacements_apply(&secrets->in, text, len, out) ? SECRETS_REPLACED
                                                            : SECRETS_NONE;
}

/* The same within "Basic CREDENTIALS". */
static enum secrets_verdict put_in_basic(struct secrets *secrets,
                                         const struct field *field,
                                         const char *value, size_t len,
                                         GString *out, const char **ret_reason)
{
    static const char scheme[] = "Basic ";
    size_t start = strlen(scheme);
    g_autoptr(GByteArray) bytes = NULL;
    enum secrets_verdict verdict;
    GString *plain;

    if (len < start || g_ascii_strncasecmp(value, scheme, start) != 0)
        return SECRETS_NONE;
    while (start < len && value[start] == ' ')
        start++;
    bytes = replacements_decode(value + start, len - start);
    if (!bytes)
        return SECRETS_NONE;
    plain = g_string_new(NULL);
    verdict = put_in(secrets, field, (char *)bytes->data, bytes->len, plain,
                     ret_reason);
    if (verdict == SECRETS_REPLACED) {
        g_autofree char *text = g_base64_encode((guchar *)plain->str,
                                                plain->len);

        wiped_append(out, scheme, strlen(scheme));
        wiped_append(out, text, strlen(text));
        explicit_bzero(text, strlen(text));
    }
    wiped_free(plain);
    return verdict;
}

enum secrets_verdict secrets_put_in(struct secrets *secrets, const char *host,
                                    bool tls, const char *header,
                                    const char *value, size_t len,
                                    GString *ret_value, const char **ret_reason)
{
    const struct field field = { host, tls, header };
    enum secrets_verdict verdict;

    g_string_truncate(ret_value, 0);
    verdict = put_in(secrets, &field, value, len, ret_value, ret_reason);
    if (verdict == SECRETS_NONE)
        verdict = put_in_basic(secrets, &field, value, len, ret_value,
                               ret_reason);
    if (verdict == SECRETS_REPLACED && ret_value->len > FIELD_MAX) {
        *ret_reason = "a header field with its secrets exceeds 32 KiB";
        verdict = SECRETS_REFUSED;
    }
    return verdict;
}

/* ---- responses ----------------------------------------------------------- */

/* The secrets of a host: what another one sends is none of theirs, and would
 * show the guest which of its guesses is a value. */
static void choose(const struct secrets *secrets, const char *host,
                   struct replacements *ret_out)
{
    char name[NETWORK_NAME_MAX + 1];

    ret_out->count = 0;
    for (unsigned i = 0;
         i < secrets->count && network_name_normalize(host, name); i++) {
        if (has_host(&secrets->list[i], name))
            ret_out->list[ret_out->count++] = secrets->out.list[i];
    }
}

bool secrets_take_out(struct secrets *secrets, const char *host,
                      const char *value, size_t len, GString *ret_value)
{
    struct replacements out;
    GString *other;
    bool changed;

    g_string_truncate(ret_value, 0);
    choose(secrets, host, &out);
    if (out.count == 0)
        return false;
    changed = replacements_apply(&out, value, len, ret_value);
    for (int pass = 0; pass < 2; pass++) {
        const char *text = changed ? ret_value->str : value;
        size_t text_len = changed ? ret_value->len : len;
        bool found;

        other = g_string_new(NULL);
        found = pass == 0
                    ? replacements_apply_percent(&out, text, text_len, other)
                    : replacements_apply_base64(&out, text, text_len, other);
        if (found) {
            g_string_truncate(ret_value, 0);
            wiped_append(ret_value, other->str, other->len);
            changed = true;
        }
        wiped_free(other);
    }
    return changed;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * certificates - see certificates.h.
 */
#include "agent/base/certificates.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"

#define BEGIN       "-----BEGIN "
#define END         "-----END "
#define DASHES      "-----"
#define CERTIFICATE "CERTIFICATE"

enum {
    LINE = 64,
    MAX_DEPTH = 4,
    MAX_FILES = 1000,
    TAG_BIT_STRING = 0x03,
    TAG_SEQUENCE = 0x30,
};

/* Of Debian, Fedora, Arch Linux and openSUSE. */
#define HOST_FOLDERS                                                           \
    "/usr/local/share/ca-certificates:/etc/pki/ca-trust/source/anchors:"       \
    "/etc/ca-certificates/trust-source/anchors:/etc/pki/trust/anchors"

static gboolean fail(GError **error, const char *text)
{
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, text);
    return FALSE;
}

/* ---- DER ----------------------------------------------------------------- */

struct der {
    const unsigned char *at, *end;
};

/* Take the next element if it has this tag; *ret_content: what it contains. */
static bool take_element(struct der *der, unsigned char tag,
                         struct der *ret_content)
{
    const unsigned char *p = der->at;
    size_t len, octets;

    if (der->end - p < 2 || p[0] != tag)
        return false;
    len = p[1];
    p += 2;
    if (len & 0x80) {
        octets = len & 0x7f;
        if (octets == 0 || octets > 3 || (size_t)(der->end - p) < octets)
            return false;
        for (len = 0; octets > 0; octets--)
            len = len << 8 | *p++;
    }
    if ((size_t)(der->end - p) < len)
        return false;
    *ret_content = (struct der){ p, p + len };
    der->at = p + len;
    return true;
}

/* Return whether the bytes have the form of X.509's Certificate: a sequence of
 * two sequences and a signature. A private key has an integer first. */
static bool is_certificate(const void *data, size_t len)
{
    struct der all = { data, (const unsigned char *)data + len };
    struct der fields, field;

    return take_element(&all, TAG_SEQUENCE, &fields) && all.at == all.end &&
           take_element(&fields, TAG_SEQUENCE, &field) &&
           take_element(&fields, TAG_SEQUENCE, &field) &&
           take_element(&fields, TAG_BIT_STRING, &field) &&
           fields.at == fields.end;
}

static void add_der(GString *pem, const void *data, size_t len)
{
    g_autofree char *text = g_base64_encode(data, len);
    g_autoptr(GString) block = g_string_new(BEGIN CERTIFICATE DASHES "\n");

    for (size_t at = 0; text[at]; at += strnlen(text + at, LINE))
        g_string_append_printf(block, "%.*s\n", LINE, text + at);
    g_string_append(block, END CERTIFICATE DASHES "\n");
    if (!strstr(pem->str, block->str))
        g_string_append(pem, block->str);
}

/* ---- PEM ----------------------------------------------------------------- */

/* Add the certificate of a block's base64 text. */
static bool add_block(GString *pem, const char *text, size_t len)
{
    g_autofree char *copy = g_strndup(text, len);
    g_autofree guchar *der = NULL;
    gsize der_len;
    size_t used = strspn(copy,
                         G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "+/= \t\r\n");

    if (used != len)
        return false;
    der = g_base64_decode(copy, &der_len);
    if (!is_certificate(der, der_len))
        return false;
    add_der(pem, der, der_len);
    return true;
}

/* Add one block, from its label on. Set *text to what follows it. */
static gboolean take_block(GString *pem, const char **text, GError **error)
{
    const char *label = *text, *body = strstr(label, DASHES);
    g_autofree char *name = body ? g_strndup(label, (gsize)(body - label))
                                 : NULL;
    g_autofree char *last = g_strconcat(END, name, DASHES, NULL);
    const char *end = body ? strstr(body, last) : NULL;

    if (!end)
        return fail(error, "a PEM block does not end; the file is damaged");
    *text = end + strlen(last);
    body += strlen(DASHES);
    if (strstr(name, "PRIVATE KEY"))
        return fail(error, "there is a private key in it; use a file that has "
                           "certificates only");
    if (strcmp(name, CERTIFICATE) != 0)
        return TRUE;
    return add_block(pem, body, (size_t)(end - body)) ||
           fail(error, "a certificate in it is damaged");
}

static gboolean add_pem(GString *pem, const char *data, GError **error)
{
    const char *text = data;
    bool found = false;

    while ((text = strstr(text, BEGIN))) {
        found |= g_str_has_prefix(text, BEGIN CERTIFICATE DASHES);
        text += strlen(BEGIN);
        if (!take_block(pem, &text, error))
            return FALSE;
    }
    return found || fail(error, "there is no certificate in it; use a file of "
                                "X.509 certificates, in PEM or DER");
}

gboolean certificates_add(GString *pem, const char *data, size_t len,
                          GError **error)
{
    size_t before = pem->len;
    g_autofree char *text = NULL;
    gboolean ok = TRUE;

    if (is_certificate(data, len)) {
        add_der(pem, data, len);
    } else {
        text = g_strndup(data, len);
        ok = add_pem(pem, text, error);
    }
    if (ok && pem->len > CERTIFICATES_MAX)
        ok = fail(error, "the certificates exceed 512 KiB in all");
    if (!ok)
        g_string_truncate(pem, before);
    return ok;
}

/* ---- files --------------------------------------------------------------- */

/* Symlinks are followed: Debian's local certificates may be links. */
gboolean certificates_add_file(GString *pem, const char *path, GError **error)
{
    g_autofree char *data = NULL;
    char *real = realpath(path, NULL);
    size_t len;
    int rc = real ? fd_read_file(AT_FDCWD, real, CERTIFICATES_MAX, &data, &len)
                  : -errno;

    free(real);
    if (rc < 0)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, "%s: %s", path,
                    rc == -EBADMSG ? "not a regular file"
                    : rc == -EFBIG ? "more than 512 KiB"
                                   : g_strerror(-rc));
    else if (!certificates_add(pem, data, len, error))
        g_prefix_error(error, "%s: ", path);
    else
        return TRUE;
    return FALSE;
}

static gint compare(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_folder(GString *pem, const char *path, unsigned depth,
                       unsigned *files)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    const char *name;

    while (dir && (name = g_dir_read_name(dir)) && (*files)++ < MAX_FILES)
        g_ptr_array_add(names, g_build_filename(path, name, NULL));
    g_ptr_array_sort(names, compare);
    for (guint i = 0; i < names->len; i++) {
        const char *file = g_ptr_array_index(names, i);
        g_autoptr(GError) error = NULL;
        struct stat st;
        bool is_folder = lstat(file, &st) == 0 && S_ISDIR(st.st_mode);

        if (is_folder && depth < MAX_DEPTH)
            add_folder(pem, file, depth + 1, files);
        else if (!is_folder && !certificates_add_file(pem, file, &error))
            log_info(LOG_SESSION, "certificate skipped: %s", error->message);
    }
}

void certificates_add_host(GString *pem)
{
    const char *given = g_getenv("STEPBACK_CERTIFICATE_PATH");
    g_auto(GStrv) folders = g_strsplit(given ? given : HOST_FOLDERS, ":", -1);
    unsigned files = 0;

    for (char **folder = folders; *folder; folder++) {
        if (g_path_is_absolute(*folder))
            add_folder(pem, *folder, 0, &files);
    }
}

unsigned certificates_count(const char *pem)
{
    unsigned count = 0;

    while (pem && (pem = strstr(pem, BEGIN CERTIFICATE DASHES))) {
        count++;
        pem += strlen(BEGIN);
    }
    return count;
}

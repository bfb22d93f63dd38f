/* SPDX-License-Identifier: Apache-2.0
 *
 * setup - see setup.h.
 */
#include "shim/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Relative to the root. */
#define HOST_FILE   "usr/local/share/ca-certificates/stepback-host.crt"
#define BUNDLE      "etc/ssl/certs/ca-certificates.crt"
#define OPENSSL     "usr/lib/ssl/cert.pem"
#define GIT_FILE    "etc/stepback/gitconfig"
#define GIT_SYSTEM  "etc/gitconfig"
#define FRESH       ".stepback-new"
#define BEGIN       "# BEGIN certificates of the host (stepback)\n"
#define END         "# END certificates of the host (stepback)\n"
#define GIT_INCLUDE "[include]\n\tpath = /" GIT_FILE "\n"

static int root = -1;
static bool has_certificates, has_bundle;

/* Programs with certificates of their own ignore the system's. */
static const char *const variables[SETUP_VARIABLES] = {
    "NODE_EXTRA_CA_CERTS=/" HOST_FILE, "DENO_CERT=/" HOST_FILE,
    "SSL_CERT_FILE=/" BUNDLE,          "REQUESTS_CA_BUNDLE=/" BUNDLE,
    "GIT_SSL_CAINFO=/" BUNDLE,         "CURL_CA_BUNDLE=/" BUNDLE,
    "CARGO_HTTP_CAINFO=/" BUNDLE,      "PIP_CERT=/" BUNDLE,
    "AWS_CA_BUNDLE=/" BUNDLE,
};

void setup_open(const char *path)
{
    if (root >= 0)
        close(root);
    root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

bool setup_is_open(void)
{
    return root >= 0;
}

/* A bundle that has nothing but the host's certificates does not replace those
 * that a program brings. */
const char *setup_variable(size_t index)
{
    size_t count = !has_certificates ? 0 : has_bundle ? SETUP_VARIABLES : 2;

    return index < count ? variables[index] : NULL;
}

/* ---- files --------------------------------------------------------------- */

/* Text in memory; mapped: it must be unmapped. */
struct text {
    const char *at;
    size_t len;
    bool mapped;
};

static struct text text_of(const char *string)
{
    return (struct text){ string, strlen(string), false };
}

/* Map a file; one that is missing is empty. */
static int read_file(const char *path, struct text *ret_text)
{
    int fd = openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    void *at;

    *ret_text = (struct text){ .at = "" };
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    at = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0
             ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
             : MAP_FAILED;
    close(fd);
    if (at != MAP_FAILED)
        *ret_text = (struct text){ at, (size_t)st.st_size, true };
    return 0;
}

static void release(struct text *text)
{
    if (text->mapped)
        munmap((void *)text->at, text->len);
}

static int make_parents(const char *path)
{
    char folder[128];

    for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
        if (mkdirat(root, folder, 0755) < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}

static int write_all(int fd, const struct text *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; at < parts[i].len;) {
            ssize_t put = write(fd, parts[i].at + at, parts[i].len - at);

            if (put < 0)
                return -errno;
            at += (size_t)put;
        }
    }
    return 0;
}

/* Replace a file by these parts. */
static int write_file(const char *path, const struct text *parts, size_t count)
{
    char fresh[128];
    int fd, result = make_parents(path);

    if (result)
        return result;
    snprintf(fresh, sizeof(fresh), "%s" FRESH, path);
    unlinkat(root, fresh, 0);
    fd = openat(root, fresh,
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    result = write_all(fd, parts, count);
    close(fd);
    if (!result && renameat(root, fresh, root, path) < 0)
        result = -errno;
    if (result)
        unlinkat(root, fresh, 0);
    return result;
}

static int write_string(const char *path, const char *string)
{
    struct text text = text_of(string);

    return write_file(path, &text, 1);
}

/* ---- certificates -------------------------------------------------------- */

/* Split a bundle at an earlier setup's part. */
static void split(const struct text *bundle, struct text *ret_before,
                  struct text *ret_after)
{
    const char *end = bundle->at + bundle->len;
    const char *from = memmem(bundle->at, bundle->len, BEGIN, strlen(BEGIN));
    const char *to = from ? memmem(from, (size_t)(end - from), END, strlen(END))
                          : NULL;

    *ret_before = *bundle;
    *ret_after = (struct text){ .at = "" };
    if (!to)
        return;
    to += strlen(END);
    ret_before->len = (size_t)(from - bundle->at);
    *ret_after = (struct text){ to, (size_t)(end - to), false };
}

/* certificates: NULL removes them. */
static int write_bundle(const char *certificates)
{
    struct text bundle, parts[5];
    int result = read_file(BUNDLE, &bundle);

    if (result)
        return result;
    split(&bundle, &parts[0], &parts[1]);
    has_bundle = parts[0].len + parts[1].len > 0;
    parts[2] = text_of(certificates ? BEGIN : "");
    parts[3] = text_of(certificates ? certificates : "");
    parts[4] = text_of(certificates ? END : "");
    result = write_file(BUNDLE, parts, 5);
    release(&bundle);
    return result;
}

/* OpenSSL is there if its folder is. A file of the distribution stays: it is
 * the bundle. */
static void link_openssl(void)
{
    if (symlinkat("/" HOST_FILE, root, OPENSSL) < 0)
        return;
}

static void unlink_openssl(void)
{
    char target[sizeof("/" HOST_FILE)];
    ssize_t len = readlinkat(root, OPENSSL, target, sizeof(target));

    if (len == (ssize_t)strlen("/" HOST_FILE) &&
        memcmp(target, "/" HOST_FILE, (size_t)len) == 0)
        unlinkat(root, OPENSSL, 0);
}

static int set_certificates(const char *certificates)
{
    int result;

    has_certificates = false;
    if (!certificates && unlinkat(root, HOST_FILE, 0) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!certificates)
        unlink_openssl();
    result = certificates ? write_string(HOST_FILE, certificates) : 0;
    if (!result)
        result = write_bundle(certificates);
    if (certificates && !result) {
        link_openssl();
        has_certificates = true;
    }
    return result;
}

/* ---- git ----------------------------------------------------------------- */

/* Add "KEY = VALUE", quoted as git-config(1) says. The caller has room for each
 * character twice. */
static char *add_value(char *at, const char *key, const char *value)
{
    at += sprintf(at, "\t%s = \"", key);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            *at++ = '\\';
        if ((unsigned char)*value >= ' ')
            *at++ = *value;
    }
    return stpcpy(at, "\"\n");
}

static int include_git(void)
{
    struct text parts[2];
    int result = read_file(GIT_SYSTEM, &parts[0]);

    if (result)
        return result;
    parts[1] = text_of(GIT_INCLUDE);
    if (!memmem(parts[0].at, parts[0].len, GIT_INCLUDE, strlen(GIT_INCLUDE)))
        result = write_file(GIT_SYSTEM, parts, 2);
    release(&parts[0]);
    return result;
}

static int set_git(const char *name, const char *email)
{
    char text[2048], *at = stpcpy(text, "[user]\n");
    int result;

    if (!name && !email)
        return unlinkat(root, GIT_FILE, 0) < 0 && errno != ENOENT ? -errno : 0;
    if ((name && strlen(name) > 400) || (email && strlen(email) > 400))
        return -ENAMETOOLONG;
    if (name)
        at = add_value(at, "name", name);
    if (email)
        add_value(at, "email", email);
    result = write_string(GIT_FILE, text);
    return result ? result : include_git();
}

bool setup_apply(const struct setup *setup, char *error, size_t error_len)
{
    int certificates, git;

    if (root < 0) {
        snprintf(error, error_len, "the shim does not manage this system");
        return false;
    }
    certificates = set_certificates(setup->certificates);
    git = set_git(setup->git_name, setup->git_email);
    if (certificates)
        snprintf(error, error_len, "/" BUNDLE ": %s", strerror(-certificates));
    else if (git)
        snprintf(error, error_len, "/" GIT_FILE ": %s", strerror(-git));
    return !certificates && !git;
}

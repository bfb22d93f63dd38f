/* SPDX-License-Identifier: Apache-2.0
 *
 * setup - see setup.h.
 */
#include "shim/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Another process can make a confined lookup fail with EAGAIN by renaming. */
enum { ATTEMPTS = 100 };

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

/* Open a path below the root without leaving its mount: shared folders are
 * mounted in the guest, and what the host serves is not the guest's system.
 * Return the fd or -errno; -EXDEV: another mount. */
static int open_path(const char *path, int flags)
{
    const struct open_how how = {
        .flags = (unsigned)(flags | O_CLOEXEC),
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS,
    };
    int fd = -1;

    for (int i = 0; i < ATTEMPTS; i++) {
        fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return fd >= 0 ? fd : -errno;
}

/* Open the folder of a path's first len bytes, and make it if it is missing,
 * with its parents. Return the fd or -errno. */
static int enter(const char *path, size_t len)
{
    char folder[128];
    const char *slash;
    int fd, parent;

    snprintf(folder, sizeof(folder), "%.*s", (int)len, path);
    fd = open_path(len ? folder : "/", O_PATH | O_DIRECTORY);
    if (fd != -ENOENT)
        return fd;
    slash = strrchr(folder, '/');
    parent = enter(path, slash ? (size_t)(slash - folder) : 0);
    if (parent < 0)
        return parent;
    fd = mkdirat(parent, slash ? slash + 1 : folder, 0755) < 0 ? -errno : 0;
    close(parent);
    return !fd || fd == -EEXIST ? open_path(folder, O_PATH | O_DIRECTORY) : fd;
}

/* Open the folder of a file, and make it if wanted; *ret_name: the file's name
 * in it. Return the fd or -errno. */
static int enter_parent(const char *path, bool make, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    char folder[128];

    *ret_name = slash + 1;
    if (make)
        return enter(path, (size_t)(slash - path));
    snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
    return open_path(folder, O_PATH | O_DIRECTORY);
}

/* Return 0 or -errno; -ENOENT: there is no such file. */
static int remove_file(const char *path)
{
    const char *name;
    int folder = enter_parent(path, false, &name), result = folder;

    if (folder < 0)
        return result;
    result = unlinkat(folder, name, 0) < 0 ? -errno : 0;
    close(folder);
    return result;
}

/* Map a file; one that is missing is empty. */
static int read_file(const char *path, struct text *ret_text)
{
    int fd = open_path(path, O_RDONLY | O_NONBLOCK);
    struct stat st;
    void *at;

    *ret_text = (struct text){ .at = "" };
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
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

/* Replace a file of this folder by these parts. */
static int replace(int folder, const char *name, const struct text *parts,
                   size_t count)
{
    char fresh[128];
    int fd, result;

    snprintf(fresh, sizeof(fresh), "%s" FRESH, name);
    unlinkat(folder, fresh, 0);
    fd = openat(folder, fresh,
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    result = write_all(fd, parts, count);
    close(fd);
    if (!result && renameat(folder, fresh, folder, name) < 0)
        result = -errno;
    if (result)
        unlinkat(folder, fresh, 0);
    return result;
}

static int write_file(const char *path, const struct text *parts, size_t count)
{
    const char *name;
    int folder = enter_parent(path, true, &name), result = folder;

    if (folder < 0)
        return result;
    result = replace(folder, name, parts, count);
    close(folder);
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
    const char *name;
    int folder = enter_parent(OPENSSL, false, &name);

    if (folder < 0)
        return;
    /* It is there already. */
    if (symlinkat("/" HOST_FILE, folder, name) < 0)
        errno = 0;
    close(folder);
}

static void unlink_openssl(void)
{
    char target[sizeof("/" HOST_FILE)];
    const char *name;
    int folder = enter_parent(OPENSSL, false, &name);
    ssize_t len;

    if (folder < 0)
        return;
    len = readlinkat(folder, name, target, sizeof(target));
    if (len == (ssize_t)strlen("/" HOST_FILE) &&
        memcmp(target, "/" HOST_FILE, (size_t)len) == 0)
        unlinkat(folder, name, 0);
    close(folder);
}

/* *ret_path: the file that could not be written. */
static int set_certificates(const char *certificates, const char **ret_path)
{
    int result;

    has_certificates = false;
    *ret_path = "/" HOST_FILE;
    result = certificates ? write_string(HOST_FILE, certificates)
                          : remove_file(HOST_FILE);
    if (!certificates && result == -ENOENT)
        return 0;
    if (!certificates)
        unlink_openssl();
    if (!result) {
        *ret_path = "/" BUNDLE;
        result = write_bundle(certificates);
    }
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

    if (!name && !email) {
        result = remove_file(GIT_FILE);
        return result == -ENOENT ? 0 : result;
    }
    if ((name && strlen(name) > 400) || (email && strlen(email) > 400))
        return -ENAMETOOLONG;
    if (name)
        at = add_value(at, "name", name);
    if (email)
        add_value(at, "email", email);
    result = write_string(GIT_FILE, text);
    return result ? result : include_git();
}

/* Describe why a file cannot be written. */
static void describe(const char *path, int result, char *error,
                     size_t error_len)
{
    snprintf(error, error_len, "%s: %s", path,
             result == -EXDEV ? "it is in another file system, such as a "
                                "shared folder; mount that elsewhere"
                              : strerror(-result));
}

bool setup_apply(const struct setup *setup, char *error, size_t error_len)
{
    const char *path;
    int certificates, git;

    if (root < 0) {
        snprintf(error, error_len, "the shim does not manage this system");
        return false;
    }
    certificates = set_certificates(setup->certificates, &path);
    git = set_git(setup->git_name, setup->git_email);
    if (certificates)
        describe(path, certificates, error, error_len);
    else if (git)
        describe("/" GIT_FILE, git, error, error_len);
    return !certificates && !git;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * session_directory - see session_directory.h.
 *
 * A single folder is /mnt/working in a machine. Several are /mnt/working/0 and
 * so on; commands start in the first. Folders that are added later are
 * /mnt/folders/LABEL, or /mnt/folders/N for a label that is no plain name. In
 * local isolation all have their own paths.
 */
#include "agent/machine/session_directory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/log_place.h"
#include "common/errors.h"
#include "common/real_path.h"
#include "shim/wire.h"

#define TAG        "working"
#define ADDED_TAG  "added"
#define ADDED_PATH "/mnt/folders"

enum { MAX_PLAIN_NAME = 64 };

static gboolean invalid(GError **error, const char *key, const char *problem)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, "the field '%s' %s",
                key, problem);
    return FALSE;
}

static gboolean invalid_directory(const char *path, const char *problem,
                                  GError **error)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "the working folder %s: %s", path, problem);
    return FALSE;
}

static gboolean resolve(struct session_directory *directory, const char *path,
                        GError **error)
{
    char *resolved;
    struct stat st;

    if (!g_path_is_absolute(path))
        return invalid(error, "path", "must be an absolute path");
    resolved = realpath(path, NULL);
    if (!resolved || stat(resolved, &st) < 0) {
        free(resolved);
        return invalid_directory(path, g_strerror(errno), error);
    }
    directory->path = g_strdup(resolved);
    free(resolved);
    directory->dev = st.st_dev;
    directory->ino = st.st_ino;
    if (!S_ISDIR(st.st_mode))
        return invalid_directory(path, "it is not a folder", error);
    if (access(directory->path, R_OK | X_OK) < 0)
        return invalid_directory(path, g_strerror(errno), error);
    return TRUE;
}

/* Set the path of the log: the given one, or the default log path. */
static gboolean set_log_path(struct session_directory *directory,
                             const char *undo_dir, GError **error)
{
    g_autofree char *place = NULL;

    if (undo_dir && !g_path_is_absolute(undo_dir))
        return invalid(error, "undo_dir", "must be an absolute path");
    if (directory->read_only)
        return TRUE;
    place = log_place_of(directory->path, undo_dir, error);
    if (!place)
        return FALSE;
    /* With symlinks resolved, no link on the path can be redirected later. */
    directory->undo_dir = real_path_of(place);
    return TRUE;
}

static gboolean check_same(const struct session_directory *directory,
                           const struct session_share *share, GError **error)
{
    return !share->ino ||
           (directory->dev == share->dev && directory->ino == share->ino) ||
           invalid_directory(share->path, "it was replaced", error);
}

struct session_directory *
session_directory_new(const struct session_share *share, GError **error)
{
    struct session_directory *directory = g_new0(struct session_directory, 1);
    bool ok = true;

    directory->read_only = share->read_only;
    directory->label = g_strdup(share->label);
    if (share->label && !*share->label)
        ok = invalid(error, "label", "must not be empty");
    directory->grant = folder_grant_copy(share->grant);
    if (ok && resolve(directory, share->path, error) &&
        check_same(directory, share, error) &&
        set_log_path(directory, share->undo_dir, error))
        return directory;
    session_directory_free(directory);
    return NULL;
}

/* ---- the set of folders -------------------------------------------------- */

static bool has_label(struct session_directory *const *directories,
                      unsigned count, const char *label)
{
    for (unsigned i = 0; i < count; i++) {
        if (g_strcmp0(directories[i]->label, label) == 0)
            return true;
    }
    return false;
}

/* Given labels must be unique; generated labels are made unique. */
static gboolean label_all(struct session_directory *const *directories,
                          unsigned count, GError **error)
{
    for (unsigned i = 0; i < count; i++) {
        if (directories[i]->label &&
            has_label(directories, i, directories[i]->label))
            return invalid(error, "label", "must be different for each folder");
    }
    for (unsigned i = 0; i < count; i++) {
        g_autofree char *base = g_path_get_basename(directories[i]->path);
        g_autofree char *name = g_utf8_validate(base, -1, NULL) ? g_strdup(base)
                                                                : g_strdup(TAG);
        g_autofree char *label = g_strdup(name);

        if (directories[i]->label)
            continue;
        for (unsigned n = 2; has_label(directories, count, label); n++) {
            g_free(label);
            label = g_strdup_printf("%s-%u", name, n);
        }
        directories[i]->label = g_steal_pointer(&label);
    }
    return TRUE;
}

/* The daemon checks this as well, but only after other programs have
 * started. */
static gboolean check_own_log(const struct session_directory *directory,
                              GError **error)
{
    const char *log = directory->undo_dir;
    g_autofree char *problem = NULL;

    if (log && real_path_is_beneath(log, directory->path))
        problem = g_strdup_printf(
            "its undo log, %s, must lie outside the shared folder, where the "
            "guest could change it; choose another path (\"undo_dir\", or "
            "--undo-dir)",
            log);
    else if (log && real_path_is_beneath(directory->path, log))
        problem = g_strdup_printf(
            "it lies in its own undo log, %s; choose another path for the log "
            "(\"undo_dir\", or --undo-dir)",
            log);
    return !problem || invalid_directory(directory->path, problem, error);
}

static gboolean check_apart(const struct session_directory *one,
                            const struct session_directory *other,
                            GError **error)
{
    g_autofree char *problem = NULL;

    if (g_str_equal(one->path, other->path)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "the working folder %s: already shared as %s", one->path,
                    one->guest_path);
        return FALSE;
    }
    if (real_path_is_beneath(one->path, other->path))
        problem = g_strdup_printf("it lies in the working folder %s; share one "
                                  "of the two",
                                  other->path);
    else if (one->undo_dir && real_path_is_beneath(one->undo_dir, other->path))
        problem = g_strdup_printf("its undo log, %s, would lie in the working "
                                  "folder %s",
                                  one->undo_dir, other->path);
    else if (one->undo_dir && other->undo_dir &&
             real_path_is_beneath(one->undo_dir, other->undo_dir))
        problem = g_strdup_printf("its undo log, %s, is, or lies in, the undo "
                                  "log of %s",
                                  one->undo_dir, other->path);
    if (problem)
        return invalid_directory(one->path, problem, error);
    if (one->undo_dir && real_path_is_beneath(other->path, one->undo_dir)) {
        problem = g_strdup_printf("it lies in the undo log of %s", one->path);
        return invalid_directory(other->path, problem, error);
    }
    return TRUE;
}

gboolean
session_directory_check_apart(struct session_directory *const *directories,
                              unsigned count, GError **error)
{
    for (unsigned i = 0; i < count; i++) {
        if (!check_own_log(directories[i], error))
            return FALSE;
        for (unsigned j = 0; j < count; j++) {
            if (i != j && !check_apart(directories[i], directories[j], error))
                return FALSE;
        }
    }
    return TRUE;
}

static void set_guest_paths(struct session_directory *const *directories,
                            unsigned count, bool own_paths)
{
    for (unsigned i = 0; i < count; i++) {
        directories[i]->tag = count == 1 ? g_strdup(TAG)
                                         : g_strdup_printf(TAG "%u", i);
        directories[i]->guest_path = own_paths ? g_strdup(directories[i]->path)
                                     : count == 1
                                         ? g_strdup(WIRE_DEFAULT_CWD)
                                         : g_strdup_printf("%s/%u",
                                                           WIRE_DEFAULT_CWD, i);
    }
}

gboolean
session_directory_complete(struct session_directory *const *directories,
                           unsigned count, bool own_paths, GError **error)
{
    set_guest_paths(directories, count, own_paths);
    return label_all(directories, count, error);
}

static bool is_plain_name(const char *label)
{
    static const char allowed[] = G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS
        "._+-";

    return *label != '.' && strlen(label) <= MAX_PLAIN_NAME &&
           label[strspn(label, allowed)] == '\0';
}

gboolean
session_directory_complete_added(struct session_directory *const *directories,
                                 unsigned count, unsigned number,
                                 bool own_paths, GError **error)
{
    struct session_directory *added = directories[count - 1];
    g_autofree char *name = g_strdup_printf("%u", number);

    added->tag = g_strdup_printf(ADDED_TAG "%u", number);
    if (!label_all(directories, count, error))
        return FALSE;
    added->guest_path = own_paths ? g_strdup(added->path)
                                  : g_build_filename(ADDED_PATH,
                                                     is_plain_name(added->label)
                                                         ? added->label
                                                         : name,
                                                     NULL);
    return TRUE;
}

void session_directory_free(struct session_directory *directory)
{
    g_free(directory->path);
    g_free(directory->label);
    g_free(directory->undo_dir);
    g_free(directory->tag);
    g_free(directory->guest_path);
    folder_grant_free(directory->grant);
    g_free(directory);
}

struct folder_grant *folder_grant_copy(const struct folder_grant *grant)
{
    struct folder_grant *copy = grant ? g_memdup2(grant, sizeof(*grant)) : NULL;

    if (!copy)
        return NULL;
    copy->origin = g_strdup(grant->origin);
    copy->reason = g_strdup(grant->reason);
    return copy;
}

void folder_grant_free(struct folder_grant *grant)
{
    if (!grant)
        return;
    g_free(grant->origin);
    g_free(grant->reason);
    g_free(grant);
}

gboolean session_directory_find(struct session_directory *const *directories,
                                unsigned count, struct folder_ref folder,
                                unsigned *ret_index, GError **error)
{
    *ret_index = 0;
    if (!folder.given)
        return TRUE;
    for (unsigned i = 0; i < count; i++) {
        if (!folder.name
                ? folder.index == (gint64)i
                : g_strcmp0(folder.name, directories[i]->label) == 0 ||
                      g_strcmp0(folder.name, directories[i]->path) == 0) {
            *ret_index = i;
            return TRUE;
        }
    }
    return invalid(error, "directory",
                   "must be the index, the label or the path of a working "
                   "folder");
}

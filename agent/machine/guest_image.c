/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_image - see guest_image.h.
 */
#include "agent/machine/guest_image.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/message.h"

enum { MAX_IMAGE_JSON = 64 << 10, MAX_TOOLS = 64, MAX_TOOL_NAME = 32 };

char *guest_image_dir(const char *name, enum guest_image_place *ret_place,
                      GError **error)
{
    enum guest_image_place place = IMAGE_PLACE_USER;
    g_autofree char *images = NULL;
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

    if (len == 0 || name[len] != '\0' || name[0] == '.') {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "the field 'image' must be the name of an image, such as "
                    "%s: letters, digits, dots and dashes",
                    GUEST_IMAGE_DEFAULT);
        return NULL;
    }
    if (!guest_image_place_has(place, name) &&
        guest_image_place_has(IMAGE_PLACE_SYSTEM, name))
        place = IMAGE_PLACE_SYSTEM;
    images = guest_image_place_path(place);
    if (ret_place)
        *ret_place = place;
    return g_build_filename(images, name, NULL);
}

char *guest_image_templates(void)
{
    g_autofree char *images = guest_image_place_path(IMAGE_PLACE_USER);

    return g_build_filename(images, ".templates", NULL);
}

static gboolean check_readable(const char *what, const char *path,
                               GError **error)
{
    if (!path || access(path, R_OK) == 0)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                "the guest's %s %s cannot be read: %s", what, path,
                g_strerror(errno));
    return FALSE;
}

/* dir/name if it exists, else NULL. */
static char *find_file(const char *dir, const char *name)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);

    return access(path, F_OK) == 0 ? g_steal_pointer(&path) : NULL;
}

/* Return the flavour that an image of this name probably has. */
static const char *flavour_of(const char *name)
{
    return strcmp(name, "debian") == 0 || strcmp(name, "standard") == 0
               ? name
               : GUEST_IMAGE_DEFAULT;
}

/* Read dir/image.json. *ret_json: a new object, or NULL if there is no such
 * file. */
static gboolean read_json(const char *dir, json_t **ret_json, GError **error)
{
    g_autofree char *path = g_build_filename(dir, "image.json", NULL);
    g_autofree char *text = NULL;
    const char *append = NULL;
    json_t *json;
    size_t len;
    int rc = fd_read_file(AT_FDCWD, path, MAX_IMAGE_JSON, &text, &len);

    *ret_json = NULL;
    if (rc == -ENOENT)
        return TRUE;
    json = rc == 0 ? json_loadb(text, len, 0, NULL) : NULL;
    if (json_is_object(json) &&
        message_get_optional_string(json, "append", &append, NULL)) {
        *ret_json = json;
        return TRUE;
    }
    g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED, "%s is damaged",
                path);
    json_decref(json);
    return FALSE;
}

/* Return whether the machine uses this file of its image, not another one that
 * was named in its place. image: NULL: it uses all. */
static bool is_used(const struct guest_image *image, const char *name,
                    const char *path)
{
    const char *used = NULL;

    if (image && strcmp(name, "vmlinuz") == 0)
        used = image->kernel;
    else if (image && strcmp(name, "initrd") == 0)
        used = image->initrd;
    else if (image && strcmp(name, "rootfs.ext4") == 0)
        used = image->rootfs;
    return !used || strcmp(used, path) == 0;
}

/* Check that the files are as long as image.json has them: a copy may have been
 * interrupted, and the guest's kernel would only panic. */
static gboolean check_sizes(json_t *json, const char *dir,
                            const struct guest_image *image, GError **error)
{
    json_t *sizes = json_object_get(json, "sizes"), *size;
    const char *name;

    json_object_foreach(sizes, name, size)
    {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        struct stat st;

        if (strchr(name, '/') || !is_used(image, name, path))
            continue;
        if (stat(path, &st) < 0) {
            g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED, "%s: %s",
                        path, g_strerror(errno));
            return FALSE;
        }
        if (st.st_size == (off_t)json_integer_value(size))
            continue;
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                    "%s is damaged: it has %jd bytes, and had "
                    "%" JSON_INTEGER_FORMAT " when it was built",
                    path, (intmax_t)st.st_size, json_integer_value(size));
        return FALSE;
    }
    return TRUE;
}

static gboolean read_append(struct guest_image *image, const char *name,
                            const char *dir, GError **error)
{
    g_autoptr(GError) damage = NULL;
    const char *append;
    json_t *json;

    if (!read_json(dir, &json, &damage) ||
        !check_sizes(json, dir, image, &damage)) {
        g_set_error(error, damage->domain, damage->code,
                    "%s; rebuild the image with: stepback image build "
                    "--flavour=%s --name=%s",
                    damage->message, flavour_of(name), name);
        json_decref(json);
        return FALSE;
    }
    append = json_string_value(json_object_get(json, "append"));
    if (append) {
        g_free(image->append);
        image->append = g_strdup(append);
    }
    json_decref(json);
    return TRUE;
}

static bool is_tool(const char *name)
{
    static const char allowed[] = G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS
        "._+-";

    return name && *name && strlen(name) <= MAX_TOOL_NAME &&
           name[strspn(name, allowed)] == '\0';
}

/* Let an error about a system's image name the remedies. */
static void add_remedies(GError **error, const char *name)
{
    g_autofree char *options = g_strdup_printf("--flavour=%s --name=%s",
                                               flavour_of(name), name);
    g_autoptr(GError) first = NULL;

    if (!error)
        return;
    first = g_steal_pointer(error);
    g_set_error(
        error, first->domain, first->code,
        "guest image '%s' of all users: %s; as root, build it anew with: "
        "stepback image build --system %s; or build your own, which "
        "comes first: stepback image build %s",
        name, first->message, options, options);
}

static const char *const image_files[] = { "vmlinuz", "initrd", "image.json",
                                           "rootfs.ext4" };

/* Check a system's image, and that it is whole. */
static gboolean check_system_image(const char *name, const char *dir,
                                   GError **error)
{
    json_t *json = NULL;
    gboolean ok = TRUE;

    for (size_t i = 0; ok && i < G_N_ELEMENTS(image_files); i++) {
        g_autofree char *path = g_build_filename(dir, image_files[i], NULL);
        const char *flavour = json_string_value(
            json_object_get(json, "flavour"));

        if (strcmp(image_files[i], "rootfs.ext4") == 0 &&
            g_strcmp0(flavour, GUEST_IMAGE_DEFAULT) == 0)
            continue;
        ok = guest_image_place_check(path, IMAGE_PLACE_SYSTEM, error) &&
             (strcmp(image_files[i], "image.json") != 0 ||
              (read_json(dir, &json, error) &&
               check_sizes(json, dir, NULL, error)));
    }
    json_decref(json);
    if (!ok)
        add_remedies(error, name);
    return ok;
}

/* Check the files of a user's own image that exist: a kernel that another user
 * can change would see the shared folders. */
static gboolean check_own_image(const char *name, const char *dir,
                                GError **error)
{
    g_autoptr(GError) problem = NULL;

    for (size_t i = 0; !problem && i < G_N_ELEMENTS(image_files); i++) {
        g_autofree char *path = find_file(dir, image_files[i]);

        if (path)
            guest_image_place_check(path, IMAGE_PLACE_USER, &problem);
    }
    if (!problem)
        return TRUE;
    g_set_error(error, problem->domain, problem->code,
                "guest image '%s': %s; only you may write to it (chown, chmod "
                "go-w), or let XDG_CACHE_HOME name a folder of your own and "
                "build the image there",
                name, problem->message);
    return FALSE;
}

/* Check that no other user can have changed an image. */
static gboolean check_trust(const char *name, const char *dir,
                            enum guest_image_place place, GError **error)
{
    return place == IMAGE_PLACE_SYSTEM ? check_system_image(name, dir, error)
                                       : check_own_image(name, dir, error);
}

char **guest_image_tools(const char *name)
{
    g_autoptr(GPtrArray) tools = g_ptr_array_new_with_free_func(g_free);
    enum guest_image_place place;
    g_autofree char *dir = guest_image_dir(name, &place, NULL);
    json_t *json = NULL, *tool;
    size_t i;

    if (!dir || !check_trust(name, dir, place, NULL) ||
        !read_json(dir, &json, NULL))
        return NULL;
    json_array_foreach(json_object_get(json, "tools"), i, tool)
    {
        if (is_tool(json_string_value(tool)) && tools->len < MAX_TOOLS)
            g_ptr_array_add(tools, g_strdup(json_string_value(tool)));
    }
    json_decref(json);
    if (tools->len == 0)
        return NULL;
    g_ptr_array_add(tools, NULL);
    return (char **)g_ptr_array_steal(tools, NULL);
}

static void set_no_image(const char *name, const char *dir, GError **error)
{
    const char *how = "build it with: stepback image build";

    if (strcmp(name, "debian") == 0)
        how = "build it with: stepback image build --flavour=debian";
    else if (strcmp(name, "standard") == 0)
        how = "build it with: stepback image build --flavour=standard";
    else if (strcmp(name, GUEST_IMAGE_DEFAULT) != 0)
        how = "'stepback image list' has those that exist; build one with: "
              "stepback image build --name=NAME";
    g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                "guest image '%s': not found in %s; %s", name, dir, how);
}

static gboolean read_image(struct guest_image *image, const char *name,
                           GError **error)
{
    enum guest_image_place place;
    g_autofree char *dir = guest_image_dir(name, &place, error);

    if (!dir || !check_trust(name, dir, place, error))
        return FALSE;
    if (!image->kernel)
        image->kernel = find_file(dir, "vmlinuz");
    if (!image->kernel) {
        set_no_image(name, dir, error);
        return FALSE;
    }
    if (!image->initrd)
        image->initrd = find_file(dir, "initrd");
    if (!image->rootfs)
        image->rootfs = find_file(dir, "rootfs.ext4");
    return read_append(image, name, dir, error);
}

struct guest_image *guest_image_find(const char *name, const char *kernel,
                                     const char *initrd, const char *disk,
                                     GError **error)
{
    struct guest_image *image = g_new0(struct guest_image, 1);

    image->kernel = g_strdup(kernel);
    image->initrd = g_strdup(initrd);
    image->rootfs = g_strdup(disk);
    image->append = g_strdup("");
    if (((kernel && initrd) || read_image(image, name, error)) &&
        check_readable("kernel", image->kernel, error) &&
        check_readable("initrd", image->initrd, error) &&
        check_readable("disk", image->rootfs, error))
        return image;
    guest_image_free(image);
    return NULL;
}

void guest_image_free(struct guest_image *image)
{
    if (!image)
        return;
    g_free(image->kernel);
    g_free(image->initrd);
    g_free(image->rootfs);
    g_free(image->append);
    g_free(image);
}

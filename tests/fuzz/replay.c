/* SPDX-License-Identifier: Apache-2.0
 *
 * replay - run a fuzz target on its corpus, without a fuzzer.
 *
 * With any compiler, and in each "make check": earlier findings stay covered,
 * and a target that no longer builds is noticed. The program's name is
 * "replay-" and the target's.
 */
#include <glib.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *folder;

static void replay(gconstpointer name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autofree char *text = NULL;
    g_autofree uint8_t *data = NULL;
    g_autoptr(GError) error = NULL;
    size_t size;

    g_file_get_contents(path, &text, &size, &error);
    g_assert_no_error(error);
    data = g_memdup2(text,
                     size); /* of exactly its size: sanitizers watch the end */
    g_assert_cmpint(LLVMFuzzerTestOneInput(data, size), ==, 0);
}

/* libtool's wrapper may run "lt-replay-X". */
static const char *target_of(const char *program)
{
    const char *target = strstr(program, "replay-");

    g_assert_nonnull(target);
    return target + strlen("replay-");
}

int main(int argc, char **argv)
{
    g_autofree char *program = g_path_get_basename(argv[0]);
    const char *srcdir = g_getenv("srcdir"), *name;
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) error = NULL;
    g_autoptr(GDir) dir = NULL;
    int status;

    g_test_init(&argc, &argv, NULL);
    folder = g_build_filename(srcdir ? srcdir : ".", "tests", "fuzz", "corpus",
                              target_of(program), NULL);
    dir = g_dir_open(folder, 0, &error);
    g_assert_no_error(error);
    while ((name = g_dir_read_name(dir)))
        g_ptr_array_add(names, g_strdup(name));
    g_assert_cmpuint(names->len, >, 0);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *path = g_strdup_printf(
            "/replay/%s/%s", target_of(program), (char *)names->pdata[i]);

        g_test_add_data_func(path, names->pdata[i], replay);
    }
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    status = g_test_run();
    g_free(folder);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * removal-test - the error of a removal that the disk refuses.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/sys/fault.h"
#include "interceptor/sys/sys.h"

#ifdef STEPBACK_FAULT_INJECTION
/* "Not a directory" would say that there is nothing to remove. */
static void error_of_removal(void)
{
    static struct fault_board board;
    g_autofree char *folder = g_dir_make_tmp("removal-test-XXXXXX", NULL);
    fd_auto int dir = open(folder, O_RDONLY | O_DIRECTORY);

    fault_use(&board);
    for (unsigned point = 1; point == 1 || board.fired; point++) {
        const struct fault_plan plan = { FAULT_ERRNO, point, EIO };
        int rc;

        mkdirat(dir, "top", 0700);
        mkdirat(dir, "top/below", 0700);
        mknodat(dir, "top/below/file", S_IFIFO | 0600, 0);
        mknodat(dir, "top/file", S_IFIFO | 0600, 0);
        fault_set(&board, &plan);
        rc = sys_remove_tree(dir, "top");
        fault_set(&board, NULL);
        /* A mode that cannot be changed may be enough. */
        if (board.fired && strcmp(board.call, "chmod") != 0)
            g_assert_cmpint(rc, ==, -EIO);
        else
            g_assert_cmpint(rc, ==, 0);
    }
    g_assert_cmpint(unlinkat(AT_FDCWD, folder, AT_REMOVEDIR), ==, 0);
}
#else
static void error_of_removal(void)
{
    g_test_skip("built without --enable-fault-injection");
}
#endif

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/removal/error", error_of_removal);
    return g_test_run();
}

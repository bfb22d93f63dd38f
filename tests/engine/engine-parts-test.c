/* SPDX-License-Identifier: Apache-2.0
 *
 * engine-parts-test - parts of an engine that runs in this process.
 */
#include <sys/stat.h>

#include <glib.h>

#include "tests/engine/engine_tests.h"

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    add_alias_tests();
    add_control_end_tests();
    add_parking_tests();
    add_writers_tests();
    return g_test_run();
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_rig - an engine over a folder with a few old files ("file", "other",
 * "dir/inner"), for tests of what is known of inodes that are not open.
 */
#ifndef TESTS_INODE_RIG_H
#define TESTS_INODE_RIG_H

#include <sys/resource.h>

#include "interceptor/interceptor.h"
#include "tests/lib/world.h"

/* Of a file that need not be opened to be known. */
enum { INODE_RIG_OLD_US = 150000 };

/* Fds from here on are the server's own. */
enum { INODE_RIG_RESERVE = 100 };

struct inode_rig {
    struct world *world; /* for its folders; never started */
    struct ic *ic;
    int stop; /* for the test's threads */
    struct rlimit limit;
};

/* For g_test_add(); data: with an undo log? */
void inode_rig_set_up(struct inode_rig *f, gconstpointer data);
void inode_rig_tear_down(struct inode_rig *f, gconstpointer data);

/* The engine alone, over the world's folder. */
void inode_rig_open(struct inode_rig *f, gconstpointer data);

struct inode_rig_test {
    const char *name;
    void (*run)(struct inode_rig *f, gconstpointer data);
};

/* main(): each test without undo and with it, as /NAME/no-undo/... */
int inode_rig_main(int argc, char **argv, const char *name,
                   const struct inode_rig_test *tests, size_t n);

/* Each gets f, and all are waited for. */
void inode_rig_run_threads(struct inode_rig *f, const GThreadFunc *work,
                           size_t n);

/* Others remove the file and make another of its name, which has its number if
 * this filesystem gives it again soon. */
void inode_rig_replace(struct inode_rig *f, const char *name);

/* Borrowed. */
struct ic_inode *inode_rig_root(struct inode_rig *f);

/* What is called in between opens nothing, or fails. */
void inode_rig_forbid_fds(struct inode_rig *f);
void inode_rig_allow_fds(struct inode_rig *f);

bool inode_rig_is_open(struct ic_inode *inode);

/* Of an inode that is held, which is opened for it: its link count, or
 * -errno. */
int inode_rig_links(struct inode_rig *f, struct ic_inode *inode);

/* The same: the beginning of its content. */
char *inode_rig_read(struct inode_rig *f, struct ic_inode *inode);

#endif

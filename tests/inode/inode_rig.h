/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_rig - an engine over a folder, for tests of closed inodes.
 *
 * The folder has a few old files ("file", "other", "dir/inner").
 */
#ifndef TESTS_INODE_RIG_H
#define TESTS_INODE_RIG_H

#include <sys/resource.h>

#include "interceptor/interceptor.h"
#include "tests/lib/world.h"

/* The age of a file that can be known without opening it. */
enum { INODE_RIG_OLD_US = 150000 };

/* Fds from here on are reserved for the server. */
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

/* Open only the engine, over the world's folder. */
void inode_rig_open(struct inode_rig *f, gconstpointer data);

struct inode_rig_test {
    const char *name;
    void (*run)(struct inode_rig *f, gconstpointer data);
};

/* main(): run each test without undo and with it, as /NAME/no-undo/... */
int inode_rig_main(int argc, char **argv, const char *name,
                   const struct inode_rig_test *tests, size_t n);

/* Run each function with f in a thread, and wait for all. */
void inode_rig_run_threads(struct inode_rig *f, const GThreadFunc *work,
                           size_t n);

/* Another process removes the file and makes a new one with its name, which has
 * the same number if the file system reuses numbers soon. */
void inode_rig_replace(struct inode_rig *f, const char *name);

/* Another process links or renames a file. */
void inode_rig_link(struct inode_rig *f, const char *from, const char *to);
void inode_rig_rename(struct inode_rig *f, const char *from, const char *to);

/* Borrowed. */
struct ic_inode *inode_rig_root(struct inode_rig *f);

/* Calls between these cannot open anything. */
void inode_rig_forbid_fds(struct inode_rig *f);
void inode_rig_allow_fds(struct inode_rig *f);

bool inode_rig_is_open(struct ic_inode *inode);

/* Open a held inode and return its link count, or -errno. */
int inode_rig_links(struct inode_rig *f, struct ic_inode *inode);

/* The same, but return the beginning of its content. */
char *inode_rig_read(struct inode_rig *f, struct ic_inode *inode);

#endif

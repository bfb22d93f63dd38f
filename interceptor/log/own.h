/* SPDX-License-Identifier: Apache-2.0
 *
 * own - which changes of inodes since a step were our own.
 *
 * An inode's ctime changes with every change of it and cannot be set. So an
 * inode number and a ctime are a state: whoever finds the same two again knows
 * that nobody has touched the inode. A step notes the states that it leaves
 * (post_state.h), and its rollback looks whether they still are.
 *
 * But undo itself changes inodes: when a newer step is taken back, everything
 * is again as before it, under another ctime, perhaps another number. Then
 * own.jsonl says which state stands for which:
 *     {"t":"own","i":12,"c":T,"j":99,"d":U}   (12, T), as a step found it at
 *         its first touch, is (99, U) since that step was taken back
 *     {"t":"loose","i":12,"c":T}              the log has given up its link of
 *         (12, T), or has got one, so its ctime may be another; "own" follows,
 *         or we died
 *     {"t":"lost","seq":9}                    lines of the steps up to seq 9
 *         are missing: do not go by ctimes for these
 *
 * So states form chains, and an edit from outside breaks the chain wherever it
 * happened: what a newer step then finds is no state that we left. The last
 * line for a state counts; a rollback that is run again writes them again.
 *
 * O1  A missing line makes an edit of ours look like one from outside. So what
 *     cannot be written is replaced by "lost", in memory at least.
 *
 * Threads: the owner of the log's.
 */
#ifndef INTERCEPTOR_LOG_OWN_H
#define INTERCEPTOR_LOG_OWN_H

#include <stdbool.h>
#include <stdint.h>

struct own;

struct own_state {
    uint64_t ino;
    int64_t changed; /* clock_ns() of the ctime */
};

/* For the log in dirfd (borrowed). Nothing is read until it is needed. */
struct own *own_new(int dirfd);
void own_free(struct own *own);

/* One state stands for another from now on. last_seq: of the newest step. */
void own_add(struct own *own, const struct own_state *from,
             const struct own_state *to, int64_t last_seq);

/* About to unlink a link of an inode in this state, or one was made. */
void own_loosen(struct own *own, const struct own_state *state,
                int64_t last_seq);

/* Lines are missing, of steps up to last_seq. */
void own_lose(struct own *own, int64_t last_seq);

/* What a state that step seq left is now. True: exactly this one. False: its
 * ctime cannot be told; this is the last one that was known. */
bool own_follow(struct own *own, int64_t seq, struct own_state *state);

/* No step is left: nobody will ask. */
void own_forget(struct own *own);

#endif

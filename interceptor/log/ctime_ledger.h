/* SPDX-License-Identifier: Apache-2.0
 *
 * ctime_ledger - which inode changes since a step were undo's own.
 *
 * Every change of an inode changes its ctime, and no process can set a ctime.
 * So an inode number and a ctime form a state: if both are the same again, no
 * process has touched the inode. A step records the states that it leaves
 * (post_state.h); its rollback compares them with the current ones.
 *
 * But undo itself changes inodes: once a newer step is rolled back, everything
 * is as before it, but with another ctime and perhaps another number. own.jsonl
 * records which state replaces which:
 *     {"t":"own","i":12,"c":T,"j":99,"d":U}   (12, T), which a step found at
 *         its first touch, is (99, U) since that step was rolled back
 *     {"t":"loose","i":12,"c":T}              the log has dropped or made a
 *         link of (12, T), so its ctime may have changed; an "own" line
 *         follows unless the process died
 *     {"t":"lost","seq":9}                    lines of the steps up to seq 9
 *         are missing: do not compare ctimes for these
 *
 * States form chains. An outside edit breaks its chain: the state that a newer
 * step then finds is not one that undo left. The last line of a state counts; a
 * repeated rollback writes its lines again.
 *
 * O1  A missing line makes undo's own change look like an outside edit. So a
 *     line that cannot be written is replaced by "lost", at least in memory.
 *
 * Threads: the lock of the log's owner guards it.
 */
#ifndef INTERCEPTOR_LOG_CTIME_LEDGER_H
#define INTERCEPTOR_LOG_CTIME_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

struct ctime_ledger;

struct ctime_state {
    uint64_t ino;
    int64_t changed; /* clock_ns() of the ctime */
};

/* Make a ledger for the log in dirfd (borrowed). Nothing is read until needed.
 */
struct ctime_ledger *ctime_ledger_new(int dirfd);
void ctime_ledger_free(struct ctime_ledger *ledger);

/* Record that one state replaces another. last_seq: of the newest step. */
void ctime_ledger_add(struct ctime_ledger *ledger,
                      const struct ctime_state *from,
                      const struct ctime_state *to, int64_t last_seq);

/* Record, before the change, that a link of an inode in this state is unlinked,
 * or made. */
void ctime_ledger_loosen(struct ctime_ledger *ledger,
                         const struct ctime_state *state, int64_t last_seq);

/* Record that lines of the steps up to last_seq are missing. */
void ctime_ledger_lose(struct ctime_ledger *ledger, int64_t last_seq);

/* Replace a state that step seq left by its current successor. True: the
 * successor is exact. False: its ctime is unknown; *state is the last known
 * one. */
bool ctime_ledger_follow(struct ctime_ledger *ledger, int64_t seq,
                         struct ctime_state *state);

/* No step is left: drop all lines. */
void ctime_ledger_forget(struct ctime_ledger *ledger);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_wire - requests to the pool's keeper.
 *
 * The socket is $XDG_RUNTIME_DIR/stepback/.pool/pool.sock. A client sends one
 * line with a JSON object, and the keeper answers with one and hangs up:
 *
 *     {"request": "take", "key": KEY}   {"taken": true}, with the machine's
 * link by SCM_RIGHTS; or {"taken": false, "reason": TEXT}
 *     {"request": "failed", "reason": TEXT}   {}: a machine that was taken has
 *                                       failed; none is given for a while
 *     {"request": "status"}             see pool_service.c
 *     {"request": "end"}                hangs up once all machines are given up
 *
 * Each side accepts only a peer of its own user (SO_PEERCRED).
 */
#ifndef AGENT_VM_POOL_WIRE_H
#define AGENT_VM_POOL_WIRE_H

/* In $XDG_RUNTIME_DIR/stepback; no sandbox has such a name. */
#define POOL_DIR    ".pool"
#define POOL_SOCKET "pool.sock"

enum { POOL_REQUEST_MAX = 512, POOL_ANSWER_MAX = 64 << 10 };

/* Limits of the pool. */
enum { POOL_SIZE_MAX = 64 };

#endif

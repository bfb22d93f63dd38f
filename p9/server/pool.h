/* SPDX-License-Identifier: Apache-2.0
 *
 * pool - threads that do requests, first come first served.
 *
 * Its queue needs no bound of its own: connections bound what they put there.
 *
 * Threads: any, but _free().
 */
#ifndef P9_SERVER_POOL_H
#define P9_SERVER_POOL_H

struct p9_pool;
struct p9_request;

/* run is called with each request, by any of the threads. */
struct p9_pool *p9_pool_new(unsigned threads,
                            void (*run)(struct p9_request *request));

/* Nothing may be in it. NULL is allowed. */
void p9_pool_free(struct p9_pool *pool);

/* Taken until it is run. */
void p9_pool_push(struct p9_pool *pool, struct p9_request *request);

#endif

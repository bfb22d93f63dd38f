/* SPDX-License-Identifier: Apache-2.0
 *
 * pool - threads that handle requests in FIFO order.
 *
 * The queue needs no bound of its own: each connection bounds its requests.
 *
 * Threads: any, except p9_pool_free().
 */
#ifndef P9_SERVER_POOL_H
#define P9_SERVER_POOL_H

struct p9_pool;
struct p9_request;

/* run is called with each request, by any of the pool's threads. */
struct p9_pool *p9_pool_new(unsigned threads,
                            void (*run)(struct p9_request *request));

/* The pool must be empty. NULL is allowed. */
void p9_pool_free(struct p9_pool *pool);

/* Queue a request; the pool owns it until it is run. */
void p9_pool_push(struct p9_pool *pool, struct p9_request *request);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch - finds and runs the handler of a request.
 */
#ifndef P9_SERVER_DISPATCH_H
#define P9_SERVER_DISPATCH_H

#include "p9/server/request.h"

/* Return NULL if type is not a request, or one that the connection handles. */
const struct p9_op *p9_dispatch_find(uint8_t type);

/* Called when the request was handled, with its result; releases is the value
 * of parked_releases() before that. The reply is in the request, for the
 * call. */
typedef void p9_dispatch_done(struct p9_request *request, int r,
                              uint64_t releases);

/* Handle the request, and pass the result to done. */
void p9_dispatch_run(struct p9_request *request, p9_dispatch_done *done);

#endif

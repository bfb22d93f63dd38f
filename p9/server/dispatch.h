/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch - which handler a request has.
 */
#ifndef P9_SERVER_DISPATCH_H
#define P9_SERVER_DISPATCH_H

#include "p9/server/request.h"

/* NULL: it is no request, or one that the connection does itself. */
const struct p9_op *p9_dispatch_find(uint8_t type);

/* It was handled, with this result; releases is what parked_releases() said
 * before. The reply is in the request, for the call. */
typedef void p9_dispatch_done(struct p9_request *request, int r,
                              uint64_t releases);

/* Do it, and hand the result over. */
void p9_dispatch_run(struct p9_request *request, p9_dispatch_done *done);

#endif

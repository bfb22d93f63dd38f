/* SPDX-License-Identifier: Apache-2.0
 *
 * error - the public names of the error codes (interceptor.h).
 */
#include "common/errors.h"
#include "interceptor/interceptor.h"

#define SAME(code) G_STATIC_ASSERT((int)IC_##code == (int)code)

SAME(ERROR_INVALID_FIELD);
SAME(ERROR_INVALID_DIRECTORY);
SAME(ERROR_NOTHING_TO_UNDO);
SAME(ERROR_UNDO_BARRIER);
SAME(ERROR_STEP_UNPROTECTED);
SAME(ERROR_UNDO_VERSION_MISMATCH);
SAME(ERROR_PREIMAGE_MISSING);
SAME(ERROR_PREIMAGE_CORRUPT);
SAME(ERROR_STEP_ACTIVE);
SAME(ERROR_IO_ERROR);
SAME(ERROR_UNKNOWN_SAFEGUARD);
SAME(ERROR_BUSY);
SAME(ERROR_INTERNAL);

GQuark ic_error_quark(void)
{
    return STEPBACK_ERROR;
}

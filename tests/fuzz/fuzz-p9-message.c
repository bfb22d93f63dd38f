/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-p9-message - bytes that are decoded as a 9P message.
 *
 * An input is a message; its size is added in front. An accepted message must
 * have the same bytes when it is encoded.
 */
#include <stdlib.h>
#include <string.h>

#include "p9/wire/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each is a separate allocation, so that an access beyond it is found. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t total = size + 4;
    uint8_t *bytes = malloc(total), *again = malloc(total + 4);
    struct p9_message message;

    bytes[0] = (uint8_t)total;
    bytes[1] = (uint8_t)(total >> 8);
    bytes[2] = (uint8_t)(total >> 16);
    bytes[3] = (uint8_t)(total >> 24);
    if (size > 0)
        memcpy(bytes + 4, data, size);
    if (p9_message_decode(bytes, total, &message) == 0) {
        int n = p9_message_encode(&message, again, total + 4);
        bool optional = message.type == P9_TFSYNC && n == (int)total + 4;

        if (!optional && (n != (int)total || memcmp(bytes, again, total) != 0))
            abort();
        for (size_t room = 0; room < total; room++) {
            uint8_t *less = malloc(room);

            if (p9_message_encode(&message, less, room) >= 0)
                abort();
            free(less);
            room += total / 16;
        }
    }
    free(bytes);
    free(again);
    return 0;
}

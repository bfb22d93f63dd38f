/* SPDX-License-Identifier: Apache-2.0
 *
 * tls_hello - see tls_hello.h.
 */
#include "proxy/tls_hello.h"

#include <stdbool.h>
#include <string.h>

enum {
    RECORD_HEADER = 5,
    RECORD_HANDSHAKE = 22,
    RECORD_MAX = 1 << 14,
    MESSAGE_HEADER = 4,
    CLIENT_HELLO = 1,
    RANDOM = 32,
    SESSION_ID_MAX = 32,
    SERVER_NAME = 0,
    HOST_NAME = 0,
};

/* A part of the message that remains to be read. */
struct part {
    const uint8_t *data;
    size_t length;
};

static const char malformed[] = "the ClientHello is malformed";

/* ---- records ------------------------------------------------------------- */

struct message {
    uint8_t data[TLS_HELLO_MAX];
    size_t length, wanted; /* wanted: 0 until the message's header is known */
};

static enum tls_hello_verdict refuse(struct refusal *refusal,
                                     const char *reason)
{
    host_name_refuse(refusal, reason, NULL, 0);
    return TLS_HELLO_REFUSED;
}

/* Take the content of a record, or the part of it that was received. Return
 * false if the message ends within it. */
static bool add(struct message *message, const uint8_t *data, size_t length)
{
    memcpy(message->data + message->length, data, length);
    message->length += length;
    if (message->length >= MESSAGE_HEADER)
        message->wanted = MESSAGE_HEADER + ((size_t)message->data[1] << 16 |
                                            (size_t)message->data[2] << 8 |
                                            message->data[3]);
    return message->wanted == 0 || message->length <= message->wanted;
}

/* Check the bytes of a record's header that were received. */
static bool is_handshake(const uint8_t *data, size_t length)
{
    size_t content = length >= RECORD_HEADER ? (size_t)data[3] << 8 | data[4]
                                             : 1;

    return data[0] == RECORD_HANDSHAKE && (length < 2 || data[1] == 3) &&
           (length < 3 || data[2] <= 4) && content > 0 && content <= RECORD_MAX;
}

/* Collect the message; passed: it is whole, and ends with a record. */
static enum tls_hello_verdict collect(const uint8_t *data, size_t length,
                                      struct message *message,
                                      struct refusal *refusal)
{
    size_t at = 0;

    while (at < length) {
        size_t content, here;

        if (!is_handshake(data + at, length - at))
            return refuse(refusal, malformed);
        if (length - at < RECORD_HEADER)
            break;
        content = (size_t)data[at + 3] << 8 | data[at + 4];
        at += RECORD_HEADER;
        if (at + content > TLS_HELLO_MAX)
            return refuse(refusal, "the ClientHello is too long");
        here = content < length - at ? content : length - at;
        if (!add(message, data + at, here) ||
            (message->length > 0 && message->data[0] != CLIENT_HELLO))
            return refuse(refusal, malformed);
        if (message->wanted > TLS_HELLO_MAX)
            return refuse(refusal, "the ClientHello is too long");
        if (message->length == message->wanted && message->wanted > 0)
            return here == content ? TLS_HELLO_PASSED : TLS_HELLO_MORE;
        at += here;
    }
    /* The next record's header and a byte must fit, too. */
    if (length >= TLS_HELLO_MAX)
        return refuse(refusal, "the ClientHello is too long");
    return TLS_HELLO_MORE;
}

/* ---- the message --------------------------------------------------------- */

static bool take(struct part *from, size_t length, struct part *ret_part)
{
    if (length > from->length)
        return false;
    *ret_part = (struct part){ from->data, length };
    from->data += length;
    from->length -= length;
    return true;
}

static bool take_number(struct part *from, size_t bytes, size_t *ret_number)
{
    struct part part;

    if (!take(from, bytes, &part))
        return false;
    *ret_number = 0;
    for (size_t i = 0; i < bytes; i++)
        *ret_number = *ret_number << 8 | part.data[i];
    return true;
}

/* Take a vector, after its length in that many bytes. */
static bool take_vector(struct part *from, size_t bytes, struct part *ret_part)
{
    size_t length;

    return take_number(from, bytes, &length) && take(from, length, ret_part);
}

/* There may be none (RFC 5246, 7.4.1.2). */
static bool find_extensions(struct part *message, struct part *ret_extensions)
{
    struct part skipped;

    *ret_extensions = (struct part){ 0 };
    return take(message, MESSAGE_HEADER + 2 + RANDOM, &skipped) &&
           take_vector(message, 1, &skipped) &&
           skipped.length <= SESSION_ID_MAX &&
           take_vector(message, 2, &skipped) && skipped.length >= 2 &&
           skipped.length % 2 == 0 && take_vector(message, 1, &skipped) &&
           skipped.length > 0 &&
           (message->length == 0 || take_vector(message, 2, ret_extensions)) &&
           message->length == 0;
}

/* Return whether the extension hides the name: the standard's number, and those
 * of its drafts and of its predecessor. */
static bool is_encrypted(size_t type)
{
    return (type >= 0xfe02 && type <= 0xfe0d) || type == 0xffce;
}

static const char *read_name(struct part extension, struct part *ret_name)
{
    struct part list;
    size_t type;

    if (!take_vector(&extension, 2, &list) || extension.length > 0 ||
        !take_number(&list, 1, &type) || !take_vector(&list, 2, ret_name))
        return malformed;
    if (type != HOST_NAME || list.length > 0)
        return "the ClientHello must have one server name";
    return NULL;
}

/* Return the reason for a refusal, or NULL. ret_name has no data if there is
 * none. */
static const char *find_name(struct part extensions, struct part *ret_name)
{
    *ret_name = (struct part){ 0 };
    while (extensions.length > 0) {
        const char *problem = NULL;
        struct part extension;
        size_t type;

        if (!take_number(&extensions, 2, &type) ||
            !take_vector(&extensions, 2, &extension))
            return malformed;
        if (is_encrypted(type))
            return "the ClientHello has an encrypted part (ECH)";
        if (type == SERVER_NAME && ret_name->data)
            problem = "the ClientHello must have one server name";
        else if (type == SERVER_NAME)
            problem = read_name(extension, ret_name);
        if (problem)
            return problem;
    }
    return NULL;
}

enum tls_hello_verdict tls_hello_judge(const uint8_t *data, size_t length,
                                       const char *name,
                                       struct refusal *refusal)
{
    struct message message = { .length = 0 };
    enum tls_hello_verdict verdict = collect(data, length, &message, refusal);
    struct part rest = { message.data, message.length }, extensions, found;
    const char *problem = malformed;

    if (verdict != TLS_HELLO_PASSED)
        return verdict;
    if (find_extensions(&rest, &extensions))
        problem = find_name(extensions, &found);
    if (!problem && !found.data)
        problem = "the ClientHello has no server name (SNI)";
    if (problem)
        return refuse(refusal, problem);
    if (host_name_equals(name, (const char *)found.data, found.length))
        return TLS_HELLO_PASSED;
    host_name_refuse(refusal,
                     "the ClientHello has another server name than its "
                     "connection",
                     (const char *)found.data, found.length);
    return TLS_HELLO_REFUSED;
}

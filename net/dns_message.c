/* SPDX-License-Identifier: Apache-2.0
 *
 * dns_message - see dns_message.h.
 */
#include "net/dns_message.h"

#include <string.h>

#include "net/frame.h"

enum { HEADER = 12, QUESTION_TAIL = 4, OPT_HEADER = 11, OPT_OPTION = 4 };
enum { NAME_MAX_BYTES = 255, CLASS_IN = 1, TYPE_OPT = 41 };

/* RFC 8482 and older: transfers, and all types. */
enum { TYPE_FIRST_META = 251, TYPE_LAST_META = 254 };

/* The size of a UDP answer that this server can take (RFC 9715). */
enum { OWN_UDP_SIZE = 1232 };

enum {
    FLAG_ANSWER = 0x8000,
    FLAGS_OPCODE = 0x7800,
    FLAG_TRUNCATED = 0x0200,
    FLAG_RECURSION_DESIRED = 0x0100,
    FLAG_RECURSION_AVAILABLE = 0x0080,
    FLAG_CHECKING_DISABLED = 0x0010,
    OPT_FLAG_DO = 0x8000,
};

struct reader {
    const uint8_t *data;
    size_t at, length;
};

static size_t left(const struct reader *reader)
{
    return reader->length - reader->at;
}

/* ---- queries ------------------------------------------------------------- */

/* Read the labels of a name into text, of NAME_MAX_BYTES, with a dot behind
 * each. A byte that would be a dot or the end becomes a space, which no listed
 * name has. */
static bool read_labels(struct reader *reader, char *text)
{
    size_t start = reader->at, used = 0;

    while (left(reader) > 0) {
        size_t label = reader->data[reader->at++];
        size_t size = reader->at + label - start;

        if (label == 0) {
            text[used] = '\0';
            return size <= NAME_MAX_BYTES;
        }
        if (label > NETWORK_LABEL_MAX || label > left(reader) ||
            size >= NAME_MAX_BYTES)
            return false;
        for (; label > 0; label--) {
            char c = (char)reader->data[reader->at++];

            text[used++] = (char)(c == '.' || c == '\0' ? ' ' : c);
        }
        text[used++] = '.';
    }
    return false;
}

static bool read_question(struct reader *reader, struct dns_query *query,
                          unsigned *ret_class)
{
    char text[NAME_MAX_BYTES + 1];

    if (!read_labels(reader, text) || left(reader) < QUESTION_TAIL)
        return false;
    query->is_root = text[0] == '\0';
    if (!network_name_normalize(text, query->name))
        query->name[0] = '\0';
    query->type = frame_get16(reader->data + reader->at);
    *ret_class = frame_get16(reader->data + reader->at + 2);
    reader->at += QUESTION_TAIL;
    query->question_length = reader->at - HEADER;
    return true;
}

/* Return whether the options of OPT are well-formed: code, length, bytes. */
static bool skip_options(struct reader *reader, size_t length)
{
    size_t end = reader->at + length;

    if (length > left(reader))
        return false;
    while (end - reader->at >= OPT_OPTION) {
        size_t option = frame_get16(reader->data + reader->at + 2);

        reader->at += OPT_OPTION;
        if (option > end - reader->at)
            return false;
        reader->at += option;
    }
    return reader->at == end;
}

/*      0   1      3      5               6         7       9
 *     +---+------+------+---------------+---------+-------+--------+
 *     | 0 | type | size | extended code | version | flags | length |
 *     +---+------+------+---------------+---------+-------+--------+
 */
static enum dns_code read_opt(struct reader *reader, struct dns_query *query)
{
    const uint8_t *opt = reader->data + reader->at;

    if (left(reader) < OPT_HEADER || opt[0] != 0 ||
        frame_get16(opt + 1) != TYPE_OPT)
        return DNS_FORMERR;
    reader->at += OPT_HEADER;
    if (!skip_options(reader, frame_get16(opt + 9)))
        return DNS_FORMERR;
    query->has_opt = true;
    query->dnssec_ok = (frame_get16(opt + 7) & OPT_FLAG_DO) != 0;
    return opt[6] == 0 ? DNS_NOERROR : DNS_BADVERS;
}

static enum dns_code read_body(struct reader *reader, struct dns_query *query)
{
    const uint8_t *counts = reader->data + 4;
    unsigned class, extra = frame_get16(counts + 6);
    enum dns_code code = DNS_NOERROR;

    if (query->flags & FLAGS_OPCODE)
        return DNS_NOTIMP;
    if (query->flags & FLAG_TRUNCATED || frame_get16(counts) != 1 ||
        frame_get16(counts + 2) != 0 || frame_get16(counts + 4) != 0 ||
        extra > 1 || !read_question(reader, query, &class))
        return DNS_FORMERR;
    if (extra == 1)
        code = read_opt(reader, query);
    if (code == DNS_NOERROR && left(reader) > 0)
        code = DNS_FORMERR;
    if (code == DNS_NOERROR &&
        (class != CLASS_IN ||
         (query->type >= TYPE_FIRST_META && query->type <= TYPE_LAST_META)))
        code = DNS_REFUSED;
    return code;
}

bool dns_query_read(const uint8_t *data, size_t length,
                    struct dns_query *ret_query, enum dns_code *ret_code)
{
    struct reader reader = { data, HEADER, length };

    if (length < HEADER || frame_get16(data + 2) & FLAG_ANSWER)
        return false;
    *ret_query = (struct dns_query){
        .id = frame_get16(data),
        .flags = frame_get16(data + 2),
    };
    *ret_code = read_body(&reader, ret_query);
    return true;
}

/* ---- answers ------------------------------------------------------------- */

static uint8_t *put_address(uint8_t *at, const uint8_t *address)
{
    static const uint8_t record[] = {
        0xc0, HEADER, 0, DNS_A, 0, CLASS_IN, 0, 0, 0, DNS_TTL_S, 0, 4,
    };

    memcpy(at, record, sizeof(record));
    memcpy(at + sizeof(record), address, 4);
    return at + sizeof(record) + 4;
}

static uint8_t *put_opt(uint8_t *at, const struct dns_query *query,
                        enum dns_code code)
{
    memset(at, 0, OPT_HEADER);
    frame_put16(at + 1, TYPE_OPT);
    frame_put16(at + 3, OWN_UDP_SIZE);
    at[5] = (uint8_t)(code >> 4);
    frame_put16(at + 7, query->dnssec_ok ? OPT_FLAG_DO : 0);
    return at + OPT_HEADER;
}

size_t dns_answer_write(const struct dns_query *query, const uint8_t *data,
                        enum dns_code code, const uint8_t *address,
                        uint8_t ret_answer[DNS_ANSWER_MAX])
{
    unsigned kept = FLAGS_OPCODE | FLAG_RECURSION_DESIRED |
                    FLAG_CHECKING_DISABLED;
    uint8_t *at = ret_answer + HEADER + query->question_length;

    memset(ret_answer, 0, HEADER);
    frame_put16(ret_answer, query->id);
    frame_put16(ret_answer + 2, FLAG_ANSWER | FLAG_RECURSION_AVAILABLE |
                                    (query->flags & kept) | (code & 15));
    frame_put16(ret_answer + 4, query->question_length > 0);
    frame_put16(ret_answer + 6, address != NULL);
    frame_put16(ret_answer + 10, query->has_opt);
    memcpy(ret_answer + HEADER, data + HEADER, query->question_length);
    if (address)
        at = put_address(at, address);
    if (query->has_opt)
        at = put_opt(at, query, code);
    return (size_t)(at - ret_answer);
}

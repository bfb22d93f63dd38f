/* SPDX-License-Identifier: Apache-2.0
 *
 * network_records - the guest's recent connections and intercepted requests,
 * and what was refused.
 *
 * The newest NETWORK_RECORDS_MAX that are over, and as many requests. The
 * processes of the network read data of the guest: texts are shortened, and
 * numbers are not relied on.
 *
 * Threads: one.
 */
#ifndef AGENT_MACHINE_NETWORK_RECORDS_H
#define AGENT_MACHINE_NETWORK_RECORDS_H

#include <glib.h>
#include <jansson.h>

enum { NETWORK_RECORDS_MAX = 500 };

struct network_records;

/* A record was kept: the type of the event that has it,
 * event.network_connection or event.network_request, and the record; borrowed.
 */
typedef void (*network_records_kept)(const char *type, json_t *record,
                                     void *opaque);

/* So many further connections or requests are not known one by one. */
typedef void (*network_records_missed)(guint64 count, void *opaque);

struct network_records *network_records_new(network_records_kept kept,
                                            network_records_missed missed,
                                            void *opaque);
void network_records_free(struct network_records *records);

/* Record a connection that has ended: event.connection of net/control.h or
 * proxy/control.h (borrowed). allow: the entry that would allow it, or NULL. */
void network_records_add(struct network_records *records, json_t *payload,
                         const char *allow);

/* Record a refusal: event.refused of net/control.h (borrowed). reason: a text
 * for a user. allow: the policy's entry that would allow it, or NULL. */
void network_records_refuse(struct network_records *records, json_t *payload,
                            const char *reason, const char *allow);

/* Further ones (event.connections_untold) are not known one by one. */
void network_records_miss(struct network_records *records, json_t *payload);

/* Record a request: event.request of proxy/control.h (borrowed). allow: as
 * above. */
void network_records_add_request(struct network_records *records,
                                 json_t *payload, const char *allow);

/* The same as network_records_miss(), for event.requests_untold. */
void network_records_miss_requests(struct network_records *records,
                                   json_t *payload);

/* Record those of a list of open connections (borrowed, may be NULL) whose end
 * will not be known. */
void network_records_add_open(struct network_records *records, json_t *open);

/* Return {"closed","refused","failed"}: numbers of records so far. */
json_t *network_records_count(const struct network_records *records);

/* Return the answer to network.connections. open: a list of open connections,
 * in the form of event.connection (borrowed), or NULL. */
json_t *network_records_to_json(const struct network_records *records,
                                json_t *open);

#endif

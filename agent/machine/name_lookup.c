/* SPDX-License-Identifier: Apache-2.0
 *
 * name_lookup - see name_lookup.h.
 */
#include "agent/machine/name_lookup.h"

#include <arpa/inet.h>
#include <glib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

struct job {
    struct name_lookup *owner; /* NULL: its answer is not wanted any more */
    char *name;
    bool searches;
    name_lookup_done done;
    void *opaque;
    struct addrinfo *found;
    int rc; /* of getaddrinfo() */
};

struct name_lookup {
    GQueue *waiting;
    GPtrArray *running;
};

static void job_free(struct job *job)
{
    if (job->found)
        freeaddrinfo(job->found);
    g_free(job->name);
    g_free(job);
}

/* Without the scope of an IPv6 address, which getnameinfo() would add. */
static bool format_address(const struct sockaddr *address,
                           char ret_text[INET6_ADDRSTRLEN])
{
    struct sockaddr_in6 in6;
    struct sockaddr_in in;

    if (address->sa_family == AF_INET6) {
        memcpy(&in6, address, sizeof(in6));
        return inet_ntop(AF_INET6, &in6.sin6_addr, ret_text, INET6_ADDRSTRLEN);
    }
    if (address->sa_family != AF_INET)
        return false;
    memcpy(&in, address, sizeof(in));
    return inet_ntop(AF_INET, &in.sin_addr, ret_text, INET6_ADDRSTRLEN);
}

static char **list_addresses(const struct addrinfo *found)
{
    GPtrArray *list = g_ptr_array_new();
    char text[INET6_ADDRSTRLEN];

    for (; found; found = found->ai_next) {
        if (format_address(found->ai_addr, text))
            g_ptr_array_add(list, g_strdup(text));
    }
    g_ptr_array_add(list, NULL);
    return (char **)g_ptr_array_free(list, FALSE);
}

static void answer(struct job *job)
{
    g_auto(GStrv) list = NULL;

    if (job->rc == 0)
        list = list_addresses(job->found);
    job->done(list, list ? job->found->ai_canonname : NULL,
              list ? NULL : gai_strerror(job->rc), job->opaque);
}

static void start_next(struct name_lookup *lookup);

static gboolean deliver(gpointer data)
{
    struct job *job = data;
    struct name_lookup *owner = job->owner;

    if (owner) {
        g_ptr_array_remove_fast(owner->running, job);
        start_next(owner);
        answer(job);
    }
    job_free(job);
    return G_SOURCE_REMOVE;
}

/* Each thread has a state of its own for its queries (resolver(3)). */
static void search_no_domain(void)
{
    if (res_init() == 0)
        _res.options &= ~(unsigned long)(RES_DEFNAMES | RES_DNSRCH);
}

/* A thread: it touches nothing of the job but name, searches, found and rc. */
static gpointer look_up(gpointer data)
{
    const struct addrinfo hints = { .ai_flags = AI_CANONNAME,
                                    .ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM };
    struct job *job = data;

    if (!job->searches)
        search_no_domain();
    job->rc = getaddrinfo(job->name, NULL, &hints, &job->found);
    g_idle_add(deliver, job);
    return NULL;
}

static void start_next(struct name_lookup *lookup)
{
    GThread *thread;
    struct job *job;

    if (lookup->running->len >= NAME_LOOKUP_THREADS ||
        g_queue_is_empty(lookup->waiting))
        return;
    job = g_queue_pop_head(lookup->waiting);
    g_ptr_array_add(lookup->running, job);
    thread = g_thread_try_new("name-lookup", look_up, job, NULL);
    if (thread) {
        g_thread_unref(thread);
        return;
    }
    job->rc = EAI_AGAIN;
    g_idle_add(deliver, job);
}

struct name_lookup *name_lookup_new(void)
{
    struct name_lookup *lookup = g_new0(struct name_lookup, 1);

    lookup->waiting = g_queue_new();
    lookup->running = g_ptr_array_new();
    return lookup;
}

static void abandon(struct job *job)
{
    job->owner = NULL;
    job->done(NULL, NULL, "cancelled", job->opaque);
}

void name_lookup_free(struct name_lookup *lookup)
{
    struct job *job;

    if (!lookup)
        return;
    for (guint i = 0; i < lookup->running->len; i++)
        abandon(lookup->running->pdata[i]);
    while ((job = g_queue_pop_head(lookup->waiting))) {
        abandon(job);
        job_free(job);
    }
    g_queue_free(lookup->waiting);
    g_ptr_array_unref(lookup->running);
    g_free(lookup);
}

void name_lookup_start(struct name_lookup *lookup, const char *name,
                       bool searches, name_lookup_done done, void *opaque)
{
    struct job *job = g_new0(struct job, 1);

    *job = (struct job){ .owner = lookup,
                         .name = g_strdup(name),
                         .searches = searches,
                         .done = done,
                         .opaque = opaque };
    if (g_queue_get_length(lookup->waiting) < NAME_LOOKUP_WAITING) {
        g_queue_push_tail(lookup->waiting, job);
        start_next(lookup);
        return;
    }
    job->rc = EAI_AGAIN;
    g_ptr_array_add(lookup->running, job);
    g_idle_add(deliver, job);
}

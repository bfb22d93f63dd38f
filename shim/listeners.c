/* SPDX-License-Identifier: Apache-2.0
 *
 * listeners - see listeners.h.
 */
#include "shim/listeners.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 8192, LISTENING = 0x0a };

void listeners_watch(struct listeners *listeners)
{
    *listeners = (struct listeners){
        .watched = true,
        .looks_left = LISTENERS_LOOKS_AFTER,
    };
}

int64_t listeners_deadline_ms(struct listeners *listeners, bool busy)
{
    if (busy)
        listeners->looks_left = LISTENERS_LOOKS_AFTER;
    return listeners->watched &&
                   (listeners->looks_left > 0 || listeners->n_known > 0)
               ? listeners->next_ms
               : -1;
}

/* ---- looking ------------------------------------------------------------- */

/*       0: 0100007F:1F90 00000000:0000 0A ...      words in host byte order */
bool listeners_parse(const char *line, bool v6, struct listener *ret_listener)
{
    struct listener listener = { .v6 = v6 };
    const char *at = strchr(line, ':');
    size_t words = v6 ? 4 : 1;
    unsigned port, state;

    if (!at)
        return false;
    at += 1 + strspn(at + 1, " ");
    for (size_t i = 0; i < words; i++, at += 8) {
        uint32_t word;

        if (strlen(at) < 8 || sscanf(at, "%8x", &word) != 1)
            return false;
        memcpy(listener.address + i * 4, &word, 4);
    }
    if (sscanf(at, ":%4x %*[0-9A-F]:%*x %2x", &port, &state) != 2 ||
        state != LISTENING)
        return false;
    listener.port = (uint16_t)port;
    *ret_listener = listener;
    return true;
}

static bool has(const struct listener *list, size_t count,
                const struct listener *one)
{
    for (size_t i = 0; i < count; i++) {
        if (memcmp(&list[i], one, sizeof(*one)) == 0)
            return true;
    }
    return false;
}

/* Add the listener of a line. Return false at the end of the listeners. */
static bool take_line(struct listeners *listeners, const char *line, bool v6)
{
    struct listener listener;

    if (strstr(line, "local_address"))
        return true;
    if (listeners->n_found == WIRE_PORTS_MAX ||
        !listeners_parse(line, v6, &listener))
        return false;
    /* Several sockets may share a port (SO_REUSEPORT). */
    if (!has(listeners->found, listeners->n_found, &listener))
        listeners->found[listeners->n_found++] = listener;
    return true;
}

/* Return whether the table could be read. */
static bool read_table(struct listeners *listeners, const char *path, bool v6)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char buffer[BUFFER + 1];
    size_t used = 0;
    ssize_t n;

    if (fd < 0)
        return false;
    while ((n = read(fd, buffer + used, BUFFER - used)) > 0) {
        char *line = buffer, *end;

        used += (size_t)n;
        buffer[used] = 0;
        for (; (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            if (!take_line(listeners, line, v6)) {
                close(fd);
                return true;
            }
        }
        used -= (size_t)(line - buffer);
        memmove(buffer, line, used);
    }
    close(fd);
    return n == 0;
}

void listeners_look(struct listeners *listeners, bool busy, int64_t now_ms)
{
    int64_t due = listeners_deadline_ms(listeners, busy);

    if (due < 0 || now_ms < due)
        return;
    if (!busy && listeners->looks_left > 0)
        listeners->looks_left--;
    listeners->next_ms = now_ms + WIRE_PORTS_MS;
    listeners->n_found = 0;
    /* A kernel without IPv6 has only the first one. */
    if (read_table(listeners, "/proc/net/tcp", false))
        read_table(listeners, "/proc/net/tcp6", true);
}

/* ---- reports ------------------------------------------------------------- */

bool listeners_next(struct listeners *listeners, struct listener *ret_listener,
                    bool *ret_open)
{
    /* Closed ones first, so that the host has room. */
    for (size_t i = 0; i < listeners->n_known; i++) {
        if (has(listeners->found, listeners->n_found, &listeners->known[i]))
            continue;
        *ret_listener = listeners->known[i];
        *ret_open = false;
        listeners->known[i] = listeners->known[--listeners->n_known];
        return true;
    }
    for (size_t i = 0; i < listeners->n_found; i++) {
        if (has(listeners->known, listeners->n_known, &listeners->found[i]))
            continue;
        *ret_listener = listeners->found[i];
        *ret_open = true;
        listeners->known[listeners->n_known++] = listeners->found[i];
        return true;
    }
    return false;
}

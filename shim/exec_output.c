/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_output - see exec_output.h.
 */
#include "shim/exec_output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shim/wire_json.h"
#include "shim/utf8.h"
#include "shim/wire.h"

/* Output bytes per message. Escapes take at most six bytes per byte, and the
 * rest of the message is short. */
#define CHUNK_SIZE (16 * 1024)
#define CHUNK_ROOM (WIRE_JSON_WORST(CHUNK_SIZE) + 256)

_Static_assert(CHUNK_ROOM <= PORT_OUT_SIZE - PORT_RESERVE,
               "a chunk must fit into the port's buffer");
_Static_assert(CHUNK_ROOM <= WIRE_MAX_LINE, "a chunk must fit into a line");

static void send_output(struct port *port, int64_t id, const char *stream,
                        const void *data, size_t len)
{
    json_t *message = json_pack("{s:s, s:I, s:s}", "type", WIRE_OUTPUT, "id",
                                (json_int_t)id, "stream", stream);

    wire_set_bytes(message, "data", data, len);
    port_send(port, message);
}

bool exec_output_has_room(const struct port *port)
{
    return port_room(port) >= CHUNK_ROOM;
}

bool exec_output_wants(const struct exec_output *output,
                       const struct exec_credit *credit,
                       const struct port *port)
{
    return output->fd >= 0 && (!output->draining || output->drain_left > 0) &&
           (!credit->limited || credit->left > 0) && exec_output_has_room(port);
}

static void reach_end(struct exec_output *output)
{
    close(output->fd);
    output->fd = -1;
    output->drain_left = 0;
}

bool exec_output_pump(struct exec_output *output, int64_t id,
                      struct exec_credit *credit, struct port *port)
{
    unsigned char chunk[CHUNK_SIZE];
    size_t want = sizeof(chunk) - output->tail_len, len;
    ssize_t got;

    if (output->draining && want > output->drain_left)
        want = output->drain_left;
    if (credit->limited && want > (size_t)credit->left)
        want = (size_t)credit->left;
    memcpy(chunk, output->tail, output->tail_len);
    got = read(output->fd, chunk + output->tail_len, want);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        /* Another process may have read from the pipe, so less than drain_left
         * is left. */
        output->drain_left = 0;
        return false;
    }
    /* A terminal's master returns EIO once no process has the other end
     * open. */
    if (got <= 0) {
        reach_end(output);
        return false;
    }
    if (output->draining)
        output->drain_left -= (size_t)got;
    if (credit->limited)
        credit->left -= got;
    len = output->tail_len + (size_t)got;
    output->tail_len = utf8_cut_tail(chunk, len);
    len -= output->tail_len;
    memcpy(output->tail, chunk + len, output->tail_len);
    if (len > 0)
        send_output(port, id, output->name, chunk, len);
    return true;
}

void exec_output_drain(struct exec_output *output, size_t most)
{
    output->draining = true;
    output->drain_left = output->fd >= 0 ? most : 0;
}

bool exec_output_is_drained(const struct exec_output *output)
{
    return output->draining && output->drain_left == 0;
}

void exec_output_finish(struct exec_output *output, int64_t id,
                        struct port *port)
{
    if (output->tail_len > 0)
        send_output(port, id, output->name, output->tail, output->tail_len);
    output->tail_len = 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * wire - what the agent and the shim in the guest say to each other.
 *
 * JSON Lines over the virtio-serial port "control". Neither side sends a line
 * of more than WIRE_LINE_MAX bytes (the newline not counted); a longer one is
 * thrown away as it comes and answered by "error". Unknown members are
 * ignored. Text is UTF-8 without U+0000.
 *
 * Host to guest:
 *
 *     {"type":"hello"}                                    -> hello
 *     {"type":"exec","id":42,"command":"make -j2",
 *      "cwd":"/mnt/working","env":{"K":"V"}}
 *                             -> step_started, output..., step_completed
 *     {"type":"cancel","id":42}      -> (step_completed of 42, when all died)
 *     {"type":"rollback_notify","step_id":7}              -> rollback_noted
 *     {"type":"mount","tag":"working","path":"/mnt/working",
 *      "fstype":"virtiofs","read_only":false}             -> mounted
 *     {"type":"shutdown"}            -> (the guest syncs, unmounts, is off)
 *
 * "cwd", "env", "fstype" and "read_only" may be missing.
 *
 * Guest to host:
 *
 *     {"type":"hello","version":1,"shim_version":"0.1.0","kernel":"6.12.1"}
 *     {"type":"step_started","id":42}
 *     {"type":"output","id":42,"stream":"stdout","data":"text"}
 *     {"type":"output","id":42,"stream":"stderr","encoding":"base64",
 *      "data":"/wA="}
 *     {"type":"step_completed","id":42,"exit_code":0}
 *     {"type":"step_completed","id":42,"exit_code":143,"signal":15}
 *     {"type":"rollback_noted","step_id":7}
 *     {"type":"mounted","tag":"working","status":"ok"}
 *     {"type":"mounted","tag":"working","status":"error","message":"..."}
 *     {"type":"error","id":42,"message":"..."}            id where known
 *
 * What may be relied on:
 *  - The guest says hello unasked once it has opened the port.
 *  - A step's messages come in the order started, output, completed, and
 *    nothing of it comes after completed. An exec that was refused (one is
 *    running, bad input) gets a single error with its id and no step_started.
 *  - No output is lost: when the host does not read, the command waits.
 *  - Completed means that the command's main process has ended. Processes it
 *    left behind live on and what they still write is thrown away. After a
 *    cancel it means that none of the command's processes is left: SIGTERM at
 *    once, SIGKILL after WIRE_CANCEL_GRACE_MS.
 *  - The exit code is the command's, 128 + n when signal n ended it, 126 when
 *    it could not be started (a line on its stderr says why) and 127 when the
 *    shell is missing.
 *  - mounted may come after other messages: mounts run beside the rest.
 *
 * The kernel limits the command's text to 128 KiB less one byte (execve's
 * MAX_ARG_STRLEN); a longer one completes with 126.
 */
#ifndef SHIM_WIRE_H
#define SHIM_WIRE_H

#define WIRE_VERSION 1

/* The virtserialport's name= at the host, and the device it makes. */
#define WIRE_PORT_NAME   "control"
#define WIRE_PORT_DEVICE "/dev/virtio-ports/" WIRE_PORT_NAME

#define WIRE_DEFAULT_CWD    "/mnt/working"
#define WIRE_DEFAULT_FSTYPE "virtiofs"

enum {
    WIRE_LINE_MAX = 1 << 20,     /* bytes, without the newline */
    WIRE_OUTPUT_MAX = 32 << 10,  /* bytes of output in one message, decoded */
    WIRE_ENV_MAX = 1024,         /* members of "env" */
    WIRE_TAG_MAX = 36,           /* bytes; virtio-fs's own limit */
    WIRE_CANCEL_GRACE_MS = 2000, /* from SIGTERM to SIGKILL */
};

/* Host to guest. */
#define WIRE_HELLO           "hello" /* and guest to host */
#define WIRE_EXEC            "exec"
#define WIRE_CANCEL          "cancel"
#define WIRE_ROLLBACK_NOTIFY "rollback_notify"
#define WIRE_MOUNT           "mount"
#define WIRE_SHUTDOWN        "shutdown"

/* Guest to host. */
#define WIRE_STEP_STARTED   "step_started"
#define WIRE_OUTPUT         "output"
#define WIRE_STEP_COMPLETED "step_completed"
#define WIRE_ROLLBACK_NOTED "rollback_noted"
#define WIRE_MOUNTED        "mounted"
#define WIRE_ERROR          "error"

/* Values of "stream", "encoding" and "status". */
#define WIRE_STDOUT          "stdout"
#define WIRE_STDERR          "stderr"
#define WIRE_ENCODING_BASE64 "base64"
#define WIRE_STATUS_OK       "ok"
#define WIRE_STATUS_ERROR    "error"

#endif

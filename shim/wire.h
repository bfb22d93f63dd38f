/* SPDX-License-Identifier: Apache-2.0
 *
 * wire - what the agent and the guest's shim say to each other.
 *
 * One JSON object a line, UTF-8, on the virtio-serial port "control". A line
 * has at most WIRE_MAX_LINE bytes (its newline not counted) in either
 * direction; a longer one is discarded and answered with "error". Members
 * that are not known are ignored, so that either end may be newer.
 *
 * Host to guest:
 *
 *   {"type":"exec","id":42,"command":"make","cwd":"/mnt/working",
 *    "env":{"K":"V"},"time_us":1700000000000000}
 *       Begin an execution: run `/bin/sh -c command`, or with "argv", an array
 *       of at most WIRE_MAX_ARGS strings, that program by the PATH of its own
 *       environment, or with "login":true the user's login shell. At most
 *       WIRE_MAX_EXECUTIONS run at a time; an id must not be that of one which
 *       runs, and later ids must be greater. May be missing:
 *         cwd      default WIRE_DEFAULT_CWD; a login falls back to its home
 *         env      added to the shim's own small environment
 *         user     "name", "uid", or either with ":group" (default: root)
 *         input    a string that is its whole standard input
 *         stdin    true: "input" messages have its standard input, which is
 *                  empty otherwise
 *         tty      {"rows":24,"columns":80}: a terminal for all three streams;
 *                  its output has the stream "stdout"
 *         window   limits output to this many bytes, which "credit" adds to
 *         encoding "base64": the command, the words of argv, cwd, input and
 *                  the values of env are base64, as one of them is not UTF-8
 *         time_us  the host's CLOCK_REALTIME; where the shim is init, it sets
 *                  the guest's clock by it. At its start the guest read whole
 *                  seconds, and a paused guest loses time; new files on the
 *                  share then seem to come from the future, and make warns.
 *   {"type":"credit","id":42,"bytes":65536}
 *       The host has consumed so many bytes of output: as many more may come.
 *   {"type":"input","id":42,"data":"...","eof":true}
 *       Standard input, with "encoding":"base64" where it is not text. At most
 *       WIRE_INPUT_WINDOW bytes may be under way: sent, and not yet named by
 *       "input_taken". "eof" (data may be missing then) is its end; on a
 *       terminal the end-of-file character. Ignored after the execution's end.
 *   {"type":"resize","id":42,"rows":24,"columns":80}
 *   {"type":"signal","id":42,"signal":2}
 *       To the terminal's foreground process group, or the command's group.
 *   {"type":"cancel","id":42}
 *       SIGTERM to every process that the execution started, SIGKILL to those
 *       left after WIRE_CANCEL_GRACE_MS. Its step_completed follows when none
 *       is left. If it was sent before, nothing is: the two have crossed.
 *       "error" if no execution has that id. (Older shims send it, too, if the
 *       command has just ended; then step_completed may come after it.)
 *   {"type":"rollback_notify","step_id":7}
 *   {"type":"mount","tag":"working","path":"/mnt/working",
 *    "fstype":"virtiofs","read_only":false}
 *       Or fstype "9p", over the virtio-serial port whose name is the tag with
 *       WIRE_9P_PORT_PREFIX before it; with "aname", what to attach to there
 *       (without commas), for servers that want to be told. If that one was
 * "unmounted", it is mounted anew; so the host has by then given the port a
 * connection in which no message is torn.
 *   {"type":"hello"}
 *       Ask for another hello, e.g. after a reconnect.
 *   {"type":"shutdown"}
 *       End all processes, unmount, sync, power off. Not answered.
 *
 * Guest to host:
 *
 *   {"type":"hello","version":1,"shim_version":"0.1.0","kernel":"6.12.95",
 *    "takes_input":1,"takes_bytes":1,"executions":64,"init_ms":610,
 *    "shim_ms":890,"uptime_ms":900}
 *       The first message once the port is open. "takes_bytes": "encoding" is
 *       understood. "executions" is how many may run at a time; missing (older
 *       shims): one, without the members and messages above that need more than
 *       a command and its "input". The times count from the kernel's begin:
 *       when the image's init began (may be missing), when the shim did, and
 *       now.
 *   {"type":"step_started","id":42}
 *   {"type":"output","id":42,"stream":"stdout","data":"..."}
 *       Or stream "stderr". With "encoding":"base64" beside it, data is
 *       base64: the bytes were not UTF-8 or held a NUL. A character is never
 *       cut in two by a chunk's end. Order holds within a stream.
 *   {"type":"input_taken","id":42,"bytes":4096}
 *       So many bytes of standard input went to the command, or were dropped
 *       because it closed its end.
 *   {"type":"step_completed","id":42,"exit_code":0,"processes":0}
 *       Once for each step_started, after all its output. 128+n and
 *       "signal":n if signal n ended it; 126 or 127, with the reason on
 *       stderr, if it could not be run (a cwd that is not there, no shell).
 *       "processes" is 1 if background processes of the command still run;
 *       what they print is discarded. 0: none does, and so no change of a share
 *       by one of them is under way: a change is over when its system call
 *       is, what was written through a mapping is written back when the
 *       mapping goes (no write-back cache is used), and an exit waits for both
 *       and for asynchronous I/O. Missing (older shims): not known.
 *   {"type":"rollback_noted","step_id":7}
 *   {"type":"mounted","tag":"working","status":"ok"}
 *       Or status "error" with "message".
 *   {"type":"unmounted","tag":"working","message":"..."}
 *       A folder that was mounted over 9P has lost its connection: whoever
 *       uses it gets errors until it is mounted again.
 *   {"type":"error","message":"...","id":42}
 *       A message was refused and did nothing; id where it is known.
 */
#ifndef SHIM_WIRE_H
#define SHIM_WIRE_H

#define WIRE_VERSION         1
#define WIRE_PORT_NAME       "control"
#define WIRE_PORT_PATH       "/dev/virtio-ports/" WIRE_PORT_NAME
#define WIRE_MAX_LINE        (1024 * 1024)
#define WIRE_DEFAULT_CWD     "/mnt/working"
#define WIRE_DEFAULT_FSTYPE  "virtiofs"
#define WIRE_FSTYPE_9P       "9p"
#define WIRE_9P_PORT_PREFIX  "9p."
#define WIRE_CANCEL_GRACE_MS 2000

/* A guest's clock that is this near is left alone. */
#define WIRE_CLOCK_SLACK_US 20000

/* Variables that one exec may add to the environment, and its words. */
#define WIRE_MAX_ENV  512
#define WIRE_MAX_ARGS 4096

/* Executions that may run at a time. */
#define WIRE_MAX_EXECUTIONS 64

/* Bytes of standard input that may be under way to one execution. */
#define WIRE_INPUT_WINDOW (64 * 1024)

/* Host to guest. */
#define WIRE_EXEC            "exec"
#define WIRE_CREDIT          "credit"
#define WIRE_INPUT           "input"
#define WIRE_RESIZE          "resize"
#define WIRE_SIGNAL          "signal"
#define WIRE_CANCEL          "cancel"
#define WIRE_ROLLBACK_NOTIFY "rollback_notify"
#define WIRE_MOUNT           "mount"
#define WIRE_SHUTDOWN        "shutdown"

/* Both ways. */
#define WIRE_HELLO "hello"

/* Guest to host. */
#define WIRE_STEP_STARTED   "step_started"
#define WIRE_OUTPUT         "output"
#define WIRE_INPUT_TAKEN    "input_taken"
#define WIRE_STEP_COMPLETED "step_completed"
#define WIRE_ROLLBACK_NOTED "rollback_noted"
#define WIRE_MOUNTED        "mounted"
#define WIRE_UNMOUNTED      "unmounted"
#define WIRE_ERROR          "error"

/* Values of "stream", "encoding" and "status". */
#define WIRE_STDOUT          "stdout"
#define WIRE_STDERR          "stderr"
#define WIRE_ENCODING_BASE64 "base64"
#define WIRE_STATUS_OK       "ok"
#define WIRE_STATUS_ERROR    "error"

#endif

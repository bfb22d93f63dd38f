/* SPDX-License-Identifier: Apache-2.0
 *
 * wire - the protocol between the supervisor and the guest's shim.
 *
 * One JSON object per line, UTF-8, on the virtio-serial port "control". A line
 * has at most WIRE_MAX_LINE bytes (without its newline) in either direction; a
 * longer one is discarded and answered with "error". Unknown members are
 * ignored, so that either end may be newer.
 *
 * Host to guest:
 *
 *   {"type":"exec","id":42,"command":"make","cwd":"/mnt/working",
 *    "env":{"K":"V"},"time_us":1700000000000000}
 *       Start an execution: run `/bin/sh -c command`; or, with "argv", an
 *       array of at most WIRE_MAX_ARGS strings, that program, searched in the
 *       PATH of its own environment; or, with "login":true, the user's login
 *       shell. At most WIRE_MAX_EXECUTIONS run at a time. An id must not be
 *       that of a running execution, and later ids must be greater. Optional
 *       members:
 *         cwd      default WIRE_DEFAULT_CWD; a login falls back to its home
 *         env      added to the shim's own small environment
 *         user     "name", "uid", or either with ":group" (default: root)
 *         input    a string, the complete standard input
 *         stdin    true: standard input arrives in "input" messages; without
 *                  it standard input is empty
 *         tty      {"rows":24,"columns":80}: a terminal for all three streams;
 *                  its output has the stream "stdout"
 *         prompt   true, with "login": each line typed at the shell's prompt
 *                  is a step, by "step_request"; a shell without hooks is one
 *                  step
 *         window   limits output to this many bytes; "credit" adds to the
 *                  limit
 *         encoding "base64": the command, the words of argv, cwd, input and
 *                  the values of env are base64, because one is not UTF-8
 *         time_us  the host's CLOCK_REALTIME. If the shim is init, it sets the
 *                  guest's clock from it: at its start the guest read whole
 *                  seconds, and a paused guest loses time. New files on the
 *                  share would then have timestamps in the future, about which
 *                  make warns.
 *   {"type":"credit","id":42,"bytes":65536}
 *       Output bytes that the host has consumed; as many more may follow.
 *   {"type":"input","id":42,"data":"...","eof":true}
 *       Standard input, with "encoding":"base64" if it is not text. At most
 *       WIRE_INPUT_WINDOW bytes may be in flight: sent, and not yet reported
 *       in "input_taken". "eof" ends the input (data is optional then); on a
 *       terminal it sends the end-of-file character. Ignored after the
 *       execution's end.
 *   {"type":"resize","id":42,"rows":24,"columns":80}
 *   {"type":"signal","id":42,"signal":2}
 *       To the terminal's foreground process group, or the command's group.
 *   {"type":"cancel","id":42}
 *       SIGTERM to every process that the execution started, SIGKILL to those
 *       left after WIRE_CANCEL_GRACE_MS. The step_completed follows when none
 *       is left. If it was already sent, there is no further answer: the two
 *       messages have crossed. "error" if no execution had that id. (Older
 *       shims also send "error" if the command has just ended; its
 *       step_completed may then follow.)
 *   {"type":"mount","tag":"working","path":"/mnt/working",
 *    "fstype":"virtiofs","read_only":false}
 *       Or fstype "9p", over the virtio-serial port whose name is
 *       WIRE_9P_PORT_PREFIX followed by the tag; "aname" (without commas) is
 *       the tree to attach to, for servers that require it. An "unmounted" tag
 *       is mounted again; before that the host must give the port a connection
 *       without a torn message. The host may plug the device or the port at the
 *       same time: the shim waits for it, WIRE_MOUNT_WAIT_MS. (Older shims wait
 *       for a port only.) Answered by "mounted".
 *   {"type":"unmount","tag":"working","force":false}
 *       Answered by "unmounted" with a status. It fails while a process uses
 *       the folder, unless "force" is true: then the folder vanishes, and files
 *       that are open in it fail once the host unplugs its device.
 *   {"type":"refresh","tag":"working","id":7,"unused":true,
 *    "names":[[1,"a",false,21],[18,"/w==",true,0],[21]]}
 *       The host has changed these names of a virtio-fs share: have the guest's
 *       kernel look at them again. virtiofs/fuse/notify_peer.h has the form.
 *       Answered by "refreshed"; at most one for each share at a time.
 *   {"type":"setup","certificates":"-----BEGIN ...","git_name":"...",
 *    "git_email":"..."}
 *       Trust these certificates, and use this identity for commits: in the
 *       guest's system files, below what a user or a repository configures.
 *       What is missing is removed, if an earlier setup has written it to the
 *       disk. Executions get the variables that programs with certificates of
 *       their own need. Answered by "set_up".
 *   {"type":"renew","entropy":"...","machine_id":"...",
 *    "time_us":1700000000000000,"network":{"mac":"52:54:00:12:34:56",
 *    "address":"10.0.2.15","netmask":"255.255.255.0","gateway":"10.0.2.2",
 *    "dns":"10.0.2.3"}}
 *       Make this machine differ from all others that continue from the same
 *       saved state. The entropy, WIRE_ENTROPY bytes in base64, is mixed into
 *       the kernel's random numbers, which are reseeded; the clock is set to
 *       the host's CLOCK_REALTIME; the machine id, 32 hexadecimal digits, is
 *       written to /etc/machine-id unless that has one. With "network", the
 *       network is started: in a machine whose state gets saved, the
 *       image's init leaves that out. Answered by "renewed".
 *   {"type":"watch_ports"}
 *       Report the ports at which programs listen, from now on.
 *   {"type":"step_answer","request":3,"step_id":7,"text":"..."}
 *       The answer to a "step_request", exactly one: "error", the reason, if
 *       it was refused; or "text" (optional) for the user, of at most
 *       WIRE_STEP_TEXT bytes, and "step_id" for "begin".
 *   {"type":"find_processes","request":5,"pids":[1207,1210]}
 *       Report the executions of these processes or threads, at most
 *       WIRE_FIND_MAX, which may have ended. Their numbers are those in the
 *       shim's pid namespace. Answered with "processes".
 *   {"type":"bulk_start","mark":"..."}
 *       After "bulk_ended": serve the bulk port again. The host has written
 *       the mark, WIRE_BULK_MARK bytes, to that port; frames begin after it,
 *       in both directions, and what comes before it is ignored.
 *   {"type":"hello"}
 *       Request another hello, e.g. after a reconnect.
 *   {"type":"shutdown"}
 *       End all processes, unmount, sync, power off. Not answered.
 *
 * Guest to host:
 *
 *   {"type":"hello","version":1,"shim_version":"0.1.0","kernel":"6.12.95",
 *    "takes_input":1,"takes_bytes":1,"reports_ports":1,"executions":64,
 *    "steps":1,"finds_processes":1,"setup":1,"plugs_folders":1,"renews":1,
 *    "refreshes":1,"init_ms":610,"shim_ms":890,"uptime_ms":900}
 *       The first message once the port is open. "takes_bytes": "encoding" is
 *       supported. "reports_ports": "watch_ports" is. "executions" is how many
 *       may run at a time; missing (older shims): one, without the members and
 *       messages above that go beyond a command and its "input". "steps":
 *       "prompt" and "step_request" are supported. "finds_processes": so is
 *       "find_processes"; "setup": so is "setup". "plugs_folders": a "mount"
 *       waits for its device, and "unmount" is supported. "renews": the shim
 *       is init and supports "renew". "refreshes": "refresh" is supported. The
 *       times count from the kernel's start: the start of the image's init
 *       (optional), the start of the shim, and now.
 *   {"type":"step_started","id":42}
 *   {"type":"output","id":42,"stream":"stdout","data":"..."}
 *       Or stream "stderr". With "encoding":"base64", data is base64: the
 *       bytes were not UTF-8 or contained a NUL. A chunk never splits a
 *       character. The order is preserved within a stream.
 *   {"type":"input_taken","id":42,"bytes":4096}
 *       This many bytes of standard input went to the command, or were dropped
 *       because it closed its end.
 *   {"type":"step_completed","id":42,"exit_code":0,"processes":0}
 *       Once for each step_started, after all its output. 128+n and "signal":n
 *       if signal n ended it; 126 or 127, with the reason on stderr, if it
 *       could not be run (missing cwd, no shell). "processes" is 1 if
 *       background processes of the command still run; their output is
 *       discarded. 0: none runs, so no change to a share by one of them is in
 *       progress, but for writes that the guest's kernel has already sent to
 *       the file server, or sends before it closes the file there: of a mapping
 *       that ended with its process, and of asynchronous direct I/O. Missing
 *       (older shims): unknown. "oom_kills":n (optional): meanwhile the kernel
 *       killed n processes because memory was used up.
 *   {"type":"step_request","request":3,"id":42,"op":"begin",
 *    "scope":"prompt","text":"make"}
 *       A process of execution 42 asks about steps. The request numbers of
 *       requests without an answer differ. Operations:
 *         begin     open a step with this text (base64 if it is not text) as
 *                   its command; the answer comes when it is open. Scopes
 *                   nest: a begin ends this scope, if it exists, and those
 *                   within it. The step of the enclosing scope is closed.
 *         end       end the scope and those within it, and close their step
 *                   with "exit_code" (optional). The answer comes when it is
 *                   closed. The enclosing scope continues with a new step.
 *         withdraw  refuse the "begin" or "grant" with the request number
 *                   "number", if it still waits
 *         list      describe the steps
 *         diff      describe the changes of the step "number"; 0: the newest
 *         undo      roll back the newest "number" steps
 *         grant     ask the host's user for access to the folder of the host
 *                   that "text" names; "write":1 asks to change it. "reason"
 *                   (optional, UTF-8) is shown. The answer comes with the
 *                   decision.
 *       "processes" is 0 if the execution has no processes but the one that
 *       asks and its ancestors. Missing (older shims): unknown.
 *   {"type":"processes","request":5,"executions":"3 0"}
 *       The answer to "find_processes": an execution for each of its numbers,
 *       in order. 0: it is of no execution, or that is unknown.
 *   {"type":"mounted","tag":"working","status":"ok"}
 *       Or status "error" with "message".
 *   {"type":"refreshed","tag":"working","id":7,"status":"ok"}
 *       Or status "error" with "message": the kernel may still have old names.
 *   {"type":"set_up","status":"ok"}
 *       Or status "error" with "message".
 *   {"type":"renewed","status":"ok"}
 *       Or status "error" with "message".
 *   {"type":"unmounted","tag":"working","message":"..."}
 *       A folder that was mounted over 9P has lost its connection: its users
 *       get errors until it is mounted again. With a "status", it is the answer
 *       to "unmount": "ok" (the tag may be used again), or "error" with
 *       "message".
 *   {"type":"port","port":8000,"protocol":"tcp","address":"0.0.0.0","open":1}
 *       A program listens at this port, or ("open":0) no longer. After
 *       "watch_ports" the shim looks once in WIRE_PORTS_MS, while an execution
 *       runs, for a while after that, and while a reported port is open. At
 *       most WIRE_PORTS_MAX ports are reported at a time.
 *   {"type":"bulk_ended"}
 *       The process that serves the bulk port (bulk_wire.h) has ended, and
 *       with it all transfers; a frame may be torn.
 *   {"type":"error","message":"...","id":42}
 *       A message was refused and had no effect; id if it is known.
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
#define WIRE_MOUNT_WAIT_MS   30000

/* After the first message with the host's time: do not set back a guest clock
 * that is later than such a message by at most this. On a busy host a message
 * takes that long. */
#define WIRE_CLOCK_AHEAD_US 200000

/* Lengths in "renew", in bytes. */
#define WIRE_ENTROPY    64
#define WIRE_MACHINE_ID 32

/* Limits for the environment variables and the words of one exec. */
#define WIRE_MAX_ENV  512
#define WIRE_MAX_ARGS 4096

/* Maximum number of concurrent executions. */
#define WIRE_MAX_EXECUTIONS 64

/* Limits of a step_request and its answer, in bytes, and the maximum number of
 * requests without an answer. */
#define WIRE_STEP_COMMAND  4000
#define WIRE_STEP_SCOPE    64
#define WIRE_STEP_REASON   500
#define WIRE_STEP_TEXT     (48 * 1024)
#define WIRE_STEP_REQUESTS 128

/* Maximum number of processes in one "find_processes". */
#define WIRE_FIND_MAX 256

/* Bytes of standard input that may be in flight to one execution. */
#define WIRE_INPUT_WINDOW (64 * 1024)

/* Length of the mark after which the bulk port begins again. */
#define WIRE_BULK_MARK 36

/* Listening ports that are reported, and the interval. */
#define WIRE_PORTS_MAX 64
#define WIRE_PORTS_MS  1000

/* Host to guest. */
#define WIRE_EXEC           "exec"
#define WIRE_CREDIT         "credit"
#define WIRE_INPUT          "input"
#define WIRE_RESIZE         "resize"
#define WIRE_SIGNAL         "signal"
#define WIRE_CANCEL         "cancel"
#define WIRE_MOUNT          "mount"
#define WIRE_UNMOUNT        "unmount"
#define WIRE_REFRESH        "refresh"
#define WIRE_SETUP          "setup"
#define WIRE_RENEW          "renew"
#define WIRE_WATCH_PORTS    "watch_ports"
#define WIRE_SHUTDOWN       "shutdown"
#define WIRE_STEP_ANSWER    "step_answer"
#define WIRE_FIND_PROCESSES "find_processes"
#define WIRE_BULK_START     "bulk_start"

/* Both directions. */
#define WIRE_HELLO "hello"

/* Guest to host. */
#define WIRE_STEP_STARTED   "step_started"
#define WIRE_OUTPUT         "output"
#define WIRE_INPUT_TAKEN    "input_taken"
#define WIRE_STEP_COMPLETED "step_completed"
#define WIRE_MOUNTED        "mounted"
#define WIRE_UNMOUNTED      "unmounted"
#define WIRE_REFRESHED      "refreshed"
#define WIRE_SET_UP         "set_up"
#define WIRE_RENEWED        "renewed"
#define WIRE_PORT           "port"
#define WIRE_STEP_REQUEST   "step_request"
#define WIRE_PROCESSES      "processes"
#define WIRE_BULK_ENDED     "bulk_ended"
#define WIRE_ERROR          "error"

/* Values of "op". */
#define WIRE_STEP_BEGIN    "begin"
#define WIRE_STEP_END      "end"
#define WIRE_STEP_WITHDRAW "withdraw"
#define WIRE_STEP_LIST     "list"
#define WIRE_STEP_DIFF     "diff"
#define WIRE_STEP_UNDO     "undo"
#define WIRE_STEP_GRANT    "grant"

/* Values of "stream", "encoding" and "status". */
#define WIRE_STDOUT          "stdout"
#define WIRE_STDERR          "stderr"
#define WIRE_ENCODING_BASE64 "base64"
#define WIRE_TCP             "tcp"
#define WIRE_STATUS_OK       "ok"
#define WIRE_STATUS_ERROR    "error"

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * shim - run commands in the guest for the supervisor on the host.
 *
 * In the minimal guest the shim is PID 1; elsewhere it is a service that runs
 * as root. It opens the control port, sends the hello, and serves the messages
 * that wire.h defines, in one thread around one poll(). Its state is
 * in the static objects below; it allocates for the JSON of one message only.
 *
 * As PID 1 it must never exit, because the kernel would panic. So it waits for
 * a failed port to recover, and only the host's "shutdown" leaves the loop.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/bulk.h"
#include "shim/bulk_wire.h"
#include "shim/dispatch.h"
#include "shim/executions.h"
#include "shim/forks.h"
#include "shim/guest.h"
#include "shim/late_root.h"
#include "shim/leftovers.h"
#include "shim/listeners.h"
#include "shim/port.h"
#include "shim/processes.h"
#include "shim/setup.h"
#include "shim/shares.h"
#include "shim/step_client.h"
#include "shim/step_server.h"
#include "shim/step_shell.h"
#include "shim/wire.h"

/* Polling interval for a port that is missing or has no host. */
#define RETRY_MS 20

static struct {
    const char *port; /* a path, or the number of an open fd */
    const char *bulk; /* likewise */
    const char *step_socket;
    const char *root;
    bool no_init;
    bool no_cgroups;
    bool no_forks;
} options = { .port = WIRE_PORT_PATH, .bulk = BULK_PORT_PATH };

static struct port port;
static struct process_home home;
static struct leftovers leftovers;
static struct executions executions;
static struct forks forks;
static struct guest_mounts mounts;
static struct shares shares;
static struct listeners listeners;
static struct bulk bulk;
static struct step_server steps;
static struct dispatch dispatch;

static bool connected;   /* a host is connected to the port */
static bool ended;       /* leave the loop */
static bool again;       /* the last round made room: do not wait for events */
static int signals = -1; /* the signalfd */

static const char usage[] =
    "Usage: stepback-shim [OPTION]...\n"
    "Run commands in the guest for the stepback agent on the host.\n"
    "\n"
    "  --port=PATH|FD  the control port (default " WIRE_PORT_PATH "),\n"
    "                  or an open socket\n"
    "  --bulk=PATH|FD  the port of copies (default " BULK_PORT_PATH ")\n"
    "  --no-init       never power off: \"shutdown\" only ends the program\n"
    "  --step-socket=PATH\n"
    "                  serve requests about steps at this socket "
    "(default: " STEP_SHELL_FOLDER "/step.sock;\n"
    "                  with --no-init: none)\n"
    "  --no-cgroups    find a command's processes by /proc, not by a cgroup\n"
    "  --no-forks      find the command of a process without the kernel's "
    "reports\n"
    "                  of forks\n"
    "  --root=DIR      write the system's files below this folder (default: "
    "/;\n"
    "                  with --no-init: nowhere)\n"
    "  --help, --version\n";

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_init(void)
{
    return getpid() == 1 && !options.no_init;
}

static void parse_options(int argc, char **argv)
{
    static const struct option known[] = {
        { "port", required_argument, NULL, 'p' },
        { "bulk", required_argument, NULL, 'b' },
        { "step-socket", required_argument, NULL, 's' },
        { "no-init", no_argument, NULL, 'i' },
        { "no-cgroups", no_argument, NULL, 'c' },
        { "no-forks", no_argument, NULL, 'f' },
        { "root", required_argument, NULL, 'r' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'v' },
        { 0 },
    };
    int option;

    /* The kernel passes unknown words of its command line to PID 1; the first
     * process of a local sandbox gets options. */
    if (getpid() == 1 && (argc < 2 || strcmp(argv[1], "--no-init") != 0))
        return;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'p':
            options.port = optarg;
            break;
        case 'b':
            options.bulk = optarg;
            break;
        case 's':
            options.step_socket = optarg;
            break;
        case 'i':
            options.no_init = true;
            break;
        case 'c':
            options.no_cgroups = true;
            break;
        case 'f':
            options.no_forks = true;
            break;
        case 'r':
            options.root = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        case 'v':
            puts("stepback-shim " PACKAGE_VERSION);
            exit(0);
        default:
            exit(2);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "stepback-shim: unexpected argument '%s'\n",
                argv[optind]);
        exit(2);
    }
}

/* Make sure that no pipe or port gets the number of a standard stream, and that
 * commands inherit no fd that was open at the start. */
static void prepare_fds(void)
{
    int fd;

    close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);

    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= 2);
    if (fd > 2)
        close(fd);
}

/* Commands of a local sandbox can have the identity of its first process, whose
 * end is the sandbox's. If a command could trace that process, it could
 * make the process ignore the end of bubblewrap (PR_SET_PDEATHSIG). */
static void refuse_tracers(void)
{
    if (getpid() != 1 || is_init() || prctl(PR_SET_DUMPABLE, 0) == 0)
        return;
    fprintf(stderr, "stepback-shim: PR_SET_DUMPABLE: %s\n", strerror(errno));
    exit(1);
}

static void open_signals(void)
{
    sigset_t set;

    /* PID 1 only reaps children; elsewhere a service manager may send
     * SIGTERM. */
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    if (getpid() != 1) {
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
    }
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signals < 0) {
        fprintf(stderr, "stepback-shim: signalfd: %s\n", strerror(errno));
        exit(1);
    }
}

/* Open the port; retry until it works. */
static void open_port(void)
{
    const struct timespec pause = { .tv_nsec = RETRY_MS * 1000 * 1000 };
    char *rest;
    long fd = strtol(options.port, &rest, 10);
    int result, told = 0;

    if (*options.port && !*rest) {
        result = port_adopt(&port, (int)fd);
        if (result) {
            fprintf(stderr, "stepback-shim: port fd %ld: %s\n", fd,
                    strerror(-result));
            exit(1);
        }
        return;
    }
    while ((result = port_open(&port, options.port)) != 0) {
        if (result != told && result != -ENOENT && result != -ENXIO)
            fprintf(stderr, "stepback-shim: %s: %s; waiting\n", options.port,
                    strerror(-result));
        told = result;
        nanosleep(&pause, NULL);
    }
}

static void lose_host(void)
{
    connected = false;
    listeners = (struct listeners){ 0 }; /* another host asks again */
    port_hang_up(&port);
    step_server_lose_host(&steps);
    bulk_lose_host(&bulk);
    if (!port.is_device)
        ended = true;
}

/* A host is connected if the port does not report a hang-up. That of a socket
 * does not come back. */
static void look_for_host(void)
{
    struct pollfd poll_fd = { port.fd, 0, 0 };

    if (poll(&poll_fd, 1, 0) < 0 || (poll_fd.revents & POLLHUP)) {
        ended = ended || !port.is_device;
        return;
    }
    connected = true;
    dispatch_send_hello(&dispatch);
}

static void take_signals(void)
{
    struct signalfd_siginfo info;
    pid_t pid;
    int status;

    while (read(signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo != SIGCHLD)
            ended = true;
    }
    /* One SIGCHLD may stand for several children, and orphans are reparented to
     * the shim. */
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (!bulk_note_exit(&bulk, pid))
            executions_note_exit(&executions, pid, status);
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return b >= 0 && (a < 0 || b < a) ? b : a;
}

static int poll_timeout(void)
{
    int64_t deadline = earlier(executions_deadline_ms(&executions),
                               forks_deadline_ms(&forks));
    int64_t left, look = -1;

    if (connected)
        look = listeners_deadline_ms(&listeners, executions_run(&executions));
    deadline = earlier(deadline, look);
    if (again)
        return 0;
    if (deadline < 0)
        return connected ? -1 : RETRY_MS;
    left = deadline - now_ms();
    if (left < 0)
        return 0;
    if (!connected && left > RETRY_MS)
        return RETRY_MS;
    return (int)left;
}

static void serve_port(short revents)
{
    bool gone = revents & (POLLHUP | POLLERR);

    if (port_can_answer(&port)) {
        if ((gone || (revents & POLLIN)) && port_read(&port) < 0)
            lose_host();
    } else if (gone) {
        lose_host();
    }
}

/* Write output. If that frees space, serve the sources that waited for it in
 * another round, without an event. */
static void serve_output(void)
{
    again = false;
    if (!connected || port_is_flushed(&port))
        return;
    if (port_flush(&port) < 0)
        lose_host();
    else
        again = port_is_flushed(&port);
}

/* One round: wait for events, then let every part proceed. */
static void serve_once(void)
{
    struct pollfd
        fds[4 + EXECUTIONS_FDS + LEFTOVERS_MAX + SHARES_FDS + STEP_SERVER_FDS];
    size_t port_at, bulk_at, forks_at, old_at, count = 0, old_count, shares_at,
                                               steps_at;
    size_t bulk_count = 0;

    fds[count++] = (struct pollfd){ signals, POLLIN, 0 };
    port_at = count;
    if (connected)
        fds[count++] = (struct pollfd){ port.fd, port_events(&port), 0 };
    bulk_at = count;
    if (connected)
        bulk_count = bulk_poll(&bulk, fds + count);
    count += bulk_count;
    count += executions_poll(&executions, fds + count);
    forks_at = count;
    count += forks_poll(&forks, fds + count);
    old_at = count;
    old_count = leftovers_poll(&leftovers, fds + count);
    count += old_count;
    shares_at = count;
    if (connected && port_can_answer(&port))
        count += shares_poll(&shares, fds + count);
    steps_at = count;
    if (connected)
        count += step_server_poll(&steps, fds + count);

    if (poll(fds, count, poll_timeout()) < 0)
        return;
    forks_serve(&forks, forks_at < old_at && fds[forks_at].revents, now_ms());
    if (fds[0].revents)
        take_signals();
    bulk_serve(&bulk, fds + bulk_at, bulk_count);
    leftovers_drain(&leftovers, fds + old_at, old_count);
    if (!connected)
        look_for_host();
    else if (fds[port_at].revents)
        serve_port(fds[port_at].revents);
    for (size_t i = shares_at; i < steps_at; i++) {
        if (fds[i].revents && port_can_answer(&port))
            dispatch_share_news(&dispatch, fds[i].fd);
    }
    if (connected)
        step_server_serve(&steps, fds + steps_at, count - steps_at);
    dispatch_lines(&dispatch, now_ms());
    if (connected)
        dispatch_bulk_news(&dispatch);
    if (connected)
        dispatch_listeners(&dispatch, executions_run(&executions), now_ms());
    executions_advance(&executions, now_ms());
    serve_output();
}

/* Give the host time to read the queued output. */
static void flush_port(int timeout_ms)
{
    int64_t deadline = now_ms() + timeout_ms;

    while (connected && !port_is_flushed(&port) && now_ms() < deadline) {
        struct pollfd poll_fd = { port.fd, POLLOUT, 0 };

        if (poll(&poll_fd, 1, timeout_ms) <= 0 || port_flush(&port) < 0)
            return;
    }
}

static void install_step_shell(void)
{
    int result = step_shell_install(options.step_socket, is_init());

    if (result)
        fprintf(stderr, "stepback-shim: %s: %s\n", options.step_socket,
                strerror(-result));
}

/* Only init changes its root. */
static void on_root_changed(void)
{
    setup_open("/");
    install_step_shell();
}

/* Not by initializers: they would put megabytes of zeros into the program. */
static void link_parts(void)
{
    executions.context.home = &home;
    executions.context.port = &port;
    executions.context.leftovers = &leftovers;
    steps.listener = -1;
    steps.port = &port;
    steps.executions = &executions;
    dispatch.steps = &steps;
    dispatch.root_changed = on_root_changed;
    dispatch.port = &port;
    dispatch.executions = &executions;
    dispatch.forks = &forks;
    dispatch.mounts = &mounts;
    dispatch.shares = &shares;
    dispatch.listeners = &listeners;
    dispatch.bulk = &bulk;
}

static void open_steps(void)
{
    int result;

    if (!options.step_socket && !options.no_init)
        options.step_socket = STEP_SHELL_FOLDER "/step.sock";
    if (!options.step_socket)
        return;
    result = step_server_open(&steps, options.step_socket);
    if (result)
        fprintf(stderr, "stepback-shim: %s: %s\n", options.step_socket,
                strerror(-result));
    else
        install_step_shell();
}

int main(int argc, char **argv)
{
    int result;

    if (step_client_is_meant(argc, argv))
        return step_client_main(argc, argv);
    link_parts();
    dispatch.boot = guest_note_boot();
    late_root_note();
    parse_options(argc, argv);
    dispatch.is_init = is_init();
    refuse_tracers();
    prepare_fds();
    if (options.root || !options.no_init)
        setup_open(options.root ? options.root : "/");
    open_signals();
    result = process_home_init(&home, !options.no_cgroups);
    if (result)
        fprintf(stderr, "stepback-shim: subreaper: %s\n", strerror(-result));
    forks_open(&forks, &executions, !options.no_forks);
    open_steps();
    open_port();
    bulk_open(&bulk, options.bulk);
    while (!ended && !dispatch.shutdown)
        serve_once();
    flush_port(200);
    if (dispatch.shutdown && is_init())
        guest_power_off(&mounts);
    executions_end_now(&executions);
    process_home_release(&home);
    step_server_close(&steps);
    guest_unmount_all(&mounts);
    if (dispatch.shutdown && !options.no_init)
        guest_request_power_off();
    return 0;
}

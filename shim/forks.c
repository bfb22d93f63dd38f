/* SPDX-License-Identifier: Apache-2.0
 *
 * forks - see forks.h.
 */
#include "shim/forks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A report: struct nlmsghdr, struct cn_msg, struct proc_event. */
enum { EVENT_AT = NLMSG_HDRLEN + sizeof(struct cn_msg) };

/* ---- the kernel's reports ------------------------------------------------ */

/* Only forks; the kernel also reports execs, exits, names and more. */
static int filter_forks(int fd)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 EVENT_AT + offsetof(struct proc_event, what)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_FORK), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {
        .len = sizeof(code) / sizeof(code[0]),
        .filter = code,
    };

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                      sizeof(program));
}

static int subscribe(int fd)
{
    const struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = CN_IDX_PROC,
    };
    const enum proc_cn_mcast_op listen = PROC_CN_MCAST_LISTEN;
    const int size = FORKS_BUFFER;
    char message[EVENT_AT + sizeof(listen)] = { 0 };
    struct nlmsghdr *head = (struct nlmsghdr *)message;
    struct cn_msg *body = (struct cn_msg *)(message + NLMSG_HDRLEN);

    head->nlmsg_len = sizeof(message);
    head->nlmsg_type = NLMSG_DONE;
    body->id.idx = CN_IDX_PROC;
    body->id.val = CN_VAL_PROC;
    body->len = sizeof(listen);
    memcpy(body->data, &listen, sizeof(listen));
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
    if (filter_forks(fd) < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -1;
    return send(fd, message, sizeof(message), 0) < 0 ? -1 : 0;
}

void forks_open(struct forks *forks, const struct executions *executions,
                bool reports)
{
    forks->executions = executions;
    forks->fd = -1;
    if (!reports)
        return;
    forks->fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                       NETLINK_CONNECTOR);
    if (forks->fd >= 0 && subscribe(forks->fd) < 0) {
        close(forks->fd);
        forks->fd = -1;
    }
}

/* ---- the table ----------------------------------------------------------- */

static struct fork_entry *find(struct forks *forks, pid_t pid)
{
    struct fork_entry *set = forks->entries[(uint32_t)pid % FORKS_SETS];

    for (size_t i = 0; i < FORKS_WAYS; i++) {
        if (set[i].pid == pid)
            return &set[i];
    }
    return NULL;
}

static bool is_alive(pid_t pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

/* Return a free entry, or that of the oldest process that has ended. */
static struct fork_entry *make_room(struct forks *forks, pid_t pid)
{
    struct fork_entry *set = forks->entries[(uint32_t)pid % FORKS_SETS];
    struct fork_entry *oldest = NULL;

    for (size_t i = 0; i < FORKS_WAYS; i++) {
        if (!set[i].pid)
            return &set[i];
        if (!is_alive(set[i].pid) &&
            (!oldest || (int32_t)(set[i].age - oldest->age) < 0))
            oldest = &set[i];
    }
    return oldest;
}

static void enter(struct forks *forks, pid_t pid, int64_t execution)
{
    struct fork_entry *entry = find(forks, pid);

    if (!entry && execution)
        entry = make_room(forks, pid);
    if (entry)
        *entry = (struct fork_entry){ execution ? pid : 0, forks->n_entered++,
                                      execution };
}

/* ---- reports ------------------------------------------------------------- */

/* Ids rise, so the greatest one had the number last. */
static int64_t find_first(const struct forks *forks, pid_t pid)
{
    int64_t id = 0;

    for (size_t i = 0; i < WIRE_MAX_EXECUTIONS; i++) {
        const struct execution *slot = &forks->executions->slots[i];

        if (slot->pid == pid && slot->id > id)
            id = slot->id;
    }
    return id;
}

static int64_t find_alive(const struct forks *forks, pid_t pid)
{
    return executions_find_process(forks->executions, pid);
}

static void take(struct forks *forks, const struct proc_event *event)
{
    pid_t parent = event->event_data.fork.parent_pid;
    pid_t child = event->event_data.fork.child_pid;
    pid_t process = event->event_data.fork.child_tgid;
    const struct fork_entry *entry;

    if (event->what != PROC_EVENT_FORK || child <= 0)
        return;
    if (child != process) /* a thread: its parent is that of its process */
        parent = process;
    if (parent == getpid()) {
        enter(forks, child, find_first(forks, child));
        return;
    }
    entry = find(forks, parent);
    if (!entry && forks->lost)
        enter(forks, child, find_alive(forks, child));
    else
        enter(forks, child, entry ? entry->execution : 0);
}

/* Return whether there was a report. */
static bool read_reports(struct forks *forks)
{
    bool any = false;

    for (;;) {
        char message[512] __attribute__((aligned(8)));
        struct sockaddr_nl from;
        socklen_t from_size = sizeof(from);
        struct proc_event event;
        ssize_t got = recvfrom(forks->fd, message, sizeof(message), 0,
                               (struct sockaddr *)&from, &from_size);

        if (got < 0 && errno == ENOBUFS) {
            memset(forks->entries, 0, sizeof(forks->entries));
            forks->lost = any = true;
            continue;
        }
        if (got < 0)
            return any;
        any = true;
        /* Only the kernel has the port 0. */
        if (from.nl_pid != 0 || (size_t)got < EVENT_AT + sizeof(event))
            continue;
        memcpy(&event, message + EVENT_AT, sizeof(event));
        take(forks, &event);
    }
}

size_t forks_poll(const struct forks *forks, struct pollfd *fds)
{
    if (forks->fd < 0 || forks->pause_ms)
        return 0;
    *fds = (struct pollfd){ forks->fd, POLLIN, 0 };
    return 1;
}

int64_t forks_deadline_ms(const struct forks *forks)
{
    return forks->pause_ms ? forks->pause_ms : -1;
}

static void read_now(struct forks *forks, int64_t now_ms)
{
    if (forks->fd >= 0)
        forks->pause_ms = read_reports(forks) ? now_ms + FORKS_PAUSE_MS : 0;
}

void forks_serve(struct forks *forks, bool ready, int64_t now_ms)
{
    if (ready || (forks->pause_ms && now_ms >= forks->pause_ms))
        read_now(forks, now_ms);
}

int64_t forks_find(struct forks *forks, pid_t pid, int64_t now_ms)
{
    const struct fork_entry *entry;

    read_now(forks, now_ms);
    entry = find(forks, pid);
    return entry ? entry->execution : find_alive(forks, pid);
}

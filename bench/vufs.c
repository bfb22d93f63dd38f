/* SPDX-License-Identifier: Apache-2.0
 *
 * vufs - drive a vhost-user-fs back-end without a VM, and time it.
 *
 * It plays QEMU and the guest's virtio-fs driver at once: it connects to a
 * back-end's vhost-user socket, shares a memfd as guest memory, sets up the
 * two split virtqueues (hiprio, request), negotiates FUSE, and then sends real
 * FUSE requests at a chosen queue depth.  The same binary drives any back-end
 * (QEMU's old C virtiofsd, the Rust virtiofsd, ours), so their figures compare.
 *
 * Use:    vufs --socket=PATH --pid=PID[,PID...] [--qd=N] [--secs=S] [--page-sg]
 *              [--share=DIR] CASE...
 *         CASE is one of the names printed by --list, or 'all'. With --share
 * (the folder on this host) the host's cache is emptied before reads.
 *
 * Output: one line a case:
 *   CASE  ops/s  MiB/s  wall-us/op  daemon-cpu-us/op
 * daemon-cpu is read from /proc/PID/task/N/schedstat of the PIDs named and all
 * their descendants; it is the steadier figure on a noisy machine.
 */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fuse.h>
#include <linux/virtio_ring.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void __attribute__((format(printf, 1, 2))) die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "vufs: ");
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    exit(1);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- vhost-user front-end ------------------------------------------------ */

enum {
    VU_GET_FEATURES = 1,
    VU_SET_FEATURES = 2,
    VU_SET_OWNER = 3,
    VU_SET_MEM_TABLE = 5,
    VU_SET_VRING_NUM = 8,
    VU_SET_VRING_ADDR = 9,
    VU_SET_VRING_BASE = 10,
    VU_GET_VRING_BASE = 11,
    VU_SET_VRING_KICK = 12,
    VU_SET_VRING_CALL = 13,
    VU_SET_VRING_ERR = 14,
    VU_GET_PROTOCOL_FEATURES = 15,
    VU_SET_PROTOCOL_FEATURES = 16,
    VU_SET_VRING_ENABLE = 18,
};
#define VU_F_PROTOCOL_FEATURES (1ull << 30)
#define VIRTIO_F_VERSION_1_BIT (1ull << 32)
#define VU_PF_REPLY_ACK        (1ull << 3)
#define VU_NEED_REPLY          8

struct vu_msg {
    uint32_t request, flags, size;
    union {
        uint64_t u64;
        struct {
            uint32_t index, num;
        } state;
        struct {
            uint32_t index, flags;
            uint64_t desc, used, avail, log;
        } addr;
        struct {
            uint32_t nregions, padding;
            struct {
                uint64_t gpa, size, uva, off;
            } r[8];
        } mem;
        uint8_t pad[512];
    };
} __attribute__((packed));

static int sock;
static bool reply_ack;

static void vu_send(uint32_t req, const void *payload, uint32_t size, int fd)
{
    struct vu_msg m = { .request = req,
                        .flags = 1 | (reply_ack ? VU_NEED_REPLY : 0),
                        .size = size };
    if (size > 0)
        memcpy(&m.u64, payload, size);
    struct iovec iov = { &m, 12 + size };
    char cbuf[CMSG_SPACE(sizeof(int))] = { 0 };
    struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
    if (fd >= 0) {
        h.msg_control = cbuf;
        h.msg_controllen = sizeof(cbuf);
        struct cmsghdr *c = CMSG_FIRSTHDR(&h);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof(int));
    }
    if (sendmsg(sock, &h, 0) != (ssize_t)(12 + size))
        die("vhost-user send of message %u: %s", req, strerror(errno));
}

static uint64_t vu_recv_u64(uint32_t req)
{
    struct vu_msg m;
    if (recv(sock, &m, 12, MSG_WAITALL) != 12)
        die("no reply to vhost-user message %u", req);
    if (m.size > sizeof(m.pad) ||
        recv(sock, &m.u64, m.size, MSG_WAITALL) != (ssize_t)m.size)
        die("bad reply to vhost-user message %u", req);
    if (m.request != req)
        die("reply %u where %u was due", m.request, req);
    return m.u64;
}

static void vu_set(uint32_t req, const void *payload, uint32_t size, int fd)
{
    vu_send(req, payload, size, fd);
    if (reply_ack && vu_recv_u64(req) != 0)
        die("back-end refused vhost-user message %u", req);
}

/* ---- guest memory and queues --------------------------------------------- */

#define MEM_SIZE  (512ull << 20)
#define QSIZE     1024
#define SLOT_SIZE (1ull << 20 | 1ull << 16) /* a request's header, args, data  \
                                             */
#define MAX_QD 256

static uint8_t *mem;
static size_t mem_used;
static bool page_sg;

static void *mem_alloc(size_t n, size_t align)
{
    mem_used = (mem_used + align - 1) & ~(align - 1);
    if (mem_used + n > MEM_SIZE)
        die("guest memory used up");
    void *p = mem + mem_used;
    mem_used += n;
    return p;
}

struct queue {
    int idx, kick, call;
    struct vring v;
    uint16_t avail_idx, used_seen;
    uint16_t free_head, nfree;
};

static struct queue hiq, rq;

static void queue_setup(struct queue *q, int idx)
{
    q->idx = idx;
    void *p = mem_alloc(vring_size(QSIZE, 4096), 4096);
    vring_init(&q->v, QSIZE, p, 4096);
    for (int i = 0; i < QSIZE; i++)
        q->v.desc[i].next = i + 1;
    q->nfree = QSIZE;
    q->kick = eventfd(0, EFD_CLOEXEC);
    q->call = eventfd(0, EFD_CLOEXEC);

    struct {
        uint32_t index, num;
    } st = { idx, QSIZE };
    vu_set(VU_SET_VRING_NUM, &st, sizeof(st), -1);
    st.num = 0;
    vu_set(VU_SET_VRING_BASE, &st, sizeof(st), -1);
    struct {
        uint32_t index, flags;
        uint64_t desc, used, avail, log;
    } a = { idx,
            0,
            (uintptr_t)q->v.desc,
            (uintptr_t)q->v.used,
            (uintptr_t)q->v.avail,
            0 };
    vu_set(VU_SET_VRING_ADDR, &a, sizeof(a), -1);
    uint64_t u = idx;
    vu_set(VU_SET_VRING_KICK, &u, 8, q->kick);
    vu_set(VU_SET_VRING_CALL, &u, 8, q->call);
    st.num = 1;
    vu_set(VU_SET_VRING_ENABLE, &st, sizeof(st), -1);
}

static void vu_connect(const char *path)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
    sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int i = 0; connect(sock, (void *)&sa, sizeof(sa)) != 0; i++) {
        if (i == 100)
            die("connect %s: %s", path, strerror(errno));
        usleep(50000);
    }
    vu_send(VU_GET_FEATURES, NULL, 0, -1);
    uint64_t f = vu_recv_u64(VU_GET_FEATURES);
    if (f & VU_F_PROTOCOL_FEATURES) {
        vu_send(VU_GET_PROTOCOL_FEATURES, NULL, 0, -1);
        uint64_t pf = vu_recv_u64(VU_GET_PROTOCOL_FEATURES) & VU_PF_REPLY_ACK;
        vu_send(VU_SET_PROTOCOL_FEATURES, &pf, 8, -1);
        reply_ack = pf & VU_PF_REPLY_ACK;
    }
    vu_set(VU_SET_OWNER, NULL, 0, -1);
    uint64_t want = f & (VU_F_PROTOCOL_FEATURES | VIRTIO_F_VERSION_1_BIT);
    vu_set(VU_SET_FEATURES, &want, 8, -1);

    int fd = memfd_create("vufs", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, MEM_SIZE) != 0)
        die("memfd: %s", strerror(errno));
    mem = mmap(NULL, MEM_SIZE, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_POPULATE, fd, 0);
    if (mem == MAP_FAILED)
        die("mmap: %s", strerror(errno));
    struct {
        uint32_t n, pad;
        uint64_t gpa, size, uva, off;
    } t = { 1, 0, 0, MEM_SIZE, (uintptr_t)mem, 0 };
    vu_set(VU_SET_MEM_TABLE, &t, sizeof(t), fd);
    close(fd);
    queue_setup(&hiq, 0);
    queue_setup(&rq, 1);
}

/* ---- FUSE requests ------------------------------------------------------- */

struct slot {
    uint8_t *in;   /* header and args as the driver lays them out */
    uint8_t *out;  /* fuse_out_header, then the reply's args */
    uint8_t *data; /* 1 MiB, page aligned */
    uint16_t head;
    bool busy;
};

static struct slot slots[MAX_QD];
static uint64_t unique = 2;

static uint16_t desc_add(struct queue *q, void *p, uint32_t len, bool write,
                         int prev)
{
    if (!q->nfree)
        die("virtqueue full");
    uint16_t d = q->free_head;
    q->free_head = q->v.desc[d].next;
    q->nfree--;
    q->v.desc[d].addr = (uint8_t *)p - mem;
    q->v.desc[d].len = len;
    q->v.desc[d].flags = write ? VRING_DESC_F_WRITE : 0;
    if (prev >= 0) {
        q->v.desc[prev].flags |= VRING_DESC_F_NEXT;
        q->v.desc[prev].next = d;
    }
    return d;
}

static int data_add(struct queue *q, uint8_t *p, uint32_t len, bool write,
                    int prev)
{
    uint32_t step = page_sg ? 4096 : len;
    for (uint32_t o = 0; o < len; o += step)
        prev = desc_add(q, p + o, len - o < step ? len - o : step, write, prev);
    return prev;
}

/* Queue one request from slot s: args are in s->in after the header. */
static void submit(int s, uint32_t opcode, uint64_t nodeid, uint32_t arglen,
                   uint32_t wdata, uint32_t outlen, uint32_t rdata)
{
    struct slot *sl = &slots[s];
    struct fuse_in_header *h = (void *)sl->in;
    *h = (struct fuse_in_header){ .len = sizeof(*h) + arglen + wdata,
                                  .opcode = opcode,
                                  .unique = unique += 2,
                                  .nodeid = nodeid,
                                  .uid = 0,
                                  .gid = 0,
                                  .pid = 1 };
    int d = desc_add(&rq, sl->in, sizeof(*h), false, -1);
    sl->head = d;
    if (arglen)
        d = desc_add(&rq, sl->in + sizeof(*h), arglen, false, d);
    if (wdata)
        d = data_add(&rq, sl->data, wdata, false, d);
    d = desc_add(&rq, sl->out, sizeof(struct fuse_out_header), true, d);
    if (outlen)
        d = desc_add(&rq, sl->out + sizeof(struct fuse_out_header), outlen,
                     true, d);
    if (rdata)
        d = data_add(&rq, sl->data, rdata, true, d);
    sl->busy = true;
    rq.v.avail->ring[rq.avail_idx++ % QSIZE] = sl->head;
    __atomic_store_n(&rq.v.avail->idx, rq.avail_idx, __ATOMIC_RELEASE);
}

static void kick(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!(rq.v.used->flags & VRING_USED_F_NO_NOTIFY)) {
        uint64_t one = 1;
        if (write(rq.kick, &one, 8) != 8)
            die("kick: %s", strerror(errno));
    }
}

/* Wait for one completion and return its slot. */
static int reap(void)
{
    while (__atomic_load_n(&rq.v.used->idx, __ATOMIC_ACQUIRE) == rq.used_seen) {
        struct pollfd p = { rq.call, POLLIN, 0 };
        int r = poll(&p, 1, 20000);
        if (r == 0)
            die("no answer in 20 s");
        uint64_t n;
        if (r > 0 && read(rq.call, &n, 8) < 0)
            die("call: %s", strerror(errno));
    }
    uint16_t head = rq.v.used->ring[rq.used_seen++ % QSIZE].id;
    int s = -1;
    for (int i = 0; i < MAX_QD; i++)
        if (slots[i].busy && slots[i].head == head) {
            s = i;
            break;
        }
    if (s < 0)
        die("completion of an unknown request");
    slots[s].busy = false;
    uint16_t d = head;
    for (;;) {
        uint16_t f = rq.v.desc[d].flags, next = rq.v.desc[d].next;
        rq.v.desc[d].next = rq.free_head;
        rq.free_head = d;
        rq.nfree++;
        if (!(f & VRING_DESC_F_NEXT))
            break;
        d = next;
    }
    return s;
}

static void *arg(int s)
{
    return slots[s].in + sizeof(struct fuse_in_header);
}
static void *res(int s)
{
    return slots[s].out + sizeof(struct fuse_out_header);
}
static int err_of(int s)
{
    return ((struct fuse_out_header *)slots[s].out)->error;
}

static int call(int s, uint32_t op, uint64_t node, uint32_t arglen,
                uint32_t wdata, uint32_t outlen, uint32_t rdata)
{
    submit(s, op, node, arglen, wdata, outlen, rdata);
    kick();
    if (reap() != s)
        die("reply out of turn");
    return err_of(s);
}

static void ok(int e, const char *what)
{
    if (e)
        die("%s: %s", what, strerror(-e));
}

static void fuse_init(void)
{
    struct fuse_init_in *in = arg(0);
    *in = (struct fuse_init_in){ .major = 7,
                                 .minor = 36,
                                 .max_readahead = 128 << 10,
                                 .flags = FUSE_ASYNC_READ | FUSE_BIG_WRITES |
                                          FUSE_DO_READDIRPLUS | FUSE_MAX_PAGES |
                                          FUSE_ATOMIC_O_TRUNC |
                                          FUSE_PARALLEL_DIROPS |
                                          FUSE_ASYNC_DIO };
    ok(call(0, FUSE_INIT, 0, sizeof(*in), 0, sizeof(struct fuse_init_out), 0),
       "FUSE_INIT");
    struct fuse_init_out *o = res(0);
    fprintf(stderr, "vufs: FUSE %u.%u max_write %u flags %#x\n", o->major,
            o->minor, o->max_write, o->flags);
}

/* ---- helpers that run one request ---------------------------------------- */

static uint64_t do_lookup(uint64_t dir, const char *name)
{
    strcpy(arg(0), name);
    int e = call(0, FUSE_LOOKUP, dir, strlen(name) + 1, 0,
                 sizeof(struct fuse_entry_out), 0);
    if (e == -ENOENT)
        return 0;
    ok(e, name);
    return ((struct fuse_entry_out *)res(0))->nodeid;
}

static uint64_t do_mkdir(uint64_t dir, const char *name)
{
    struct fuse_mkdir_in *in = arg(0);
    *in = (struct fuse_mkdir_in){ .mode = 0755 };
    strcpy((char *)(in + 1), name);
    ok(call(0, FUSE_MKDIR, dir, sizeof(*in) + strlen(name) + 1, 0,
            sizeof(struct fuse_entry_out), 0),
       "mkdir");
    return ((struct fuse_entry_out *)res(0))->nodeid;
}

static void prep_create(int s, const char *name, uint32_t *arglen)
{
    struct fuse_create_in *in = arg(s);
    *in = (struct fuse_create_in){ .flags = O_RDWR | O_CREAT | O_TRUNC,
                                   .mode = S_IFREG | 0644 };
    strcpy((char *)(in + 1), name);
    *arglen = sizeof(*in) + strlen(name) + 1;
}

static uint64_t do_create(uint64_t dir, const char *name, uint64_t *fh)
{
    uint32_t n;
    prep_create(0, name, &n);
    ok(call(0, FUSE_CREATE, dir, n, 0,
            sizeof(struct fuse_entry_out) + sizeof(struct fuse_open_out), 0),
       "create");
    struct fuse_entry_out *e = res(0);
    *fh = ((struct fuse_open_out *)(e + 1))->fh;
    return e->nodeid;
}

static void do_release(uint64_t node, uint64_t fh)
{
    struct fuse_release_in *in = arg(0);
    *in = (struct fuse_release_in){ .fh = fh };
    ok(call(0, FUSE_RELEASE, node, sizeof(*in), 0, 0, 0), "release");
}

static int do_name(uint32_t op, uint64_t dir, const char *name)
{
    strcpy(arg(0), name);
    return call(0, op, dir, strlen(name) + 1, 0, 0, 0);
}

static void do_forget(uint64_t node, uint64_t n)
{
    /* FORGET goes to the hiprio queue and has no reply; wait for its used
     * entry. */
    static uint8_t *buf;
    if (!buf)
        buf = mem_alloc(4096, 4096);
    struct fuse_in_header *h = (void *)buf;
    *h = (struct fuse_in_header){ .len = sizeof(*h) +
                                         sizeof(struct fuse_forget_in),
                                  .opcode = FUSE_FORGET,
                                  .unique = unique += 2,
                                  .nodeid = node };
    ((struct fuse_forget_in *)(h + 1))->nlookup = n;
    hiq.v.desc[0] = (struct vring_desc){ buf - mem, h->len, 0, 0 };
    hiq.v.avail->ring[hiq.avail_idx++ % QSIZE] = 0;
    __atomic_store_n(&hiq.v.avail->idx, hiq.avail_idx, __ATOMIC_RELEASE);
    uint64_t one = 1;
    if (write(hiq.kick, &one, 8) != 8)
        die("hiprio kick");
    while (__atomic_load_n(&hiq.v.used->idx, __ATOMIC_ACQUIRE) != hiq.avail_idx)
        usleep(10);
}

/* As the guest's kernel does it: it holds a lookup while it unlinks. */
static void remove_file(uint64_t dir, const char *name)
{
    uint64_t node = do_lookup(dir, name);
    ok(do_name(FUSE_UNLINK, dir, name), "unlink");
    do_forget(node, 1);
}

/* ---- accounting ---------------------------------------------------------- */

static int root_pids[16], nroots; /* named by --pid */
static int pids[256], npids;      /* those and all their descendants */

static void find_pids(void)
{
    npids = 0;
    for (int i = 0; i < nroots; i++)
        pids[npids++] = root_pids[i];
    for (int i = 0; i < npids && npids < 256; i++) {
        DIR *d = opendir("/proc");
        struct dirent *e;
        while (d && (e = readdir(d)) && npids < 256) {
            char path[320];
            int pid = atoi(e->d_name), ppid;
            if (pid <= 0)
                continue;
            snprintf(path, sizeof(path), "/proc/%d/stat", pid);
            FILE *f = fopen(path, "r");
            if (f && fscanf(f, "%*d (%*[^)]) %*c %d", &ppid) == 1 &&
                ppid == pids[i])
                pids[npids++] = pid;
            if (f)
                fclose(f);
        }
        if (d)
            closedir(d);
    }
}

static double daemon_cpu_s(void)
{
    double sum = 0;
    for (int i = 0; i < npids; i++) {
        char path[320];
        snprintf(path, sizeof(path), "/proc/%d/task", pids[i]);
        DIR *d = opendir(path);
        struct dirent *e;
        while (d && (e = readdir(d))) {
            if (e->d_name[0] == '.')
                continue;
            snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", pids[i],
                     e->d_name);
            FILE *f = fopen(path, "r");
            unsigned long long ns;
            if (f && fscanf(f, "%llu", &ns) == 1)
                sum += ns / 1e9;
            if (f)
                fclose(f);
        }
        if (d)
            closedir(d);
    }
    return sum;
}

static int qd = 1;
static double secs = 2;
static double t0, c0;

static void start(void)
{
    find_pids();
    c0 = daemon_cpu_s();
    t0 = now_s();
}

static void report(const char *name, uint64_t ops, uint64_t bytes)
{
    double t = now_s() - t0, c = daemon_cpu_s() - c0;
    printf("%-16s qd %-3d %10.0f ops/s %9.1f MiB/s %9.2f wall-us/op %9.2f "
           "cpu-us/op\n",
           name, qd, ops / t, bytes / t / 1048576, t * 1e6 / ops,
           c * 1e6 / ops);
    fflush(stdout);
}

/* ---- cases --------------------------------------------------------------- */

static uint64_t work; /* nodeid of the directory the cases run in */

static void case_lookup(const char *name)
{
    uint64_t fh, node = do_create(work, "lk", &fh), ops = 0;
    do_release(node, fh);
    start();
    for (double end = now_s() + secs; now_s() < end;)
        for (int i = 0; i < 64; i++, ops++)
            do_lookup(work, "lk");
    report(name, ops, 0);
    ok(do_name(FUSE_UNLINK, work, "lk"), "unlink");
    do_forget(node, ops + 1);
}

static void case_getattr(const char *name)
{
    uint64_t fh, node = do_create(work, "ga", &fh), ops = 0;
    do_release(node, fh);
    start();
    for (double end = now_s() + secs; now_s() < end;)
        for (int i = 0; i < 64; i++, ops++) {
            memset(arg(0), 0, sizeof(struct fuse_getattr_in));
            ok(call(0, FUSE_GETATTR, node, sizeof(struct fuse_getattr_in), 0,
                    sizeof(struct fuse_attr_out), 0),
               "getattr");
        }
    report(name, ops, 0);
    ok(do_name(FUSE_UNLINK, work, "ga"), "unlink");
    do_forget(node, 1);
}

static void case_smallfile(const char *name)
{
    /* create, write 4 KiB, release, lookup, unlink, forget: one 'op' */
    uint64_t ops = 0;
    char n[64];
    start();
    for (double end = now_s() + secs; now_s() < end; ops++) {
        uint64_t fh, node;
        snprintf(n, sizeof(n), "sf%" PRIu64, ops);
        node = do_create(work, n, &fh);
        struct fuse_write_in *w = arg(0);
        *w = (struct fuse_write_in){ .fh = fh, .size = 4096 };
        ok(call(0, FUSE_WRITE, node, sizeof(*w), 4096,
                sizeof(struct fuse_write_out), 0),
           "write");
        do_release(node, fh);
        do_lookup(work, n);
        ok(do_name(FUSE_UNLINK, work, n), "unlink");
        do_forget(node, 2);
    }
    report(name, ops, ops * 4096);
}

static void case_rename(const char *name)
{
    uint64_t fh, node = do_create(work, "rn0", &fh), ops = 0;
    do_release(node, fh);
    start();
    for (double end = now_s() + secs; now_s() < end; ops++) {
        struct fuse_rename2_in *in = arg(0);
        *in = (struct fuse_rename2_in){ .newdir = work };
        char *p = (char *)(in + 1);
        int a = ops & 1;
        strcpy(p, a ? "rn1" : "rn0");
        strcpy(p + 4, a ? "rn0" : "rn1");
        ok(call(0, FUSE_RENAME2, work, sizeof(*in) + 8, 0, 0, 0), "rename");
    }
    report(name, ops, 0);
    ok(do_name(FUSE_UNLINK, work, ops & 1 ? "rn1" : "rn0"), "unlink");
    do_forget(node, 1);
}

static const char *share;
static int share_file = -1; /* the host's view of the file of io_case() */

static void open_share_file(void)
{
    char path[4096];
    if (!share)
        return;
    snprintf(path, sizeof(path), "%s/vufs-%d/io", share, (int)getpid());
    share_file = open(path, O_RDONLY | O_CLOEXEC);
    if (share_file < 0 || fdatasync(share_file) != 0)
        die("%s: %s", path, strerror(errno));
}

static void forget_cached(void)
{
    if (share_file >= 0)
        posix_fadvise(share_file, 0, 0, POSIX_FADV_DONTNEED);
}

static void io_case(const char *name, bool write_, uint32_t bs, bool random_,
                    uint64_t fsize)
{
    uint64_t fh, node = do_create(work, "io", &fh), ops = 0;
    for (uint64_t off = 0; off < fsize; off += 1 << 20) {
        struct fuse_write_in *w = arg(0);
        *w = (struct fuse_write_in){ .fh = fh, .offset = off, .size = 1 << 20 };
        ok(call(0, FUSE_WRITE, node, sizeof(*w), 1 << 20,
                sizeof(struct fuse_write_out), 0),
           "fill");
    }
    uint64_t nblk = fsize / bs, next = 0, rnd = 88172645463325252ull;
    int inflight = 0;
    if (!write_)
        open_share_file();
    forget_cached();
    start();
    double end = now_s() + secs;
    bool more = true;
    for (int s = 0; more || inflight;) {
        while (more && inflight < qd) {
            for (s = 0; slots[s].busy; s++)
                ;
            uint64_t b = next++ % nblk;
            if (random_) {
                rnd ^= rnd << 13;
                rnd ^= rnd >> 7;
                rnd ^= rnd << 17;
                b = rnd % nblk;
            }
            if (write_) {
                struct fuse_write_in *w = arg(s);
                *w = (struct fuse_write_in){ .fh = fh,
                                             .offset = b * bs,
                                             .size = bs };
                submit(s, FUSE_WRITE, node, sizeof(*w), bs,
                       sizeof(struct fuse_write_out), 0);
            } else {
                struct fuse_read_in *r = arg(s);
                *r = (struct fuse_read_in){ .fh = fh,
                                            .offset = b * bs,
                                            .size = bs };
                submit(s, FUSE_READ, node, sizeof(*r), 0, 0, bs);
            }
            inflight++;
        }
        kick();
        int s2 = reap();
        ok(err_of(s2), name);
        inflight--;
        if (++ops % 1024 == 0)
            forget_cached();
        if (more && now_s() > end)
            more = false;
    }
    report(name, ops, ops * bs);
    if (share_file >= 0)
        close(share_file);
    share_file = -1;
    do_release(node, fh);
    ok(do_name(FUSE_UNLINK, work, "io"), "unlink");
    do_forget(node, 1);
}

static void case_read4k(const char *n)
{
    io_case(n, false, 4096, true, 64 << 20);
}
static void case_write4k(const char *n)
{
    io_case(n, true, 4096, true, 64 << 20);
}
static void case_read1m(const char *n)
{
    io_case(n, false, 1 << 20, false, 256 << 20);
}
static void case_write1m(const char *n)
{
    io_case(n, true, 1 << 20, false, 256 << 20);
}

static void case_behindsync(const char *name)
{
    /* getattr while something else of the queue waits for the disk: what others
     * feel of one who writes and syncs; an 'op' is a getattr */
    uint64_t fh, node = do_create(work, "bs", &fh), ops = 0;
    start();
    for (double end = now_s() + secs; now_s() < end;) {
        struct fuse_write_in *w = arg(0);
        *w = (struct fuse_write_in){ .fh = fh, .size = 1 << 20 };
        ok(call(0, FUSE_WRITE, node, sizeof(*w), 1 << 20,
                sizeof(struct fuse_write_out), 0),
           "write");
        struct fuse_fsync_in *f = arg(0);
        *f = (struct fuse_fsync_in){ .fh = fh };
        submit(0, FUSE_FSYNC, node, sizeof(*f), 0, 0, 0);
        kick();
        while (slots[0].busy) {
            memset(arg(1), 0, sizeof(struct fuse_getattr_in));
            submit(1, FUSE_GETATTR, work, sizeof(struct fuse_getattr_in), 0,
                   sizeof(struct fuse_attr_out), 0);
            kick();
            while (slots[1].busy)
                ok(err_of(reap()), name);
            ops++;
        }
    }
    report(name, ops, 0);
    do_release(node, fh);
    ok(do_name(FUSE_UNLINK, work, "bs"), "unlink");
    do_forget(node, 1);
}

static void case_readdirplus(const char *name)
{
    enum { N = 2000 };
    uint64_t dir = do_mkdir(work, "rd"), ops = 0, entries = 0;
    char n[64];
    for (int i = 0; i < N; i++) {
        uint64_t fh, node;
        snprintf(n, sizeof(n), "file-%04d", i);
        node = do_create(dir, n, &fh);
        do_release(node, fh);
        do_forget(node, 1);
    }
    start();
    for (double end = now_s() + secs; now_s() < end; ops++) {
        struct fuse_open_in *oi = arg(0);
        *oi = (struct fuse_open_in){ 0 };
        ok(call(0, FUSE_OPENDIR, dir, sizeof(*oi), 0,
                sizeof(struct fuse_open_out), 0),
           "opendir");
        uint64_t fh = ((struct fuse_open_out *)res(0))->fh, off = 0;
        for (;;) {
            struct fuse_read_in *r = arg(0);
            *r = (struct fuse_read_in){ .fh = fh,
                                        .offset = off,
                                        .size = 32 << 10 };
            ok(call(0, FUSE_READDIRPLUS, dir, sizeof(*r), 0, 0, 32 << 10),
               "readdirplus");
            uint32_t len = ((struct fuse_out_header *)slots[0].out)->len -
                           sizeof(struct fuse_out_header);
            if (!len)
                break;
            /* an entry: fuse_direntplus, name, padded to 8 */
            static uint64_t nodes[1024];
            int k = 0;
            for (uint32_t p = 0; p + sizeof(struct fuse_direntplus) <= len;) {
                struct fuse_direntplus *d = (void *)(slots[0].data + p);
                off = d->dirent.off;
                if (d->entry_out.nodeid && strcmp(d->dirent.name, ".") &&
                    d->dirent.namelen > 2)
                    nodes[k++] = d->entry_out.nodeid;
                entries++;
                p += (sizeof(*d) + d->dirent.namelen + 7) & ~7u;
            }
            for (int i = 0; i < k; i++)
                do_forget(nodes[i], 1);
        }
        struct fuse_release_in *ri = arg(0);
        *ri = (struct fuse_release_in){ .fh = fh };
        ok(call(0, FUSE_RELEASEDIR, dir, sizeof(*ri), 0, 0, 0), "releasedir");
    }
    report(name, entries, 0); /* an 'op' is one entry */
    for (int i = 0; i < N; i++) {
        snprintf(n, sizeof(n), "file-%04d", i);
        remove_file(dir, n);
    }
    ok(do_name(FUSE_RMDIR, work, "rd"), "rmdir");
    do_forget(dir, 1);
}

static uint64_t make_tree(int n_files)
{
    uint64_t dir = do_mkdir(work, "rm");
    char n[64];
    for (int i = 0; i < n_files; i++) {
        uint64_t fh, node;
        snprintf(n, sizeof(n), "f%04d", i);
        node = do_create(dir, n, &fh);
        struct fuse_write_in *w = arg(0);
        *w = (struct fuse_write_in){ .fh = fh, .size = 4096 };
        ok(call(0, FUSE_WRITE, node, sizeof(*w), 4096,
                sizeof(struct fuse_write_out), 0),
           "write");
        do_release(node, fh);
        do_forget(node, 1);
    }
    return dir;
}

static void case_rmtree(const char *name)
{
    /* what `rm -rf` of a tree of 2000 files of 4 KiB costs, file by file; once
     * is 0.1 s, too short to be told from noise: until removing took its time
     */
    enum { N = 2000 };
    double t = 0, c = 0;
    uint64_t ops = 0;
    char n[64];
    while (t < secs) {
        uint64_t dir = make_tree(N);
        start();
        for (int i = 0; i < N; i++) {
            snprintf(n, sizeof(n), "f%04d", i);
            remove_file(dir, n);
        }
        ok(do_name(FUSE_RMDIR, work, "rm"), "rmdir");
        t += now_s() - t0;
        c += daemon_cpu_s() - c0;
        ops += N + 1;
        do_forget(dir, 1);
    }
    t0 = now_s() - t;
    c0 = daemon_cpu_s() - c;
    report(name, ops, 0);
}

static const struct {
    const char *name;
    void (*run)(const char *);
} cases[] = {
    { "lookup", case_lookup },           { "getattr", case_getattr },
    { "smallfile", case_smallfile },     { "rename", case_rename },
    { "read4k", case_read4k },           { "write4k", case_write4k },
    { "read1m", case_read1m },           { "write1m", case_write1m },
    { "readdirplus", case_readdirplus }, { "rmtree", case_rmtree },
    { "behindsync", case_behindsync },
};

int main(int argc, char **argv)
{
    const char *path = NULL;
    int nrun = 0;
    for (int i = 1; i < argc; i++) {
        char *a = argv[i];
        if (!strncmp(a, "--socket=", 9))
            path = a + 9;
        else if (!strncmp(a, "--pid=", 6))
            for (char *p = strtok(a + 6, ","); p && nroots < 16;
                 p = strtok(NULL, ","))
                root_pids[nroots++] = atoi(p);
        else if (!strncmp(a, "--qd=", 5))
            qd = atoi(a + 5);
        else if (!strncmp(a, "--secs=", 7))
            secs = atof(a + 7);
        else if (!strncmp(a, "--share=", 8))
            share = a + 8;
        else if (!strcmp(a, "--page-sg"))
            page_sg = true;
        else if (!strcmp(a, "--list")) {
            for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
                puts(cases[k].name);
            return 0;
        } else
            nrun++;
    }
    if (!path || !nrun || qd < 1 || qd > MAX_QD)
        die("use: vufs --socket=PATH --pid=PID[,PID...] [--qd=N] [--secs=S] "
            "[--page-sg] [--share=DIR] CASE...");
    vu_connect(path);
    for (int i = 0; i < MAX_QD; i++) {
        if (mem_used + SLOT_SIZE + (64 << 10) > MEM_SIZE)
            break;
        slots[i].in = mem_alloc(16 << 10, 4096);
        slots[i].out = mem_alloc(16 << 10, 4096);
        slots[i].data = mem_alloc(1 << 20, 4096);
    }
    fuse_init();
    char dname[64];
    snprintf(dname, sizeof(dname), "vufs-%d", (int)getpid());
    work = do_mkdir(FUSE_ROOT_ID, dname);
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-')
            continue;
        bool all = !strcmp(argv[i], "all"), found = all;
        for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
            if (all || !strcmp(argv[i], cases[k].name)) {
                cases[k].run(cases[k].name);
                found = true;
            }
        if (!found)
            die("no case '%s'", argv[i]);
    }
    ok(do_name(FUSE_RMDIR, FUSE_ROOT_ID, dname), "rmdir");
    do_forget(work, 1);
    return 0;
}

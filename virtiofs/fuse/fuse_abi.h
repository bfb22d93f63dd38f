/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_abi - <linux/fuse.h> plus the parts of protocol 7.39 that older copies
 * lack.
 */
#ifndef VIRTIOFS_FUSE_FUSE_ABI_H
#define VIRTIOFS_FUSE_FUSE_ABI_H

#include <linux/fuse.h>
#include <stdint.h>

/* The protocol minor version that the server speaks. */
#define FUSE_ABI_MINOR 39

/* Minimum client version: clients older than Linux 4.20 lack max_pages, use
 * smaller structs and are refused. */
#define FUSE_ABI_MIN_MINOR 27

#if FUSE_KERNEL_MINOR_VERSION < 39

#define FUSE_STATX                52
#define FUSE_DIRECT_IO_ALLOW_MMAP (1ULL << 36)

struct fuse_sx_time {
    int64_t tv_sec;
    uint32_t tv_nsec;
    int32_t __reserved;
};

struct fuse_statx {
    uint32_t mask;
    uint32_t blksize;
    uint64_t attributes;
    uint32_t nlink;
    uint32_t uid;
    uint32_t gid;
    uint16_t mode;
    uint16_t __spare0[1];
    uint64_t ino;
    uint64_t size;
    uint64_t blocks;
    uint64_t attributes_mask;
    struct fuse_sx_time atime;
    struct fuse_sx_time btime;
    struct fuse_sx_time ctime;
    struct fuse_sx_time mtime;
    uint32_t rdev_major;
    uint32_t rdev_minor;
    uint32_t dev_major;
    uint32_t dev_minor;
    uint64_t __spare2[14];
};

struct fuse_statx_in {
    uint32_t getattr_flags;
    uint32_t reserved;
    uint64_t fh;
    uint32_t sx_flags;
    uint32_t sx_mask;
};

struct fuse_statx_out {
    uint64_t attr_valid;
    uint32_t attr_valid_nsec;
    uint32_t flags;
    uint64_t spare[2];
    struct fuse_statx stat;
};

#endif

_Static_assert(sizeof(struct fuse_statx) == 256, "fuse_statx is 256 bytes");

#endif

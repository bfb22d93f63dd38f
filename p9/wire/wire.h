/* SPDX-License-Identifier: Apache-2.0
 *
 * wire - the messages of 9P2000.L.
 *
 * Every message is little-endian:
 *
 *     0   4   size of the message, these four bytes included
 *     4   1   type
 *     5   2   tag
 *     7       the type's fields
 *
 * A string is two bytes of length and that many bytes, without NUL. A qid is 13
 * bytes: type 1, version 4, path 8. The fields of each type are listed beside
 * it below, as name[bytes]; name[s] is a string, name[13] a qid.
 *
 * Source: the 9P2000.L description in the Linux kernel's
 * Documentation/filesystems/9p.rst and the diod project's protocol.md.
 */
#ifndef P9_WIRE_WIRE_H
#define P9_WIRE_WIRE_H

#include <stdint.h>

#define P9_VERSION "9P2000.L"

enum {
    P9_HEADER_SIZE = 7,
    P9_QID_SIZE = 13,
    P9_MIN_MSIZE = 4096,
    P9_MAX_MSIZE = 4 << 20,
    P9_MAX_WALK = 16,   /* names in one Twalk */
    P9_IO_HEADER = 24,  /* room for the header of a Twrite or Rread */
    P9_DATA_AT = 11,    /* offset of the bytes of Rread and Rreaddir */
    P9_ENTRY_SIZE = 24, /* of an entry of Rreaddir, without its name */
};

#define P9_NO_TAG 0xffffu
#define P9_NO_FID 0xffffffffu
#define P9_NO_UID 0xffffffffu

enum p9_type {
    P9_RLERROR = 7,   /* ecode[4], a Linux errno */
    P9_TSTATFS = 8,   /* fid[4] */
    P9_RSTATFS = 9,   /* type[4] bsize[4] blocks[8] bfree[8] bavail[8] files[8]
                         ffree[8] fsid[8] namelen[4] */
    P9_TLOPEN = 12,   /* fid[4] flags[4] */
    P9_RLOPEN = 13,   /* qid[13] iounit[4] */
    P9_TLCREATE = 14, /* fid[4] name[s] flags[4] mode[4] gid[4] */
    P9_RLCREATE = 15, /* qid[13] iounit[4] */
    P9_TSYMLINK = 16, /* fid[4] name[s] target[s] gid[4] */
    P9_RSYMLINK = 17, /* qid[13] */
    P9_TMKNOD = 18,   /* dfid[4] name[s] mode[4] major[4] minor[4] gid[4] */
    P9_RMKNOD = 19,   /* qid[13] */
    P9_TRENAME = 20,  /* fid[4] dfid[4] name[s] */
    P9_RRENAME = 21,
    P9_TREADLINK = 22, /* fid[4] */
    P9_RREADLINK = 23, /* target[s] */
    P9_TGETATTR = 24,  /* fid[4] request_mask[8] */
    P9_RGETATTR = 25,  /* valid[8] qid[13] mode[4] uid[4] gid[4] nlink[8]
                          rdev[8] size[8] blksize[8] blocks[8]
                          atime_sec[8] atime_nsec[8] mtime_sec[8]
                          mtime_nsec[8] ctime_sec[8] ctime_nsec[8]
                          btime_sec[8] btime_nsec[8] gen[8] data_version[8] */
    P9_TSETATTR = 26,  /* fid[4] valid[4] mode[4] uid[4] gid[4] size[8]
                          atime_sec[8] atime_nsec[8] mtime_sec[8]
                          mtime_nsec[8] */
    P9_RSETATTR = 27,
    P9_TXATTRWALK = 30,   /* fid[4] newfid[4] name[s] */
    P9_RXATTRWALK = 31,   /* size[8] */
    P9_TXATTRCREATE = 32, /* fid[4] name[s] attr_size[8] flags[4] */
    P9_RXATTRCREATE = 33,
    P9_TREADDIR = 40, /* fid[4] offset[8] count[4] */
    P9_RREADDIR = 41, /* count[4], then entries: qid[13] offset[8] type[1]
                         name[s] */
    P9_TFSYNC = 50,   /* fid[4] datasync[4]; older ones end after fid */
    P9_RFSYNC = 51,
    P9_TLOCK = 52,    /* fid[4] type[1] flags[4] start[8] length[8] proc_id[4]
                         client_id[s] */
    P9_RLOCK = 53,    /* status[1] */
    P9_TGETLOCK = 54, /* fid[4] type[1] start[8] length[8] proc_id[4]
                         client_id[s] */
    P9_RGETLOCK = 55, /* type[1] start[8] length[8] proc_id[4] client_id[s] */
    P9_TLINK = 70,    /* dfid[4] fid[4] name[s] */
    P9_RLINK = 71,
    P9_TMKDIR = 72,    /* dfid[4] name[s] mode[4] gid[4] */
    P9_RMKDIR = 73,    /* qid[13] */
    P9_TRENAMEAT = 74, /* olddirfid[4] oldname[s] newdirfid[4] newname[s] */
    P9_RRENAMEAT = 75,
    P9_TUNLINKAT = 76, /* dirfid[4] name[s] flags[4] */
    P9_RUNLINKAT = 77,
    P9_TVERSION = 100, /* msize[4] version[s] */
    P9_RVERSION = 101, /* msize[4] version[s] */
    P9_TAUTH = 102,    /* afid[4] uname[s] aname[s] n_uname[4] */
    P9_RAUTH = 103,    /* aqid[13] */
    P9_TATTACH = 104,  /* fid[4] afid[4] uname[s] aname[s] n_uname[4] */
    P9_RATTACH = 105,  /* qid[13] */
    P9_TFLUSH = 108,   /* oldtag[2] */
    P9_RFLUSH = 109,
    P9_TWALK = 110,  /* fid[4] newfid[4] nwname[2] nwname*(wname[s]) */
    P9_RWALK = 111,  /* nwqid[2] nwqid*(wqid[13]) */
    P9_TREAD = 116,  /* fid[4] offset[8] count[4] */
    P9_RREAD = 117,  /* count[4] data[count] */
    P9_TWRITE = 118, /* fid[4] offset[8] count[4] data[count] */
    P9_RWRITE = 119, /* count[4] */
    P9_TCLUNK = 120, /* fid[4] */
    P9_RCLUNK = 121,
    P9_TREMOVE = 122, /* fid[4] */
    P9_RREMOVE = 123,
};

/* The type byte of a qid. */
enum p9_qid_type {
    P9_QID_DIR = 0x80,
    P9_QID_SYMLINK = 0x02,
    P9_QID_FILE = 0x00,
};

/* request_mask of Tgetattr and valid of Rgetattr. */
enum p9_getattr_mask {
    P9_GETATTR_MODE = 0x001,
    P9_GETATTR_NLINK = 0x002,
    P9_GETATTR_UID = 0x004,
    P9_GETATTR_GID = 0x008,
    P9_GETATTR_RDEV = 0x010,
    P9_GETATTR_ATIME = 0x020,
    P9_GETATTR_MTIME = 0x040,
    P9_GETATTR_CTIME = 0x080,
    P9_GETATTR_INO = 0x100,
    P9_GETATTR_SIZE = 0x200,
    P9_GETATTR_BLOCKS = 0x400,
    P9_GETATTR_BASIC = 0x7ff,
    P9_GETATTR_BTIME = 0x800,
    P9_GETATTR_GEN = 0x1000,
    P9_GETATTR_DATA_VERSION = 0x2000,
};

/* valid of Tsetattr. ATIME and MTIME alone mean now; with _SET, the given time.
 */
enum p9_setattr_mask {
    P9_SETATTR_MODE = 0x001,
    P9_SETATTR_UID = 0x002,
    P9_SETATTR_GID = 0x004,
    P9_SETATTR_SIZE = 0x008,
    P9_SETATTR_ATIME = 0x010,
    P9_SETATTR_MTIME = 0x020,
    P9_SETATTR_CTIME = 0x040,
    P9_SETATTR_ATIME_SET = 0x080,
    P9_SETATTR_MTIME_SET = 0x100,
};

/* Flags of Tlopen and Tlcreate: the values of most Linux architectures,
 * whatever this one's are. */
enum p9_open_flags {
    P9_OPEN_ACCMODE = 03,
    P9_OPEN_CREATE = 0100,
    P9_OPEN_EXCL = 0200,
    P9_OPEN_TRUNC = 01000,
    P9_OPEN_APPEND = 02000,
    P9_OPEN_DSYNC = 010000,
    P9_OPEN_DIRECTORY = 0200000,
    P9_OPEN_NOFOLLOW = 0400000,
    P9_OPEN_NOATIME = 01000000,
    P9_OPEN_SYNC = 04000000, /* with DSYNC: O_SYNC */
};

#define P9_AT_REMOVEDIR 0x200u /* Tunlinkat */

enum p9_lock_type { P9_LOCK_READ, P9_LOCK_WRITE, P9_LOCK_UNLOCK };
enum p9_lock_flags { P9_LOCK_WAIT = 1, P9_LOCK_RECLAIM = 2 };
enum p9_lock_status { P9_LOCK_SUCCESS, P9_LOCK_BLOCKED, P9_LOCK_ERROR };

#define P9_XATTR_CREATE  1u /* Txattrcreate: as in setxattr(2) */
#define P9_XATTR_REPLACE 2u

#define P9_STATFS_TYPE 0x01021997u /* V9FS_MAGIC */

#endif

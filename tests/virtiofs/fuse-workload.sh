#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuse-workload.sh DIR - real work in a folder: git, make, tar, cp -a, and the
# odd corners of files. It prints what it saw, without times and inode numbers,
# and leaves a tree behind: both must be the same on a mount as on the bare
# folder.
set -eu
cd "$1"
export LC_ALL=C TZ=UTC
export GIT_AUTHOR_DATE="2024-01-01T00:00:00Z"
export GIT_COMMITTER_DATE="$GIT_AUTHOR_DATE"
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that runs the tests
export GIT_CONFIG_NOSYSTEM=1 HOME="$PWD" GIT_CONFIG_GLOBAL=/dev/null
git_id="-c user.name=t -c user.email=t@example.com -c gc.auto=0"

say() {
    echo "== $*"
}

say project
mkdir project
cd project
i=0
while [ $i -lt 12 ]; do
    echo "int f$i(void);int f$i(void){return $i;}" >f$i.c
    i=$((i + 1))
done
echo 'int f7(void);int main(void){return f7()-7;}' >main.c
cat >Makefile <<'END'
OBJ = $(patsubst %.c,%.o,$(wildcard *.c))
prog: $(OBJ)
	$(CC) -o $@ $(OBJ)
clean:
	rm -f *.o prog
END
chmod 755 main.c
ln -s main.c link.c.txt
mkdir -p sub/deep/er
echo data >sub/deep/er/file

say git
git $git_id init -q -b main .
git $git_id add .
git $git_id commit -qm first
echo changed >>sub/deep/er/file
git $git_id commit -qam second
git $git_id mv sub/deep moved
git $git_id commit -qm third
git status --porcelain
git log --format='%H %s'
cd ..
git $git_id clone -q project clone
git -C clone log --format=%h | wc -l
git -C clone $git_id checkout -q HEAD~2
git -C clone $git_id checkout -q main
git -C clone fsck --strict
git -C project $git_id gc -q
git -C project $git_id stash list
git -C project $git_id worktree add -q ../tree -b other
git -C project $git_id worktree remove --force ../tree

say make
make -s -j4 -C project CC=cc
project/prog && echo runs
touch -d 2030-01-01 project/f3.c
make -s -C project CC=cc -q 2>/dev/null || echo stale
make -s -C project clean
touch -d 2024-01-01 project/f3.c

say tar
tar cf all.tar project
mkdir out
tar xf all.tar -C out
diff -r --no-dereference project out/project
cp -a out/project copy
diff -r --no-dereference project copy
rm -rf out
rm all.tar

say move
mkdir -p a/b/c
echo 1 >a/b/c/one
mv a/b d
mv d a/e
mv -n a/e/c/one a/two
ls -R a
echo old >target
echo new >source
mv source target
cat target

say modes
for mode in 0600 0755 4755 2755 1777 0000; do
    echo x >m$mode
    chmod $mode m$mode
    stat -c '%a %n' m$mode
done
(
    umask 027
    mkdir masked
    echo x >masked/file
)
stat -c '%a %n' masked masked/file
ln m0600 hard
stat -c '%h %n' hard m0600
rm m0600
stat -c '%h %n' hard

say truncate
head -c 100000 /dev/zero | tr '\0' x >t
truncate -s 50000 t
cksum <t
truncate -s 60000 t
cksum <t
: >t
stat -c %s t
echo a >>t
echo b >>t
cat t
exec 3<>t
rm t
echo gone >&3
exec 3>&-

say sparse
truncate -s 10M sparse
printf tail | dd of=sparse bs=1 seek=5000000 conv=notrunc status=none
cp --sparse=always sparse sparse2
cmp sparse sparse2
test "$(stat -c %b sparse2)" -lt 100 && echo holes
fallocate -l 65536 allocated
fallocate -p -o 4096 -l 4096 sparse
stat -c '%s %n' allocated sparse

say xattrs
echo x >x
setfattr -n user.one -v 1 x
setfattr -n user.two -v 22 x
getfattr -d x
setfattr -x user.one x
getfattr -d x
cp -a x y
getfattr -d y

say nodes
mkfifo fifo
(echo through >fifo) &
cat fifo
wait
python3 - <<'END'
import fcntl, mmap, os, socket
s = socket.socket(socket.AF_UNIX)
s.bind("sock")
with open("map", "wb+") as f:
    f.truncate(8192)
    m = mmap.mmap(f.fileno(), 8192)
    m[100:105] = b"hello"
    m.flush()
    m.close()
with open("map", "rb") as f:
    assert f.read()[100:105] == b"hello"
fd = os.open("append", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
os.write(fd, b"one")
os.pwrite(fd, b"two", 0)
os.close(fd)
print(open("append", "rb").read())
with open("lock", "w") as f:
    fcntl.flock(f, fcntl.LOCK_EX)
    fcntl.lockf(f, fcntl.LOCK_EX)
fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
os.write(fd, b"unnamed")
# A directory fd makes it linkat(AT_SYMLINK_FOLLOW).
os.link("/proc/self/fd/%d" % fd, "named", src_dir_fd=os.open("/", os.O_PATH))
os.close(fd)
print(open("named", "rb").read())
name = b"\xff\xfe odd \n name"
open(name, "w").close()
print(name in os.listdir(b"."))
os.unlink(name)
for bad, call in (("rmdir", lambda: os.rmdir("project")),
                  ("unlink", lambda: os.unlink("project")),
                  ("long", lambda: open("n" * 300)),
                  ("rename", lambda: os.rename("project", "project/x")),
                  ("mkdir", lambda: os.mkdir("project")),
                  ("open", lambda: open("x/y"))):
    try:
        call()
    except OSError as e:
        print(bad, e.errno)
END

say many
mkdir many
cd many
seq 1 10000 | xargs touch
ls | wc -l
ls -U | sort -u | wc -l
find . -type f -name '*99' | wc -l
find . -name '*[02468]' -delete
ls | wc -l
cd ..
rm -rf many clone copy
say done

dnl STEPBACK_LIB(VARIABLE, MODULE, DEBIAN-PACKAGE)
dnl Look for a library by pkg-config; name its Debian package if it is missing.
AC_DEFUN([STEPBACK_LIB],
  [PKG_CHECK_MODULES([$1], [$2], [],
    [AC_MSG_ERROR([$2 is missing; on Debian: apt-get install $3])])])

dnl AX_STEPBACK_LINUX_ONLY
dnl virtio-fs, Landlock, fanotify and /proc/self/fd have no stand-in elsewhere.
AC_DEFUN([AX_STEPBACK_LINUX_ONLY],
  [AC_CANONICAL_HOST
   AS_CASE([$host_os], [linux*], [],
     [AC_MSG_ERROR([stepback runs on Linux hosts only, not on $host_os])])])

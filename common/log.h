/* SPDX-License-Identifier: Apache-2.0
 *
 * log - diagnostics as JSON Lines on stderr.
 *
 * A line has timestamp (RFC 3339, UTC, microseconds), level, component,
 * message, and further fields at the top level. It is written with one
 * write(2), so that lines of several threads and processes on one stderr do not
 * mix. Standard output never carries log lines: it is reserved for protocols.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum log_level {
    LOG_LEVEL_NONE = -1, /* for log_set_level(): no output */
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARN,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_TRACE,
};

/* The component of a line (doc/design.md, 5.4). */
#define LOG_FS_BACKEND   "fs_backend"
#define LOG_CONTROL      "control"
#define LOG_UNDO         "undo"
#define LOG_FILE_WATCHER "file_watcher"
#define LOG_STDIO_API    "stdio_api"
#define LOG_MCP          "mcp"
#define LOG_SESSION      "session"
#define LOG_SAFEGUARD    "safeguard"

/* Parse "error", "warn", "info", "debug" or "trace" (also virtiofsd's "err" and
 * "warning"). Return false for other names. */
bool log_level_parse(const char *name, enum log_level *ret_level);

/* Print messages up to this level. Default: info. Any thread. */
void log_set_level(enum log_level level);

/* For programs that people run: print "PROGRAM: message" lines instead of JSON.
 * name is borrowed for the life of the process; NULL: JSON again. */
void log_set_human(const char *name);

/* Connect standard error to the system log (/dev/log); the connection stays
 * open in a sandbox. Return false if there is no system log. Messages are
 * dropped if it is slow. */
bool log_open_syslog(void);

/* Standard error is the system log: begin lines in its format (RFC 3164). Use
 * it with log_set_human(). */
void log_set_syslog(bool on);

bool log_enabled(enum log_level level);

/* Print a message. fields (taken, may be NULL) is an object whose members are
 * added to the line. Any thread. errno is kept. */
void log_emit(enum log_level level, const char *component, json_t *fields,
              const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Add "step_id" or "request_id" to all further lines that lack one, until 0 or
 * NULL. The step is per process; the request (borrowed) is per thread. */
void log_set_step(int64_t step_id);
void log_set_request(const char *request_id);

#define log_at(level, component, ...)                                          \
    do {                                                                       \
        if (log_enabled(level))                                                \
            log_emit(level, component, NULL, __VA_ARGS__);                     \
    } while (0)

#define log_error(component, ...)                                              \
    log_at(LOG_LEVEL_ERROR, component, __VA_ARGS__)
#define log_warn(component, ...) log_at(LOG_LEVEL_WARN, component, __VA_ARGS__)
#define log_info(component, ...) log_at(LOG_LEVEL_INFO, component, __VA_ARGS__)
#define log_debug(component, ...)                                              \
    log_at(LOG_LEVEL_DEBUG, component, __VA_ARGS__)
#define log_trace(component, ...)                                              \
    log_at(LOG_LEVEL_TRACE, component, __VA_ARGS__)

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * log - see log.h.
 */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/process_state.h"

static const char *const level_names[] = {
    [LOG_LEVEL_ERROR] = "error", [LOG_LEVEL_WARN] = "warn",
    [LOG_LEVEL_INFO] = "info",   [LOG_LEVEL_DEBUG] = "debug",
    [LOG_LEVEL_TRACE] = "trace",
};

static _Thread_local const char *about_request;

bool log_level_parse(const char *name, enum log_level *ret_level)
{
    if (strcmp(name, "err") == 0)
        name = "error";
    if (strcmp(name, "warning") == 0)
        name = "warn";
    for (size_t i = 0; i < G_N_ELEMENTS(level_names); i++) {
        if (strcmp(name, level_names[i]) == 0) {
            *ret_level = (enum log_level)i;
            return true;
        }
    }
    return false;
}

void log_set_level(enum log_level level)
{
    atomic_store(&process_state()->log_level, level);
}

void log_set_human(const char *name)
{
    atomic_store(&process_state()->log_program, name);
}

void log_set_step(int64_t step_id)
{
    atomic_store(&process_state()->log_step, step_id);
}

void log_set_request(const char *request_id)
{
    about_request = request_id;
}

bool log_open_syslog(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX,
                                   .sun_path = "/dev/log" };
    fd_auto int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                            0);

    return fd >= 0 &&
           connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
           dup2(fd, STDERR_FILENO) >= 0;
}

void log_set_syslog(bool on)
{
    atomic_store(&process_state()->log_syslog, on);
}

/* Append e.g. "<27>". */
static void append_priority(GString *out, enum log_level level)
{
    static const int priorities[] = {
        [LOG_LEVEL_ERROR] = LOG_ERR,   [LOG_LEVEL_WARN] = LOG_WARNING,
        [LOG_LEVEL_INFO] = LOG_INFO,   [LOG_LEVEL_DEBUG] = LOG_DEBUG,
        [LOG_LEVEL_TRACE] = LOG_DEBUG,
    };

    g_string_append_printf(out, "<%d>", LOG_DAEMON | priorities[level]);
}

bool log_enabled(enum log_level level)
{
    return (int)level <= atomic_load_explicit(&process_state()->log_level,
                                              memory_order_relaxed);
}

static char *timestamp(void)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *seconds = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S");

    return g_strdup_printf("%s.%06dZ", seconds,
                           g_date_time_get_microsecond(now));
}

/* jansson rejects strings that are not UTF-8; a log line must not be lost
 * because of an odd file name in its message. */
static json_t *text_value(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);

    return json_string(valid);
}

static void add_context(json_t *line)
{
    int64_t step = atomic_load(&process_state()->log_step);

    if (step && !json_object_get(line, "step_id"))
        json_object_set_new(line, "step_id", json_integer(step));
    if (about_request && !json_object_get(line, "request_id"))
        json_object_set_new(line, "request_id", text_value(about_request));
}

static char *json_line(enum log_level level, const char *component,
                       json_t *fields, const char *message)
{
    g_autofree char *when = timestamp();
    json_t *line = json_object();
    char *text;

    json_object_set_new(line, "timestamp", json_string(when));
    json_object_set_new(line, "level", json_string(level_names[level]));
    json_object_set_new(line, "component", json_string(component));
    json_object_set_new(line, "message", text_value(message));
    if (fields)
        json_object_update_missing(line, fields);
    add_context(line);
    text = json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(line);
    return text;
}

/* A guest can choose parts of a message, and a terminal obeys them. C1 controls
 * are two bytes in UTF-8. */
static void mask_controls(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++) {
        if (g_ascii_iscntrl((char)*p) && *p != '\n' && *p != '\t')
            *p = '?';
        else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
            p[0] = p[1] = '?';
    }
}

void log_emit(enum log_level level, const char *component, json_t *fields,
              const char *format, ...)
{
    const char *human = atomic_load(&process_state()->log_program);
    int saved = errno;
    va_list args;

    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);

    if (log_enabled(level)) {
        g_autoptr(GString) out = g_string_new(NULL);

        if (atomic_load(&process_state()->log_syslog))
            append_priority(out, level);
        if (human) {
            mask_controls(message);
            g_string_append_printf(out, "%s: %s%s\n", human,
                                   level == LOG_LEVEL_WARN ? "warning: " : "",
                                   message);
        } else {
            char *line = json_line(level, component, fields, message);

            g_string_append_printf(out, "%s\n", line ? line : "{}");
            free(line);
        }
        fd_write_all(STDERR_FILENO, out->str, out->len);
    }
    json_decref(fields);
    errno = saved;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * log_forged - records forged to escape from the folder (log_damage.h).
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interceptor/log/journal.h"
#include "tests/log/log_damage.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

/* Write a manifest of these lines, each with a correct checksum. */
static void forge(const struct damaged *d, const char *const *lines)
{
    g_autofree char *path = g_build_filename(d->step, "manifest.jsonl", NULL);
    struct journal *journal;
    struct stat st;

    OK(stat(d->w->share, &st));
    OK(unlink(path));
    OK(journal_open(AT_FDCWD, path, &journal));
    for (; *lines; lines++) {
        g_auto(GStrv) parts = g_strsplit(*lines, "ROOT", -1);
        g_autofree char *root = g_strdup_printf("%ju", (uintmax_t)st.st_ino);
        g_autofree char *line = g_strjoinv(root, parts);

        OK(journal_append_text(journal, line, strlen(line)));
    }
    journal_close(journal);
}

#define HEADER                                                                 \
    "{\"t\":\"step\",\"v\":1,\"id\":3,\"seq\":3,\"type\":\"command\","         \
    "\"us\":1,\"root\":ROOT"
#define END "{\"t\":\"end\",\"exit\":0,\"us\":2,\"affected\":1"

void forged_names(const struct damaged *d)
{
    static const char *const lines[] = {
        HEADER,
        "{\"t\":\"b\",\"p\":ROOT,\"n\":\"..\",\"i\":0",
        "{\"t\":\"b\",\"p\":ROOT,\"n\":\"../canary/file\",\"i\":0",
        "{\"t\":\"b\",\"p\":ROOT,\"n\":\"/etc/passwd\",\"i\":0",
        "{\"t\":\"b\",\"p\":ROOT,\"n\":\"\",\"i\":0",
        "{\"t\":\"b\",\"p\":ROOT,\"n64\":\"Li4=\",\"i\":0",
        "{\"t\":\"b\",\"p\":ROOT,\"n64\":\"YQBi\",\"i\":0",
        "{\"t\":\"h\",\"p\":ROOT,\"n\":\"..\",\"i\":77",
        "{\"t\":\"s\",\"n\":\"../canary\"",
        END,
        NULL,
    };

    forge(d, lines);
}

void forged_cycle(const struct damaged *d)
{
    static const char *const lines[] = {
        HEADER,
        "{\"t\":\"h\",\"p\":91,\"n\":\"a\",\"i\":92",
        "{\"t\":\"h\",\"p\":92,\"n\":\"b\",\"i\":91",
        "{\"t\":\"b\",\"p\":92,\"n\":\"c\",\"i\":91",
        "{\"t\":\"b\",\"p\":93,\"n\":\"self\",\"i\":93",
        "{\"t\":\"m\",\"i\":91,\"mode\":16877",
        END,
        NULL,
    };

    forge(d, lines);
}

void forged_types(const struct damaged *d)
{
    static const char *const lines[] = {
        HEADER,
        "{\"t\":7",
        "{\"t\":[\"b\"]",
        "{\"t\":\"b\",\"p\":\"ROOT\",\"n\":5,\"i\":{}",
        "{\"t\":\"b\",\"p\":ROOT,\"n\":[\"x\"],\"i\":0",
        "{\"t\":\"m\",\"i\":ROOT,\"mode\":\"x\"",
        "{\"t\":\"d\",\"i\":\"x\",\"size\":1,\"c\":1",
        "{\"t\":\"end\",\"exit\":[],\"us\":\"x\",\"affected\":-1,"
        "\"counts\":7,\"changes\":{\"path\":3},\"moved\":\"x\"",
        NULL,
    };

    forge(d, lines);
}

void forged_numbers(const struct damaged *d)
{
    static const char *const lines[] = {
        HEADER,
        "{\"t\":\"h\",\"p\":ROOT,\"n\":\"file\",\"i\":9223372036854775807",
        "{\"t\":\"d\",\"i\":9223372036854775807,\"size\":9223372036854775807,"
        "\"c\":9223372036854775807",
        "{\"t\":\"d\",\"i\":-5,\"size\":-1,\"c\":-1",
        "{\"t\":\"r\",\"i\":-5",
        "{\"t\":\"r\",\"i\":-5",
        "{\"t\":\"end\",\"exit\":9223372036854775807,"
        "\"us\":-9223372036854775807,\"affected\":9223372036854775807,"
        "\"moved\":9223372036854775807",
        NULL,
    };

    forge(d, lines);
}

/* The same number twice, the root elsewhere, an inode of the canary. */
void forged_identity(const struct damaged *d)
{
    g_autofree char *file = g_build_filename(d->canary, "file", NULL);
    g_autofree char *binding = NULL, *content = NULL;
    const char *lines[8] = { HEADER };
    struct stat st;

    OK(stat(file, &st));
    binding = g_strdup_printf(
        "{\"t\":\"b\",\"p\":ROOT,\"n\":\"stolen\",\"i\":%ju",
        (uintmax_t)st.st_ino);
    content = g_strdup_printf("{\"t\":\"d\",\"i\":%ju,\"size\":0,\"c\":1",
                              (uintmax_t)st.st_ino);
    lines[1] = binding;
    lines[2] = content;
    lines[3] = "{\"t\":\"h\",\"p\":ROOT,\"n\":\"file\",\"i\":ROOT";
    lines[4] = "{\"t\":\"b\",\"p\":ROOT,\"n\":\"dup\",\"i\":5";
    lines[5] = "{\"t\":\"b\",\"p\":ROOT,\"n\":\"dup\",\"i\":6";
    lines[6] = END;
    forge(d, lines);
}

/* Content of what is not a file: undo must neither write to it nor wait for a
 * reader. */
void forged_fifo(const struct damaged *d)
{
    g_autofree char *path = g_build_filename(d->w->share, "fifo", NULL);
    g_autofree char *home = NULL, *content = NULL;
    const char *lines[5] = { HEADER };
    struct stat st;

    OK(mkfifo(path, 0600));
    OK(stat(path, &st));
    home = g_strdup_printf("{\"t\":\"h\",\"p\":ROOT,\"n\":\"fifo\",\"i\":%ju",
                           (uintmax_t)st.st_ino);
    content = g_strdup_printf("{\"t\":\"d\",\"i\":%ju,\"size\":200,\"c\":1",
                              (uintmax_t)st.st_ino);
    lines[1] = home;
    lines[2] = content;
    lines[3] = END;
    forge(d, lines);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * win_names - see win_names.h.
 */
#include "p9/profile/win_names.h"

#include <errno.h>
#include <string.h>

/* ---- allowed names ------------------------------------------------------- */

static gboolean has_bad_character(const char *name)
{
    for (const char *p = name; *p; p++) {
        if ((unsigned char)*p < 0x20 || strchr("<>:\"/\\|?*", *p))
            return TRUE;
    }
    return FALSE;
}

/* Return whether text is "0" to "9" or a superscript digit of Latin-1: Windows
 * treats these as digits, too. */
static gboolean is_port_number(const char *text, size_t len)
{
    static const char *const superscripts[] = { "\u00b9", "\u00b2", "\u00b3" };

    if (len == 1)
        return g_ascii_isdigit(text[0]);
    for (size_t i = 0; i < G_N_ELEMENTS(superscripts); i++) {
        if (len == strlen(superscripts[i]) &&
            memcmp(text, superscripts[i], len) == 0)
            return TRUE;
    }
    return FALSE;
}

static gboolean is_device(const char *name)
{
    static const char *const devices[] = { "con", "prn",    "aux",
                                           "nul", "conin$", "conout$" };
    size_t len = strcspn(name, ".");

    while (len > 0 && name[len - 1] == ' ')
        len--;
    for (size_t i = 0; i < G_N_ELEMENTS(devices); i++) {
        if (len == strlen(devices[i]) &&
            g_ascii_strncasecmp(name, devices[i], len) == 0)
            return TRUE;
    }
    return len > 3 &&
           (g_ascii_strncasecmp(name, "com", 3) == 0 ||
            g_ascii_strncasecmp(name, "lpt", 3) == 0) &&
           is_port_number(name + 3, len - 3);
}

int win_name_check(const char *name)
{
    size_t len = strlen(name);

    if (!g_utf8_validate(name, (gssize)len, NULL))
        return -EILSEQ;
    if (len == 0 || name[len - 1] == '.' || name[len - 1] == ' ' ||
        has_bad_character(name) || is_device(name))
        return -EINVAL;
    return 0;
}

/* ---- case folding -------------------------------------------------------- */

/* Map to upper case, including symbols and numbers: UnicodeData.txt gives them
 * a simple uppercase mapping, on which NTFS bases its table ($UpCase); GLib
 * maps only letters. */
static gunichar to_upper(gunichar c)
{
    if (c >= 0x2170 && c <= 0x217f) /* Roman numerals */
        return c - 0x10;
    if (c >= 0x24d0 && c <= 0x24e9) /* circled letters */
        return c - 0x1a;
    return g_unichar_toupper(c);
}

/* Fold a character, but never from outside into ASCII, as for the dotless i and
 * the long s: NTFS keeps these distinct. */
static gunichar fold_character(gunichar c)
{
    gunichar upper = to_upper(c);

    if (c > 0xffff || upper > 0xffff || (c >= 0x80 && upper < 0x80))
        return c;
    return upper;
}

char *win_name_fold(const char *name)
{
    const char *end = name + strlen(name);
    GString *folded;

    if (!g_utf8_validate(name, -1, NULL))
        return g_ascii_strup(name, -1);
    folded = g_string_sized_new((gsize)(end - name));
    for (const char *p = name; p < end; p = g_utf8_next_char(p))
        g_string_append_unichar(folded, fold_character(g_utf8_get_char(p)));
    return g_string_free(folded, FALSE);
}

/* ---- name extensions ----------------------------------------------------- */

gboolean win_name_is_executable(const char *name)
{
    static const char *const extensions[] = { "sh",  "bash",    "zsh", "ksh",
                                              "csh", "fish",    "exe", "com",
                                              "run", "appimage" };
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < G_N_ELEMENTS(extensions); i++) {
        if (g_ascii_strcasecmp(dot + 1, extensions[i]) == 0)
            return TRUE;
    }
    return FALSE;
}

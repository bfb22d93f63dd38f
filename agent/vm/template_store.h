/* SPDX-License-Identifier: Apache-2.0
 *
 * template_store - the templates of machines, in the cache of guest images.
 *
 * A template is the state of a machine that has booted and has no folder yet;
 * machines of the same shape continue from it. The folder is
 * ${XDG_CACHE_HOME:-~/.cache}/stepback/guest/.templates/:
 *
 *     KEY.template   template_file.h, 0600
 *     KEY.*.draft    being written; the next writer removes it after a kill
 *     KEY.failed     why it could not be made or used; ignored when it is old
 *     lock           flock()ed by the only writer
 *
 * A template can be lost at any time, and is then made again.
 */
#ifndef AGENT_VM_TEMPLATE_STORE_H
#define AGENT_VM_TEMPLATE_STORE_H

#include <glib.h>
#include <stdbool.h>

/* Limits of one template's state and of all templates, in bytes. */
#define TEMPLATE_STATE_MAX ((guint64)768 << 20)
#define TEMPLATE_STORE_MAX ((guint64)2 << 30)

/* Open a template, positioned at its state. Return -1 without an error if there
 * is none, and with an error if it cannot be used; a damaged one, and one that
 * is not a file of the user alone, is removed. */
int template_store_open(const char *key, GError **error);

/* Return whether there is a template, which may yet prove damaged. */
bool template_store_exists(const char *key);

/* Remove a template that did not work, and neither use nor make one with this
 * key for a while. */
void template_store_refuse(const char *key, const char *reason);
bool template_store_is_refused(const char *key);

/* Create the folder. Fails with ERROR_IO_ERROR if it cannot be written, or has
 * no room for a template. */
gboolean template_store_prepare(GError **error);

/* Return whether a process writes a template. */
bool template_store_is_locked(void);

struct template_draft;

/* Begin to write a template. Waits while another process writes another one,
 * for at most 10 minutes. Return NULL without an error if this one exists, or
 * another process writes it. */
struct template_draft *template_store_begin(const char *key, GError **error);

/* Append to the state. Fails with ERROR_IO_ERROR. */
gboolean template_store_write(struct template_draft *draft, const void *data,
                              size_t len, GError **error);

/* Make the template available; the oldest ones give way to the limit. A draft
 * that template_store_clear() has removed meanwhile is no failure. */
gboolean template_store_commit(struct template_draft *draft, GError **error);

/* Remove a draft that was not committed, and free it. NULL is allowed. */
void template_store_end(struct template_draft *draft);

/* Return the size of all templates. */
guint64 template_store_size(void);

/* Remove all templates. Return how many, and their size. */
guint template_store_clear(guint64 *ret_bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_questions - see mcp_questions.h.
 */
#include "agent/mcp/mcp_questions.h"

#include <glib.h>

struct question {
    struct mcp_call *call;
    char *key;
};

struct mcp_questions {
    GHashTable *asked; /* id -> struct question */
    guint64 last;
};

static void question_free(gpointer data)
{
    struct question *question = data;

    g_free(question->key);
    g_free(question);
}

struct mcp_questions *mcp_questions_new(void)
{
    struct mcp_questions *questions = g_new0(struct mcp_questions, 1);

    questions->asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                             question_free);
    return questions;
}

void mcp_questions_free(struct mcp_questions *questions)
{
    g_hash_table_unref(questions->asked);
    g_free(questions);
}

char *mcp_questions_add(struct mcp_questions *questions, struct mcp_call *call,
                        const char *key)
{
    struct question *question;
    char *id;

    if (g_hash_table_size(questions->asked) >= MCP_QUESTIONS_MAX)
        return NULL;
    id = g_strdup_printf("stepback-%" G_GUINT64_FORMAT, ++questions->last);
    question = g_new0(struct question, 1);
    question->call = call;
    question->key = g_strdup(key);
    g_hash_table_insert(questions->asked, g_strdup(id), question);
    return id;
}

void mcp_questions_remove(struct mcp_questions *questions,
                          struct mcp_call *call,
                          void (*withdrawn)(const char *id, void *opaque),
                          void *opaque)
{
    GHashTableIter iter;
    gpointer id, value;

    g_hash_table_iter_init(&iter, questions->asked);
    while (g_hash_table_iter_next(&iter, &id, &value)) {
        if (((struct question *)value)->call != call)
            continue;
        withdrawn(id, opaque);
        g_hash_table_iter_remove(&iter);
    }
}

bool mcp_questions_answer(struct mcp_questions *questions, json_t *id,
                          json_t *result)
{
    struct question *question = NULL;
    gpointer own_id = NULL;

    if (!json_is_string(id) ||
        !g_hash_table_steal_extended(questions->asked, json_string_value(id),
                                     &own_id, (gpointer *)&question))
        return false;
    g_free(own_id);
    mcp_call_take_answer(question->call, question->key, result);
    question_free(question);
    return true;
}

void mcp_questions_end(struct mcp_questions *questions)
{
    GHashTableIter iter;
    gpointer value;

    /* An answer may withdraw other questions. */
    for (;;) {
        g_autofree char *id = NULL;
        struct question *question;

        g_hash_table_iter_init(&iter, questions->asked);
        if (!g_hash_table_iter_next(&iter, (gpointer *)&id, &value))
            return;
        question = value;
        g_hash_table_iter_steal(&iter);
        mcp_call_take_answer(question->call, question->key, NULL);
        question_free(question);
    }
}

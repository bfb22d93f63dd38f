/* SPDX-License-Identifier: Apache-2.0
 *
 * post_survey - turn a survey into the post state of a step (post_state.h).
 */
#ifndef INTERCEPTOR_REPORT_POST_SURVEY_H
#define INTERCEPTOR_REPORT_POST_SURVEY_H

#include "interceptor/log/post_state.h"
#include "interceptor/report/survey.h"

/* Append the lines to the open step's manifest; *ret_count: their number.
 * Returns 0 or -errno. */
int post_survey_write(struct step *step, const struct survey *survey,
                      size_t *ret_count);

/* Return the post state of an existing entry. name and dir stay NULL. */
struct post_state post_survey_of(const struct survey_entry *entry);

/* Return all entries of a survey, one per name, a directory before its entries.
 * A new array of borrowed struct survey_entry. */
GPtrArray *post_survey_entries(const struct survey *survey);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_settings - client settings for undo logs and safeguards.
 *
 * doc/control-protocol.md defines the numbers. SETTING_KEEP leaves the current
 * value of a log or safeguard unchanged.
 */
#ifndef AGENT_BASE_UNDO_SETTINGS_H
#define AGENT_BASE_UNDO_SETTINGS_H

#include <glib.h>

#include "interceptor/interceptor.h"

enum { SETTING_KEEP = -3, SETTING_OFF = -2 };

struct undo_limits {
    /* -1: no limit. */
    gint64 max_log_size, max_single_step_size, max_step_count, min_free;
    enum ic_durability durability; /* IC_DURABILITY_DEFAULT: unchanged */
    int outside_policy;            /* enum ic_outside_policy, or SETTING_KEEP */
};

#define UNDO_LIMITS_KEEP                                                       \
    ((struct undo_limits){ SETTING_KEEP, SETTING_KEEP, SETTING_KEEP,           \
                           SETTING_KEEP, IC_DURABILITY_DEFAULT,                \
                           SETTING_KEEP })

struct safeguard_rules {
    /* SETTING_OFF: disabled. */
    gint64 delete_threshold, overwrite_file_size_threshold, timeout_seconds;
    int rename_over_existing; /* 0 or 1, or SETTING_KEEP */
};

#define SAFEGUARD_RULES_KEEP                                                   \
    ((struct safeguard_rules){ SETTING_KEEP, SETTING_KEEP, SETTING_KEEP,       \
                               SETTING_KEEP })

#endif

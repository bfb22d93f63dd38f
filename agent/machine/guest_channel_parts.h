/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_channel_parts - what the files of guest_channel.h share.
 */
#ifndef AGENT_MACHINE_GUEST_CHANNEL_PARTS_H
#define AGENT_MACHINE_GUEST_CHANNEL_PARTS_H

#include "agent/machine/guest_command.h"
#include "common/jsonl.h"

struct guest_channel_callbacks;

struct guest_channel {
    struct jsonl_channel *channel;
    const struct guest_channel_callbacks *callbacks;
    void *opaque;
    guint64 complaints;
    struct guest_abilities abilities;
};

#endif

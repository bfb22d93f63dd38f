/* SPDX-License-Identifier: Apache-2.0
 *
 * core_dumps - keep what this process knows out of core dumps.
 */
#ifndef AGENT_BASE_CORE_DUMPS_H
#define AGENT_BASE_CORE_DUMPS_H

/* From now on neither this process nor its new children dump their memory. */
void core_dumps_forbid(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* assay doctor: is this host set up to be measured and to report? Nothing is changed. */
#pragma once

#include <stdint.h>

#include "agents/assayd/assayd_config.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/sys/checklist.h"

struct doctor {
	const char *config_path;     /* NULL: the usual one */
	struct assayd_config config; /* what could be read of it */
	bool askable;		     /* and it is good enough to ask the controller */
	struct checklist list;
};

/* SPDX-License-Identifier: Apache-2.0 */
/* assay doctor: is this host set up to be measured and to report? Read-only. */
#pragma once

#include <stdint.h>

#include "agents/assayd/assayd_config.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/sys/checklist.h"

struct doctor {
	const char *config_path;     /* NULL: the default */
	struct assayd_config config; /* as far as it could be read */
	bool askable;		     /* `config` is complete enough to contact the controller */
	struct checklist list;
};

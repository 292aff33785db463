/* SPDX-License-Identifier: Apache-2.0 */
/* assay join: this host becomes one of a controller's (agents/join). */
#include "agents/assay/beside.h"
#include "agents/assay/commands.h"
#include "lib/base/macro.h"

int cmd_join(int argc UNUSED, char **argv)
{
	return beside_run("join", argv);
}

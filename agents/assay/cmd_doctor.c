/* SPDX-License-Identifier: Apache-2.0 */
/* assay doctor: is this host set up well? (agents/doctor). */
#include "agents/assay/beside.h"
#include "agents/assay/commands.h"
#include "lib/base/macro.h"

int cmd_doctor(int argc UNUSED, char **argv)
{
	return beside_run("doctor", argv);
}

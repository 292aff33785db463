/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_visit.h"

#include <stdlib.h>

#include "cli/command.h"

const char *doctor_visit_source(const struct doctor_visit *d, enum option_id id)
{
	static const struct {
		enum option_id id;
		const char *option, *environment;
	} rows[] = {
		{ OPTION_CONTROLLER, "--controller", "ASSAY_CONTROLLER in the environment" },
		{ OPTION_TOKEN_FILE, "--token-file", "ASSAY_TOKEN_FILE in the environment" },
		{ OPTION_CACERT, "--cacert", "ASSAY_CACERT in the environment" },
	};
	const char *value;
	size_t i = 0;

	while (rows[i].id != id)
		i++;
	value = secure_getenv(option_rows[id].environment);
	if (d->request->given & OPTION_BIT(id))
		return rows[i].option;
	return value && *value ? rows[i].environment : "the default";
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/api_accepts.h"

#include <stdlib.h>
#include <strings.h>

/* Is the weight after the name other than 0? Missing means 1. */
static bool is_wanted(const char *parameters, size_t length)
{
	size_t i;

	for (i = 0; i + 1 < length; i++) {
		if ((parameters[i] == 'q' || parameters[i] == 'Q') && parameters[i + 1] == '=')
			return strtod(&parameters[i + 2], NULL) > 0;
	}
	return true;
}

bool api_accepts_gzip(const char *accept)
{
	while (accept && *accept) {
		const size_t length = strcspn(accept, ",");
		const size_t blanks = strspn(accept, " \t");
		const char *name = accept + blanks;
		const size_t name_length = strcspn(name, ",; \t");

		if ((name_length == strlen("gzip") && strncasecmp(name, "gzip", name_length) == 0) ||
		    (name_length == 1 && *name == '*'))
			return is_wanted(name + name_length,
					 length - MIN(length, blanks + name_length));
		accept += length + (accept[length] == ',');
	}
	return false;
}

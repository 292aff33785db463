/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/api_gzip.h"

char *api_gzip(const char *bytes UNUSED, size_t length UNUSED, int level UNUSED,
	       size_t *ret_length UNUSED)
{
	return NULL;
}

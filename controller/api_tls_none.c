/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/api_inside.h"

char *tls_peer(struct MHD_Connection *connection)
{
	(void)connection;
	return NULL;
}

bool tls_built_in(void)
{
	return false;
}

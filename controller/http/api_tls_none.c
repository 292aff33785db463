/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "controller/http/api_inside.h"
#include "controller/http/api_tls.h"
#include "lib/base/err.h"

char *api_tls_peer(struct MHD_Connection *connection)
{
	(void)connection;
	return NULL;
}

bool api_tls_built_in(void)
{
	return false;
}

int api_tls_set_keys(const char *cert UNUSED, const char *key UNUSED, const char *ca UNUSED,
		     struct err *err)
{
	return err_set(err, ENOTSUP, "TLS is not built in");
}

int api_tls_check_keys(const char *cert UNUSED, const char *key UNUSED, const char *ca UNUSED,
		       struct err *ret_soon UNUSED, struct err *err)
{
	return err_set(err, ENOTSUP, "tls-cert: TLS is not built in");
}

void *api_tls_callback(void)
{
	return NULL;
}

struct tls_ends api_tls_ends(void)
{
	return (struct tls_ends){ 0 };
}

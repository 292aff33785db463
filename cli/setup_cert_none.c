/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces setup_cert.c in builds without GnuTLS. */
#include "cli/setup_cert.h"

#include <errno.h>

#include "lib/base/err.h"

void setup_cert_release(struct setup_cert_pair *p UNUSED)
{
}

int setup_cert_authority(const char *name UNUSED, struct setup_cert_pair *ret UNUSED,
			 struct err *err)
{
	return err_set(err, EINVAL,
		       "this assayctl was built without GnuTLS: it cannot create certificates");
}

int setup_cert_server(const struct setup_cert_pair *ca UNUSED, const char *const *names UNUSED,
		      size_t n UNUSED, struct setup_cert_pair *ret UNUSED, struct err *err)
{
	return setup_cert_authority(NULL, NULL, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/pem_sum.h"

#include <errno.h>
#include <string.h>

#include "lib/base/base64.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END "-----END CERTIFICATE-----"
#define BEGIN_ANY "-----BEGIN "

int pem_sum(const char *text, char ret_hex[static SHA256_HEX_SIZE], struct err *err)
{
	const char *begin = strstr(text, BEGIN);
	const char *end = begin ? strstr(begin, END) : NULL;
	CLEANUP(freep) char *base64 = NULL;
	CLEANUP(freep) char *der = NULL;
	struct sha256 sum;
	size_t n = 0;

	if (!end)
		return err_set(err, EINVAL, "is not a PEM certificate");
	if (strstr(text, BEGIN_ANY) != begin || strstr(end, BEGIN_ANY))
		return err_set(err, EINVAL, "expected one PEM certificate and nothing else");
	begin += strlen(BEGIN);
	base64 = xstrndup(begin, (size_t)(end - begin));
	if (base64_decode(base64, &der, &n) < 0 || n == 0)
		return err_set(err, EINVAL, "is not a PEM certificate: not base64");
	sha256_init(&sum);
	sha256_add(&sum, der, n);
	sha256_hex(&sum, ret_hex);
	return 0;
}

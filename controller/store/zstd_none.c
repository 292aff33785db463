/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "controller/store/pack.h"
#include "lib/base/err.h"

int zstd_open(const struct packed *packed, struct strbuf *text, struct err *err)
{
	(void)packed;
	(void)text;
	return err_set(err, EOPNOTSUPP, "zstd is not built in");
}

int zstd_close(const char *text, size_t length, void **ret_memory, size_t *ret_length)
{
	(void)text;
	(void)length;
	(void)ret_memory;
	(void)ret_length;
	return -EOPNOTSUPP;
}

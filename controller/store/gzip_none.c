/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "controller/store/pack.h"
#include "lib/base/err.h"

int gzip_open(const struct packed *packed, struct strbuf *text, struct err *err)
{
	(void)packed;
	(void)text;
	return err_set(err, EOPNOTSUPP, "gzip is not built in");
}

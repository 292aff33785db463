/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "attribution/unpack.h"
#include "lib/base/err.h"

int unpack_gzip(struct unpack *ret_unpack UNUSED, struct err *err)
{
	return err_set(
		err, EOPNOTSUPP,
		"it is compressed with gzip, which this build cannot read: decompress it first");
}

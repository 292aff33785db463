/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "attribution/unpack.h"
#include "lib/base/err.h"

int unpack_zstd(struct unpack *ret_unpack UNUSED, struct err *err)
{
	return err_set(
		err, EOPNOTSUPP,
		"it is compressed with zstd, which this build cannot read: decompress it first");
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/circle.h"

#include "lib/base/macro.h"

size_t circle_rounds(size_t n)
{
	return n < 2 ? 0 : n % 2 ? n : n - 1;
}

size_t circle_round(size_t n, size_t round, struct match *ret)
{
	size_t turning = circle_rounds(n), made = 0, k;

	for (k = 0; turning && k <= turning / 2; k++) {
		/* The last place is fixed; when n is odd it is empty. */
		size_t x = k == 0 ? turning : (round + k) % turning;
		size_t y = (round + turning - k) % turning;

		if (x < n)
			ret[made++] = (struct match){ MIN(x, y), MAX(x, y) };
	}
	return made;
}

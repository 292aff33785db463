/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "lib/err.h"

int library_load(const char *soname, void **ret, struct err *err)
{
	*ret = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
	return *ret ? 0 : err_set(err, ENOTSUP, "cannot load %s: %s", soname, dlerror());
}

int library_find(void *library, const char *soname, const struct library_symbol *symbols, size_t n,
		 struct err *err)
{
	size_t i;

	for (i = 0; i < n; i++) {
		void *address = dlsym(library, symbols[i].name);

		if (!address && symbols[i].needed)
			return err_set(err, ENOTSUP, "%s has no %s: it is too old or broken",
				       soname, symbols[i].name);
		/* POSIX, dlsym(): an address of a function fits into a pointer to data. */
		memcpy(symbols[i].member, &address, sizeof(address));
	}
	return 0;
}

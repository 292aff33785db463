/* SPDX-License-Identifier: Apache-2.0 */
/* A kubeconfig is accepted as a whole, or rejected with a message and an empty result. */
#include <errno.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_config.h"
#include "lib/base/err.h"
#include "lib/base/subdomain.h"
#include "tests/fuzz/fuzz.h"

static bool at_most_one(const char *a, const char *b)
{
	return !a || !b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kube_config config = { 0 };
	struct err err = ERR_INIT;
	int r = kube_config_load(fuzz_file(data, size), &config, &err);

	if (r < 0) {
		FUZZ_CHECK(r == -EINVAL && !config.server && !config.namespace);
		fuzz_refused(r, &err);
		return 0;
	}
	FUZZ_CHECK(starts_with(config.server, "http") && strstr(config.server, "://"));
	FUZZ_CHECK(config.server[strlen(config.server) - 1] != '/');
	FUZZ_CHECK(is_subdomain(config.namespace));
	FUZZ_CHECK(at_most_one(config.token, config.token_file));
	FUZZ_CHECK(at_most_one(config.ca_pem, config.ca_file));
	FUZZ_CHECK(!config.insecure || (!config.ca_pem && !config.ca_file));
	FUZZ_CHECK(!config.cert_pem == !config.key_pem && !config.cert_file == !config.key_file);
	/* A value that goes into a header contains nothing that ends it. */
	FUZZ_CHECK(!config.token || !strpbrk(config.token, "\r\n \t"));
	kube_config_release(&config);
	return 0;
}

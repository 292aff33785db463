/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's handling of the controller's answer to a report: two bytes of status, then the body. */
#include <stdlib.h>

#include "agents/assayd/delivery.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/fuzz/fuzz.h"

/* Only a number of at least 1 under the right key acknowledges. */
static bool acknowledges(unsigned status, const char *body, size_t length)
{
	CLEANUP(json_freep) json_t *value = NULL;
	const json_t *count;

	if (json_parse(body, length, "body", &value, NULL) < 0)
		return false;
	count = json_object_get(value, status == 202 ? "accepted" : "duplicate");
	return (status == 200 || status == 202) && json_integer_value(count) >= 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned usual[] = { 200, 202, 400, 413, 422, 401, 403, 404, 429, 503, 204, 0 };
	CLEANUP(freep) char *body = NULL;
	struct err why = ERR_INIT;
	enum delivery delivery;
	unsigned status;

	if (size < 2)
		return 0;
	status = data[0] < ARRAY_SIZE(usual) ? usual[data[0]] : data[0] * 4U + data[1];
	body = fuzz_bytes(data + 2, size - 2);
	delivery = delivery_judge(status, body, size - 2, &why);
	FUZZ_CHECK((delivery == DELIVERY_DONE) == acknowledges(status, body, size - 2));
	if (delivery != DELIVERY_DONE)
		fuzz_refused(-why.code, &why);
	return 0;
}

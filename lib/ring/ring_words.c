/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring/ring_words.h"

#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* "rank 12 on gpu-03", "ranks 8 to 15 on a, b, c, d and 4 more" for a worker. */
static void name(const json_t *place, struct strbuf *text)
{
	const json_t *ranks = json_object_get(place, "ranks"),
		     *hosts = json_object_get(place, "hosts");
	const double first = json_number_value(json_array_get(ranks, 0));
	const double last = json_number_value(json_array_get(ranks, 1));
	const size_t n = json_array_size(hosts);
	size_t i;

	if (last > first)
		(void)strbuf_printf(text, "ranks %.0f to %.0f", first, last);
	else
		(void)strbuf_printf(text, "rank %.0f", first);
	for (i = 0; i < n && i < RING_WORDS_HOSTS; i++)
		(void)strbuf_printf(text, "%s%s", i ? ", " : " on ",
				    json_string_value(json_array_get(hosts, i)));
	if (n > i)
		(void)strbuf_printf(text, " and %zu more", n - i);
}

static void tell_slowest(const json_t *lateness, struct strbuf *text)
{
	const json_t *slowest = json_object_get(lateness, "slowest");
	const double late = number(slowest, "late_s"), most = 100 * number(lateness, "good_most");

	if (!json_is_object(slowest) || number(slowest, "excess") < RING_WORDS_LEAST)
		return;
	(void)strbuf_puts(text, "Slowest in its own work: ");
	name(slowest, text);
	(void)strbuf_printf(text, ", %.1f %% longer than ranks with the same work",
			    100 * number(slowest, "excess"));
	if (late > 0)
		(void)strbuf_printf(text, ", arriving %.3g s a step after the median rank", late);
	if (json_is_true(json_object_get(slowest, "stands_out")))
		(void)strbuf_printf(text, "; healthy ranks are at most %.1f %% slower. ", most);
	else
		(void)strbuf_printf(text,
				    "; healthy ranks are up to %.1f %% slower, so this blames "
				    "no rank. ",
				    most);
}

static void tell_links(const json_t *links, struct strbuf *text)
{
	size_t i;

	for (i = 0; i < json_array_size(links) && i < RING_WORDS_LINKS; i++) {
		const json_t *link = json_array_get(links, i);
		const double seconds = number(link, "transfer_s"), usual = number(link, "usual_s");

		(void)strbuf_puts(text, "The link from ");
		name(json_object_get(link, "from"), text);
		(void)strbuf_puts(text, " to ");
		name(json_object_get(link, "to"), text);
		(void)strbuf_printf(text,
				    " is slow: %.3g s a transfer, against %.3g s between the same "
				    "stages of the other replicas. ",
				    seconds, usual);
	}
}

static void tell_stalls(const json_t *stalls, struct strbuf *text)
{
	size_t i;

	for (i = 0; i < json_array_size(stalls) && i < RING_WORDS_STALLS; i++) {
		const json_t *stall = json_array_get(stalls, i);

		(void)strbuf_puts(text, i ? "Also stalled: " : "Stalled: ");
		name(stall, text);
		(void)strbuf_printf(text, ", for %.3g s in step %.0f. ", number(stall, "seconds"),
				    number(stall, "step"));
	}
}

char *ring_words_lateness(const json_t *lateness)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(RING_WORDS_MAX);
	const char *why = json_string_value(json_object_get(lateness, "why"));

	if (why)
		return xasprintf("Which rank is late is unknown: %s.", why);
	tell_slowest(lateness, &text);
	tell_links(json_object_get(lateness, "links"), &text);
	tell_stalls(json_object_get(lateness, "stalls"), &text);
	if (text.len == 0)
		return xstrdup("No rank is late because of its own work, no link is slow, and no "
			       "rank stalled.");
	return xasprintf("%.*s", (int)text.len - 1, strbuf_text(&text));
}

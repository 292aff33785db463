/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assay/show_sensitivity.h"

#include <limits.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"
#include "tests/unit/test.h"

/* What is printed for the checks of a JSON text, in `width` columns. */
static char *show(const char *checks, unsigned width)
{
	CLEANUP(freep) char *json = xasprintf("{\"checks\": [%s]}", checks);
	CLEANUP(json_freep) json_t *value = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	CHECK_EQ(json_parse(json, strlen(json), "test", &value, NULL), 0);
	show_sensitivity(value, out, false, width);
	(void)fclose(out);
	return text;
}

/* The line that begins with `start`, single spaces; new memory. */
static char *line_of(const char *text, const char *start)
{
	const char *at = strstr(text, start);
	char *line = xstrndup(at ? at : "", at ? strcspn(at, "\n") : 0);
	size_t n = 0, i;

	for (i = 0; line[i]; i++) {
		if (line[i] != ' ' || (n > 0 && line[n - 1] != ' '))
			line[n++] = line[i];
	}
	while (n > 0 && line[n - 1] == ' ')
		n--;
	line[n] = '\0';
	return line;
}

#define LOSS(percent, amount) \
	"{\"percent\": " percent ", \"amount\": " amount ", \"by\": [\"peers\", \"sku\"]}"

static void a_row_says_what_is_seen(void)
{
	static const struct {
		const char *row, *line;
	} cases[] = {
		{ "\"class\": \"self\", \"unit\": \"FLOP/s\", \"better\": \"higher\", "
		  "\"sense\": \"compared\", \"subjects\": 8, \"measured\": 8, "
		  "\"warns\": " LOSS("5.04", "3.956e9") ", \"fails\": " LOSS(
			  "15", "12e9") ", "
					"\"noise\": {\"within_run_percent\": 3, "
					"\"between_runs_percent\": 0.42}, "
					"\"needs\": null",
		  "x self 8 -5.0 %, 3.96 GFLOP/s -15.0 % 0.4 % peers+sku" },
		{ "\"unit\": \"s\", \"better\": \"lower\", \"sense\": \"compared\", "
		  "\"subjects\": 3, \"measured\": 2, \"named\": 1, "
		  "\"warns\": " LOSS("10", "1.5e-6") ", \"fails\": null, \"needs\": \"this\"",
		  "x - 2 of 3, 1 low +10.0 %, 1.50 us - peers+sku this" },
		{ "\"unit\": \"1\", \"better\": \"higher\", \"sense\": \"compared\", "
		  "\"subjects\": 1, \"measured\": 1, \"warns\": " LOSS("0", "0") ", "
										 "\"fails\": " LOSS(
											 "0", "0"),
		  "x - 1 any any peers+sku" },
		{ "\"unit\": \"1\", \"better\": \"higher\", \"sense\": \"compared\", "
		  "\"subjects\": 1, \"measured\": 1, \"named\": 1, \"warns\": " LOSS("0", "0"),
		  "x - 1, 1 low named now - peers+sku" },
		{ "\"unit\": \"1\", \"better\": \"lower\", \"sense\": \"compared\", "
		  "\"subjects\": 1, \"measured\": 1, \"warns\": " LOSS("null", "3"),
		  "x - 1 any, 3 - peers+sku" },
		{ "\"sense\": \"probe\", \"subjects\": 1, \"measured\": 1, \"warns\": null",
		  "x - 1 what the probe calls bad - probe" },
		{ "\"sense\": \"recorded\", \"subjects\": 1, \"measured\": 1",
		  "x - 1 measured, not judged - -" },
		{ "\"sense\": \"nothing\", \"subjects\": 1, \"measured\": 1, \"needs\": \"a file\"",
		  "x - 1 measured, not judged - - a file" },
		{ "\"sense\": \"not-measured\", \"subjects\": 2, \"measured\": 0",
		  "x - 0 of 2 not measured - -" },
		{ "\"sense\": \"not-measured\", \"subjects\": 0, \"measured\": 0",
		  "x - - not measured here yet - -" },
		{ "\"sense\": \"of another version\"", "x - - measured, not judged - -" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *row = xasprintf("{\"check\": \"x\", %s}", cases[i].row);
		CLEANUP(freep) char *text = show(row, UINT_MAX);
		CLEANUP(freep) char *line = line_of(text, "x ");

		CHECK_STR(line, cases[i].line);
	}
}

static void a_narrow_terminal_gets_it_whole(void)
{
	CLEANUP(freep)
	char *text =
		show("{\"check\": \"loopback.write_bw\", \"class\": \"node\", \"unit\": \"B/s\", "
		     "\"better\": \"higher\", \"sense\": \"compared\", \"subjects\": 80, "
		     "\"measured\": 80, \"warns\": " LOSS(
			     "10", "2.4e9") ", \"needs\": "
					    "\"several runs: one differs by 3.1 % from the next\"}",
		     80);
	char *line, *rest = text;

	CHECK_HAS(text, "-10.0 %");
	CHECK_HAS(text, "the next");
	while ((line = strsep(&rest, "\n")))
		CHECK(text_columns(line) <= 80);
}

static void no_checks_give_no_row(void)
{
	CLEANUP(freep) char *text = show("", 80);

	CHECK_HAS(text, "CHECK");
	CHECK_HAS(text, "SEES: the smallest loss");
}

static const struct test tests[] = {
	TEST(a_row_says_what_is_seen),
	TEST(a_narrow_terminal_gets_it_whole),
	TEST(no_checks_give_no_row),
};

TEST_SUITE(tests);

/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/exit_style.h"

#include <errno.h>

const char *const exit_style_names[] = {
	[EXIT_ASSAY] = "assay",
	[EXIT_NHC] = "nhc",
	[EXIT_NAGIOS] = "nagios",
	[EXIT_NPD] = "npd",
	NULL,
};

/* Nagios: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN. NPD: 0 good, 1 bad, else unknown. */
static const struct {
	int by_level[VERDICT_FAIL + 1];
	int set_up, usage;
} statuses[] = {
	[EXIT_ASSAY] = { { [VERDICT_FAIL] = 1, [VERDICT_INCONCLUSIVE] = 3 }, 2, 2 },
	[EXIT_NHC] = { { [VERDICT_FAIL] = 1 }, 0, 2 },
	[EXIT_NAGIOS] = { { [VERDICT_WARN] = 1, [VERDICT_FAIL] = 2, [VERDICT_INCONCLUSIVE] = 3 },
			  3,
			  3 },
	[EXIT_NPD] = { { [VERDICT_FAIL] = 1, [VERDICT_INCONCLUSIVE] = 2 }, 2, 2 },
};

int exit_style_parse(const char *text, enum exit_style *ret)
{
	int i;

	for (i = 0; exit_style_names[i]; i++) {
		if (streq(exit_style_names[i], text)) {
			*ret = (enum exit_style)i;
			return 0;
		}
	}
	return -EINVAL;
}

int exit_status_of(enum exit_style style, enum verdict_level level)
{
	return statuses[style].by_level[level];
}

int exit_status_set_up(enum exit_style style)
{
	return statuses[style].set_up;
}

int exit_status_usage(enum exit_style style)
{
	return statuses[style].usage;
}

enum exit_style exit_style_peek(int argc, char *const *argv)
{
	static const char option[] = "--exit-style";
	enum exit_style style = EXIT_ASSAY;
	int i;

	for (i = 1; i < argc; i++) {
		if (!starts_with(argv[i], option))
			continue;
		if (argv[i][sizeof(option) - 1] == '=')
			(void)exit_style_parse(argv[i] + sizeof(option), &style);
		else if (i + 1 < argc)
			(void)exit_style_parse(argv[i + 1], &style);
	}
	return style;
}

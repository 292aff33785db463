/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/confirm.h"

#include <stdio.h>
#include <strings.h>

enum { ANSWER_MAX = 16 }; /* bytes of an answer */

bool confirm(const char *question, bool terminal)
{
	char line[ANSWER_MAX] = "";
	FILE *in = terminal ? fopen("/dev/tty", "re") : stdin;
	bool answered;

	(void)fprintf(stderr, "%s Continue? [y/N] ", question);
	(void)fflush(stderr);
	answered = in && fgets(line, sizeof(line), in);
	if (!answered)
		(void)fputc('\n', stderr);
	if (in && terminal)
		(void)fclose(in);
	return answered && (strcasecmp(line, "y\n") == 0 || strcasecmp(line, "yes\n") == 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harness --plugin LIBRARY [--api N] [--events N] [--ranks N] [--times N] SCENARIO...
 *
 * Loads the plug-in as NCCL does and runs scenarios against it, with the other end of its socket in
 * this process. Prints "NAME: held" for each. "all" runs all of them, --list lists them. A failed
 * check aborts the program.
 */
#include "tests/nccl/harness.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/macro.h"

void harness_open(struct harness *h, struct fake_comm *comm, uint32_t mask)
{
	const int before = fake_assayd_rings();

	fake_assayd_manner(FAKE_TAKES, mask);
	fake_comm_open(&h->nccl, comm, 0xc0ffee, 3, 16, 2);
	CHECK(comm->context);
	CHECK(fake_assayd_rings() == before + 1);
}

const struct ring_head *harness_ring(void)
{
	return fake_assayd_ring(fake_assayd_rings() - 1);
}

struct ring_control *harness_page(void)
{
	return fake_assayd_page(fake_assayd_rings() - 1);
}

void *harness_coll(struct fake_comm *comm, const char *func, uint64_t count, int channels)
{
	struct fake_op op = { .func = func, .count = count, .channels = channels, .peer = -1 };

	fake_launch(comm, &op, 1);
	return op.handle;
}

struct fake_slot harness_slot(const struct ring_head *head, uint64_t number)
{
	struct fake_slot slot;

	CHECK(fake_assayd_read(head, number, &slot));
	return slot;
}

uint64_t harness_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

#ifdef __SANITIZE_THREAD__
enum { RSS_IS_OURS = 0 };
#else
enum { RSS_IS_OURS = 1 };
#endif

int harness_mapped(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "rw-s") && strstr(line, "assay-ring");
	fclose(f);
	return n;
}

uint64_t harness_rss(void)
{
	unsigned long long size = 0, resident = 0;
	char text[128] = "", *end;
	FILE *f = fopen("/proc/self/statm", "re");

	CHECK(f && fgets(text, sizeof(text), f));
	fclose(f);
	size = strtoull(text, &end, 10);
	resident = strtoull(end, NULL, 10);
	CHECK(size >= resident);
	return RSS_IS_OURS * resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Each starts with nothing loaded, a known version, and no mask set. */
static void run_one(struct harness *h, const struct scenario *s)
{
	fake_version = h->api == 3 ? 22605 : h->api == 4 ? 22705 : h->api == 5 ? 22809 : 23007;
	fake_shm_free = UINT64_C(1) << 40;
	unsetenv("ASSAY_NCCL_ANY_VERSION");
	setenv("ASSAY_RING_LIMIT_MS", "60000", 1); /* long enough for a busy machine */
	fake_assayd_start();
	CHECK(fake_load(&h->nccl, h->plugin, h->api));
	CHECK(h->nccl.api == h->api);
	s->run(h);
	if (h->nccl.library)
		fake_unload(&h->nccl);
	fake_assayd_stop();
	printf("%s: held\n", s->name);
	fflush(stdout);
}

/* Runs the scenarios of a table named `name`, or lists all if NULL. Returns how many. */
static int run_named(struct harness *h, const struct scenario *table, const char *name)
{
	int n = 0;

	for (; table->name; table++) {
		if (!name)
			printf("%s\n", table->name);
		else if (streq(name, "all") || streq(name, table->name))
			run_one(h, table);
		else
			continue;
		n++;
	}
	return n;
}

/* "silent" is last, because its effect on the process persists. */
static int run_all(struct harness *h, const char *name)
{
	int n = run_named(h, harness_orders, name);

	n += run_named(h, harness_again, name);
	return n + run_named(h, harness_lives, name);
}

static bool option(struct harness *h, const char *name, const char *value)
{
	if (streq(name, "--plugin"))
		h->plugin = value;
	else if (streq(name, "--api"))
		h->api = (int)strtol(value, NULL, 10);
	else if (streq(name, "--events"))
		h->events = strtoull(value, NULL, 10);
	else if (streq(name, "--ranks"))
		h->ranks = (int)strtol(value, NULL, 10);
	else if (streq(name, "--times"))
		h->times = (int)strtol(value, NULL, 10);
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	struct harness h = {
		.self = "/proc/self/exe", .api = 5, .events = 20000, .ranks = 8, .times = 20
	};
	int i, n = 0;

	for (i = 1; i + 1 < argc && option(&h, argv[i], argv[i + 1]); i += 2)
		;
	if (argc > i && streq(argv[i], "--list"))
		return run_all(&h, NULL) ? 0 : 1;
	if (argc == i || !h.plugin) {
		fprintf(stderr, "usage: harness --plugin LIBRARY [--api N] [--events N] [--ranks "
				"N] [--times N] SCENARIO...\n");
		return 2;
	}
	if (argc == i + 2 && streq(argv[i], "--play")) {
		harness_play(&h, (int)strtol(argv[i + 1], NULL, 10));
		return 0;
	}
	for (; i < argc; i++) {
		n = run_all(&h, argv[i]);
		if (n == 0) {
			fprintf(stderr, "no scenario '%s': --list names them\n", argv[i]);
			return 2;
		}
	}
	return 0;
}

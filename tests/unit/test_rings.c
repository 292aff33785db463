/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings of two jobs from their processes: this program started with --child, but not as our
 * descendant, because descendants count as our own.
 */
#include "agents/assayd/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "agents/assayd/assayd_config.h"
#include "agents/assayd/ring_rules.h"
#include "agents/assayd/traces.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "tests/unit/ring_forge.h"
#include "tests/unit/test.h"

#define PATIENCE_US (60 * USEC_PER_SEC)
#define TURN_US (20 * USEC_PER_MSEC)

enum { STEP_PROXY = 16, LINE = 256 };

/* No sample is taken in the time of a test. */
void traces_add(struct traces *t UNUSED, const struct trace_queue_part *part UNUSED,
		double first_s UNUSED, double last_s UNUSED)
{
	CHECK(false);
}

/* --- the process of a job --- */

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int make_ring(struct forge **ret)
{
	const int fd = memfd_create("ring", MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, RING_SIZE) < 0)
		return -1;
	*ret = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*ret == MAP_FAILED ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -1;
	forge_init(*ret);
	forge_head(*ret)->mask = RINGS_MASK;
	return fd;
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ? fd : -1;
}

/* Hand it over; the control page, or NULL. */
static const struct ring_control *hand_over(const char *path, int ring_fd)
{
	const struct ring_hello hello = { .magic = RING_MAGIC, .version = RING_VERSION };
	struct ring_welcome welcome = { .taken = 0 };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec out = { (void *)(uintptr_t)&hello, sizeof(hello) };
	struct iovec in = { &welcome, sizeof(welcome) };
	struct msghdr message = { .msg_iov = &out,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	const int fd = connect_to(path);
	void *page;
	int page_fd;

	memcpy(CMSG_DATA(&control.head), &ring_fd, sizeof(int));
	if (fd < 0 || sendmsg(fd, &message, 0) < 0)
		return NULL;
	message.msg_iov = &in;
	message.msg_controllen = sizeof(control.bytes);
	if (recvmsg(fd, &message, 0) != sizeof(welcome) || !welcome.taken ||
	    !CMSG_FIRSTHDR(&message))
		return NULL;
	memcpy(&page_fd, CMSG_DATA(&control.head), sizeof(int));
	page = mmap(NULL, RING_CONTROL_SIZE, PROT_READ, MAP_SHARED, page_fd, 0);
	return page == MAP_FAILED ? NULL : page;
}

/* One that began now and has not ended. */
static void put_now(struct forge *f, uint64_t number)
{
	struct ring_slot *s = forge_slot(f, number);

	forge_put(f, number);
	s->enqueued_ns = now_ns();
	s->host_start_ns = s->host_stop_ns = s->gpu_start_ns = s->gpu_stop_ns = 0;
	s->started = s->stopped = 0;
	s->flags = 0;
}

/* Says "t" when its ring was taken, "m" when steps of proxies are asked for; ends with its input. */
static int be_a_job(const char *path)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	const struct ring_control *control;
	struct forge *f;
	const int fd = make_ring(&f);
	bool said = false;

	control = fd < 0 ? NULL : hand_over(path, fd);
	if (!control)
		return 1;
	put_now(f, 0);
	if (write(STDOUT_FILENO, "t", 1) != 1)
		return 1;
	while (poll(&input, 1, 10) == 0) {
		if (said || !(atomic_load(&control->mask) & STEP_PROXY))
			continue;
		said = true;
		if (write(STDOUT_FILENO, "m", 1) != 1)
			return 1;
	}
	return 0;
}

/* --- the host --- */

struct world {
	char dir[LINE], device[LINE], socket[LINE];
	sd_event *event;
	struct assayd_config config;
	struct rings *rings;
};

struct job {
	int in, out; /* of its process */
};

static void begin(struct world *w)
{
	char run[2 * LINE], dev[2 * LINE];

	*w = (struct world){ .config = { .rings_mode = RINGS_ON,
					 .rings_steps = 3,
					 .rings_every_us = USEC_PER_DAY,
					 .rings_of_process = 8,
					 .rings_of_user = 8,
					 .rings_bytes = 64 << 20,
					 .rings_hold_us = USEC_PER_HOUR } };
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/assay-rings-XXXXXX");
	CHECK(mkdtemp(w->dir) != NULL);
	(void)snprintf(run, sizeof(run), "%s/run", w->dir);
	(void)snprintf(dev, sizeof(dev), "%s/dev", w->dir);
	CHECK_EQ(mkdir(run, 0755), 0);
	CHECK_EQ(mkdir(dev, 0755), 0);
	(void)snprintf(w->device, sizeof(w->device), "%.200s/dev/nvidia0", w->dir);
	(void)snprintf(w->socket, sizeof(w->socket), "%.200s/run/" RING_SOCKET_NAME, w->dir);
	(void)close(open(w->device, O_CREAT | O_RDWR, 0644));
	(void)setenv("ASSAY_SYSROOT", w->dir, true);
	(void)setenv("ASSAY_RUN_DIR", run, true);
	CHECK(sd_event_new(&w->event) >= 0);
	w->rings = rings_new(w->event, &w->config, NULL);
	rings_set(w->rings, true);
}

static void end(struct world *w)
{
	static const char *const names[] = { "run/jobs/ring.sock", "run/jobs",
					     "run/rings.prom",	   "run",
					     "dev/nvidia0",	   "dev" };
	char path[2 * LINE];
	size_t i;

	rings_free(w->rings);
	(void)sd_event_unref(w->event);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", w->dir, names[i]);
		(void)remove(path);
	}
	CHECK_EQ(rmdir(w->dir), 0);
}

static void exec_child(const struct world *w, int in, int out, const char *name)
{
	char job[LINE], path[LINE];
	char *const argv[] = { (char[]){ "rings" }, (char[]){ "--child" }, (char[]){ "rings" },
			       path, NULL };
	char *const env[] = { job, (char[]){ "RANK=3" }, (char[]){ "WORLD_SIZE=8" }, NULL };

	(void)snprintf(job, sizeof(job), "ASSAY_JOB=%s", name);
	(void)snprintf(path, sizeof(path), "%s", w->socket);
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    open(w->device, O_RDONLY) < 0) /* held by the program that it becomes */
		_exit(1);
	(void)execve("/proc/self/exe", argv, env);
	_exit(1);
}

static struct job start(const struct world *w, const char *name)
{
	int in[2], out[2];
	pid_t pid;

	CHECK_EQ(pipe2(in, O_CLOEXEC), 0);
	CHECK_EQ(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
	pid = fork();
	if (pid == 0) {
		if (fork() == 0)
			exec_child(w, in[0], out[1], name);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
	(void)close(in[0]);
	(void)close(out[1]);
	return (struct job){ in[1], out[0] };
}

/* Does it say this within the time? The loop runs meanwhile. */
static bool says(const struct world *w, const struct job *job, char what)
{
	const uint64_t deadline_us = clock_mono_us() + PATIENCE_US;
	char said = 0;

	while (clock_mono_us() < deadline_us) {
		if (read(job->out, &said, 1) == 1)
			return said == what;
		(void)sd_event_run(w->event, TURN_US);
	}
	return false;
}

/* Its output ends. */
static bool ends(const struct world *w, struct job *job)
{
	const uint64_t deadline_us = clock_mono_us() + PATIENCE_US;
	char said;
	bool over = false;

	(void)close(job->in);
	while (!over && clock_mono_us() < deadline_us) {
		(void)sd_event_run(w->event, TURN_US);
		over = read(job->out, &said, 1) == 0;
	}
	(void)close(job->out);
	return over;
}

static char *tell(const struct world *w, const char *name, int64_t run)
{
	json_t *groups = json_array(), *ranks = json_array(), *all;
	char *text;

	rings_tell(w->rings, name, run, groups, ranks);
	all = json_pack("{s:o, s:o}", "groups", groups, "ranks", ranks);
	text = json_dumps(all, JSON_SORT_KEYS | JSON_COMPACT);
	json_decref(all);
	return text;
}

static void check_empty(const struct world *w, const char *name, int64_t run)
{
	CLEANUP(freep) char *text = tell(w, name, run);

	CHECK_STR(text, "{\"groups\":[],\"ranks\":[]}");
}

/* One rank, one ring. */
static void check_one(const struct world *w, const char *name)
{
	CLEANUP(freep) char *text = tell(w, name, 1);
	CLEANUP(json_freep) json_t *all = json_loads(text, 0, NULL);
	const json_t *ranks = json_object_get(all, "ranks"), *rank = json_array_get(ranks, 0);

	CHECK_EQ(json_array_size(ranks), 1);
	CHECK_EQ(json_integer_value(json_object_get(rank, "rank")), 3);
	CHECK_EQ(json_array_size(json_object_get(rank, "positions")), 1);
	CHECK_EQ(json_array_size(json_object_get(rank, "ops")), 1);
	CHECK_HAS(text, "\"state\":\"enqueued\"");
}

static void what_is_read_for_a_job_is_of_its_own_rings(void)
{
	struct world w;
	struct job a, b;

	begin(&w);
	a = start(&w, "team/a");
	CHECK(says(&w, &a, 't'));
	check_one(&w, "team/a");
	check_empty(&w, "team/b", 1);
	b = start(&w, "team/b");
	CHECK(says(&w, &b, 't'));
	check_one(&w, "team/a");
	check_one(&w, "team/b");
	check_empty(&w, "team/a", 2);
	check_empty(&w, "team", 1);
	check_empty(&w, "", 1);
	/* What is asked for one is recorded of that one. */
	rings_ask(w.rings, "team/b", 1, USEC_PER_HOUR);
	CHECK(says(&w, &b, 'm'));
	CHECK(rings_standing_s(w.rings, "team/a", 1, 3) > 0);
	CHECK(rings_standing_s(w.rings, "team/a", 1, 4) == 0);
	CHECK(rings_standing_s(w.rings, "team/c", 1, 3) == 0);
	/* The last record outlives the job. */
	CHECK(ends(&w, &a));
	check_one(&w, "team/a");
	CHECK(ends(&w, &b));
	rings_set(w.rings, false);
	check_empty(&w, "team/a", 1);
	end(&w);
}

/* How many rings are told of for this job. */
static size_t count(const struct world *w, const char *name)
{
	CLEANUP(freep) char *text = tell(w, name, 1);
	CLEANUP(json_freep) json_t *all = json_loads(text, 0, NULL);
	const json_t *rank = json_array_get(json_object_get(all, "ranks"), 0);

	return json_array_size(json_object_get(rank, "positions"));
}

/* As of a job that is started again and again. */
static void processes_that_have_ended_make_room(void)
{
	struct world w;
	struct job stranger;
	int i;

	begin(&w);
	w.config.rings_of_user = 1000;
	w.config.rings_bytes = UINT64_C(1) << 30;
	rings_set(w.rings, true);
	for (i = 0; i < RING_PROCESSES_MAX + 8; i++) {
		struct job job = start(&w, "team/a");
		const bool taken = says(&w, &job, 't');

		CHECK(taken);
		CHECK(ends(&w, &job));
		if (!taken)
			break;
	}
	/* But not for who is nobody. */
	CHECK_EQ(count(&w, "team/a"), RING_PROCESSES_MAX);
	stranger = start(&w, "");
	CHECK(ends(&w, &stranger));
	CHECK_EQ(count(&w, "team/a"), RING_PROCESSES_MAX);
	end(&w);
}

static const struct test tests[] = {
	TEST(what_is_read_for_a_job_is_of_its_own_rings),
	TEST(processes_that_have_ended_make_room),
};

static int child(int argc, char **argv)
{
	return argc == 1 ? be_a_job(argv[0]) : 1;
}

TEST_SUITE(tests, .child = child);

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/report.h"
#include "lib/sys/kernel_match.h"
#include "lib/sys/kernel_rules.h"
#include "tests/unit/test.h"

static char *shipped_dir(void)
{
	return test_source("policies");
}

static void load_shipped(struct kernel_rules *rules)
{
	CLEANUP(freep) char *dir = shipped_dir();
	struct err err = ERR_INIT;

	CHECK_EQ(kernel_rules_load(dir, rules, &err), 0);
	CHECK_STR(err.msg, "");
}

/* What each shipped pattern is there for, and what must not trip it. */
static const struct {
	const char *line, *name; /* NULL: means nothing */
	int severity;
	const char *code, *subject;
} lines[] = {
	{ "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the "
	  "bus.",
	  "nvidia-xid", SEVERITY_FATAL, "xid:79", "pci:0000:1b:00.0" },
	{ "NVRM: Xid (PCI:00000000:1B:00.0): 95, pid=1, Uncontained ECC error", "nvidia-xid",
	  SEVERITY_FATAL, "xid:95", "pci:0000:1b:00.0" },
	{ "NVRM: Xid (PCI:0000:1b:00): 64, Row remapper: remapping failure", "nvidia-xid",
	  SEVERITY_FATAL, "xid:64", "pci:0000:1b:00.0" },
	{ "NVRM: Xid (0000:01:00): 31, Ch 0000000b, intr 10000000", "nvidia-xid", SEVERITY_INFO,
	  "xid:31", "pci:0000:01:00.0" },
	{ "NVRM: Xid (PCI:0000:1b:00): 63, Row remapper: recorded", "nvidia-xid", SEVERITY_WARN,
	  "xid:63", "pci:0000:1b:00.0" },
	{ "NVRM: Xid (PCI:0000:1b:00): 94, pid=7, Contained ECC error", "nvidia-xid", SEVERITY_WARN,
	  "xid:94", "pci:0000:1b:00.0" },
	{ "NVRM: Xid (PCI:0000:1b:00): 999999, news", "nvidia-xid", SEVERITY_WARN, "xid:999999",
	  "pci:0000:1b:00.0" },
	{ "NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 "
	  "(Node Reboot Required)",
	  "nvidia-recovery", SEVERITY_FATAL, "xid:154", "pci:0000:1b:00.0" },
	{ "NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x1 (GPU Reset "
	  "Required) to 0x0 (None)",
	  "nvidia-xid", SEVERITY_WARN, "xid:154", "pci:0000:1b:00.0" },
	{ "nvidia-nvswitch0: SXid (PCI:0000:c2:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
	  "nvswitch-sxid-fatal", SEVERITY_FAIL, "sxid:20034", "pci:0000:c2:00.0" },
	{ "nvidia-nvswitch0: SXid (PCI:0000:c2:00.0): 22013, Non-fatal, Link 2", "nvswitch-sxid",
	  SEVERITY_WARN, "sxid:22013", "pci:0000:c2:00.0" },
	{ "NVRM: GPU 0000:1b:00.0: GPU has fallen off the bus.", "nvidia-off-bus", SEVERITY_FATAL,
	  "gpu-off-bus", "pci:0000:1b:00.0" },
	{ "NVRM: The NVIDIA GPU 0000:1b:00.0\\x0aNVRM: (PCI ID: 10de:2330) installed in this "
	  "system has\\x0aNVRM: fallen off the bus",
	  "nvidia-off-bus", SEVERITY_FATAL, "gpu-off-bus", "pci:0000:1b:00.0" },
	{ "NVRM: GPU 0000:1b:00.0: RmInitAdapter failed! (0x26:0x56:1474)", "nvidia-init-failed",
	  SEVERITY_FAIL, "gpu-init-failed", "pci:0000:1b:00.0" },
	{ "nvidia-nvlink: Nvlink Core is being initialized, major device number 511", NULL, 0, NULL,
	  NULL },
	{ "mlx5_core 0000:3b:00.0: poll_health:800:(pid 0): device's health compromised - reached "
	  "miss count",
	  "mlx5-health", SEVERITY_FAIL, "mlx5-health", "pci:0000:3b:00.0" },
	{ "mlx5_core 0000:3b:00.1: wait_func:1137:(pid 9): ACCESS_REG(0x805) timeout. Will cause a "
	  "leak of a command resource",
	  "mlx5-health", SEVERITY_FAIL, "mlx5-health", "pci:0000:3b:00.1" },
	{ "mlx5_core 0000:3b:00.0: Port module event: module 0, Cable unplugged", "mlx5-module",
	  SEVERITY_WARN, "mlx5-module", "pci:0000:3b:00.0" },
	{ "mlx5_core 0000:3b:00.0: Port module event: module 0, Cable plugged", NULL, 0, NULL,
	  NULL },
	{ "mlx5_core 0000:3b:00.0 eth2: Link down", "link-down", SEVERITY_INFO, "link-down",
	  "eth2" },
	{ "igb 0000:01:00.0 eno1: igb: eno1 NIC Link is Down", "link-down", SEVERITY_INFO,
	  "link-down", "eno1" },
	{ "infiniband rxe0: set down", "rdma-down", SEVERITY_INFO, "rdma-down", "rxe0" },
	{ "NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 3 timed out", "netdev-watchdog",
	  SEVERITY_WARN, "netdev-watchdog", "eth0" },
	{ "mlx5_core 0000:3b:00.0 eth2: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5000 "
	  "ms",
	  "netdev-watchdog", SEVERITY_WARN, "netdev-watchdog", "host" },
	{ "pcieport 0000:00:01.0: AER: Uncorrected (Non-Fatal) error received: 0000:1b:00.0",
	  "pcie-uncorrected", SEVERITY_WARN, "pcie-uncorrected", "pci:0000:1b:00.0" },
	{ "pcieport 0000:00:01.0: AER: Multiple Corrected error received: 0000:1b:00.1",
	  "pcie-corrected", SEVERITY_INFO, "pcie-corrected", "pci:0000:1b:00.1" },
	{ "pcieport 0000:00:1c.0: pciehp: Slot(3): Link Down", "pcie-link-lost", SEVERITY_WARN,
	  "pcie-link-lost", "pci:0000:00:1c.0" },
	{ "pcieport 0000:00:1c.0: AER: enabled with IRQ 24", NULL, 0, NULL, NULL },
	{ "DMAR: [DMA Read NO_PASID] Request device [3b:00.0] fault addr 0x1000", "iommu-fault",
	  SEVERITY_WARN, "iommu-fault", "host" },
	{ "DMAR: IOMMU enabled", NULL, 0, NULL, NULL },
	{ "Memory failure: 0x12ab: recovery action for dirty LRU page: Recovered", "memory-failure",
	  SEVERITY_FAIL, "memory-failure", "host" },
	{ "EDAC MC0: 1 UE memory read error on CPU_SrcID#0", "edac-uncorrected", SEVERITY_FAIL,
	  "memory-uncorrected", "MC0" },
	{ "EDAC MC0: 1 CE memory read error on CPU_SrcID#0", "edac-corrected", SEVERITY_INFO,
	  "memory-corrected", "MC0" },
	{ "EDAC MC: Ver: 3.0.0", NULL, 0, NULL, NULL },
	{ "mce: [Hardware Error]: Machine check events logged", "machine-check", SEVERITY_WARN,
	  "machine-check", "host" },
	{ "{1}[Hardware Error]: event severity: recoverable", "machine-check", SEVERITY_WARN,
	  "machine-check", "host" },
	{ "{1}[Hardware Error]: event severity: corrected", NULL, 0, NULL, NULL },
	{ "mce: CPU0: Thermal monitoring enabled (TM1)", NULL, 0, NULL, NULL },
	{ "mce: CPU3: Package temperature is above threshold, cpu clock is throttled",
	  "thermal-throttle", SEVERITY_INFO, "thermal-throttle", "host" },
	{ "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [nccl:17]", "soft-lockup",
	  SEVERITY_WARN, "lockup", "host" },
	{ "rcu: INFO: rcu_sched self-detected stall on CPU", "rcu-stall", SEVERITY_WARN,
	  "rcu-stall", "host" },
	{ "INFO: task nfsd:123 blocked for more than 120 seconds.", "hung-task", SEVERITY_WARN,
	  "hung-task", "host" },
	{ "EXT4-fs (sda1): Remounting filesystem read-only", "read-only", SEVERITY_FAIL,
	  "read-only", "sda1" },
	{ "EXT4-fs (dm-0): Remounting filesystem read-only", "read-only", SEVERITY_FAIL,
	  "read-only", "dm-0" },
	{ "EXT3-fs error: remounting filesystem read-only", "read-only", SEVERITY_FAIL, "read-only",
	  "host" },
	{ "EXT4-fs (loop0): Remounting filesystem read-only", "read-only-loop", SEVERITY_INFO,
	  "read-only-removable", "loop0" },
	{ "EXT4-fs (loop12p1): Remounting filesystem read-only", "read-only-loop", SEVERITY_INFO,
	  "read-only-removable", "loop12p1" },
	{ "EXT4-fs (mmcblk0p1): Remounting filesystem read-only", "read-only-loop", SEVERITY_INFO,
	  "read-only-removable", "mmcblk0p1" },
	{ "FAT-fs (sdb1): Filesystem has been set read-only", "read-only-fat", SEVERITY_INFO,
	  "read-only-removable", "sdb1" },
	/* "loop" without a number is a name that somebody gave. */
	{ "EXT4-fs (loopback): Remounting filesystem read-only", "read-only", SEVERITY_FAIL,
	  "read-only", "loopback" },
	{ "I/O error, dev sda, sector 0 op 0x0:(READ)", "io-error", SEVERITY_WARN, "io-error",
	  "sda" },
	{ "blk_update_request: I/O error, dev fd0, sector 0", NULL, 0, NULL, NULL },
	{ "nvme nvme0: I/O 12 (I/O Cmd) QID 3 timeout, aborting", "nvme-timeout", SEVERITY_WARN,
	  "nvme-timeout", "nvme0" },
	{ "nvme nvme0: Shutdown timeout set to 8 seconds", NULL, 0, NULL, NULL },
	{ "Memory cgroup out of memory: Killed process 17 (python)", "out-of-memory", SEVERITY_INFO,
	  "out-of-memory", "host" },
	{ "nfs: server 10.0.0.1 not responding, still trying", "nfs-server", SEVERITY_INFO,
	  "nfs-server", "host" },
	{ "python[12]: segfault at 10 ip 7f sp 7f error 4 in libnccl.so.2[7f]", "nccl-segfault",
	  SEVERITY_INFO, "nccl-segfault", "host" },
	{ "", NULL, 0, NULL, NULL },
	{ "Linux version 6.1.0", NULL, 0, NULL, NULL },
};

static void each_line_means_what_the_table_says(void)
{
	CLEANUP(kernel_rules_release) struct kernel_rules rules = { 0 };
	size_t i;

	load_shipped(&rules);
	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		struct kernel_match m = { 0 };
		bool found = kernel_match_line(&rules, lines[i].line, &m);

		CHECK_STR(found ? rules.patterns[m.pattern].name : NULL, lines[i].name);
		if (!found || !lines[i].name)
			continue;
		CHECK_STR(m.code, lines[i].code);
		CHECK_STR(m.subject, lines[i].subject);
		CHECK_EQ(m.severity, lines[i].severity);
	}
}

/* The short cut by text must find no less than the expression alone. */
static void the_text_of_a_pattern_is_in_all_it_matches(void)
{
	CLEANUP(kernel_rules_release) struct kernel_rules rules = { 0 };
	size_t i, p;

	load_shipped(&rules);
	for (p = 0; p < rules.n_patterns; p++) {
		const struct kernel_pattern *pattern = &rules.patterns[p];

		for (i = 0; i < ARRAY_SIZE(lines); i++) {
			if (pattern->literal &&
			    regexec(&pattern->regex, lines[i].line, 0, NULL, 0) == 0)
				CHECK_HAS(lines[i].line, pattern->literal);
		}
	}
}

static void only_the_named_xids_are_fatal(void)
{
	CLEANUP(kernel_rules_release) struct kernel_rules rules = { 0 };
	size_t i, n = 0;

	load_shipped(&rules);
	for (i = 0; i < rules.n_xids; i++) {
		const struct kernel_xid *x = &rules.xids[i];
		bool fatal = x->xid == 64 || x->xid == 79 || x->xid == 95;

		CHECK_EQ(x->severity == SEVERITY_FATAL, fatal);
		/* Where somebody drains for it, it is at least worth a look. */
		if (streq(x->azure, "drain"))
			CHECK(x->severity != SEVERITY_INFO);
		n += fatal;
	}
	CHECK_EQ(n, 3);
	CHECK(rules.n_xids > 100);
}

static void the_text_every_match_contains_is_found(void)
{
	static const struct {
		const char *regex, *literal;
	} cases[] = {
		{ "abc", "abc" },
		{ "ab", NULL },
		{ "", NULL },
		{ "abc.*defg", "defg" },
		{ "abcx*", "abc" },
		{ "abcx+yz", "abc" },
		{ "abcx?", "abc" },
		{ "abcx{0,3}de", "abc" },
		{ "abc|def", NULL },
		{ "(abc|def)", NULL },
		{ "(abc|def) ghi", " ghi" },
		{ "(a(b|c)*)?tail", "tail" },
		{ "head[abc]tail!", "tail!" },
		{ "head[]x]tail!", "tail!" },
		{ "head[^]x]tail!", "tail!" },
		{ "a\\(bc\\)d", "a(bc)d" },
		{ "abc\\+", "abc+" },
		{ "abcd\\bxy", "abcd" },
		{ "^start", "start" },
		{ "(a\\)b)end", "end" },
		{ "([)]x)end", "end" },
		{ "(unclosed", NULL },
		{ "[unclosed", NULL },
		{ "abc\\", "abc" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *literal = kernel_literal(cases[i].regex);

		CHECK_STR(literal, cases[i].literal);
	}
}

#define ROW(more) "{\"v\": 1, \"patterns\": [{\"name\": \"a\", " more "}]}"
#define REST "\"severity\": \"warn\", \"code\": \"c\", \"note\": \"n\""

static void a_malformed_pattern_file_names_the_place(void)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "[]", "f.yaml: expected an object" },
		{ "{}", "f.yaml: v: missing" },
		{ "{\"v\": 2, \"patterns\": []}", "f.yaml: v: expected 1" },
		{ "{\"v\": 1}", "f.yaml: patterns: missing" },
		{ "{\"v\": 1, \"patterns\": {}}", "f.yaml: patterns: expected a list" },
		{ "{\"v\": 1, \"patterns\": [], \"extra\": 1}", "f.yaml: extra: unknown key" },
		{ "{\"v\": 1, \"patterns\": [7]}", "f.yaml: patterns[0]: expected an object" },
		{ ROW(REST), "f.yaml: patterns[0].match: missing" },
		{ ROW(REST ", \"match\": \"a(\""),
		  "f.yaml: patterns[0].match: not a regular expression: Unmatched ( or \\(" },
		/* 2^20 and 300 * 300 copies for regcomp(); what is escaped or a set is none. */
		{ ROW(REST ", \"match\": \"x+++++++++++++++++++++\""),
		  "f.yaml: patterns[0].match: too many repetitions" },
		{ ROW(REST ", \"match\": \"(x{2,300}){300}\""),
		  "f.yaml: patterns[0].match: too many repetitions" },
		{ ROW(REST ", \"match\": \"a[]+++++++++++++++++++++]\\\\{300}\", \"xid\": 2"),
		  "f.yaml: patterns[0].xid: capture 2" },
		{ ROW(REST ", \"match\": \"\""), "f.yaml: patterns[0].match: expected 1 to" },
		{ ROW(REST ", \"match\": \".*\""), "f.yaml: patterns[0].match: matches the empty" },
		{ ROW(REST ", \"match\": \"abc\", \"subject\": 1"),
		  "f.yaml: patterns[0].subject: capture 1 is not in match, which has 0" },
		{ ROW(REST ", \"match\": \"abc\", \"xid\": 2"),
		  "f.yaml: patterns[0].xid: capture 2 is not in match" },
		{ ROW(REST ", \"match\": \"abc\", \"subject\": 10"),
		  "f.yaml: patterns[0].subject: 10 is outside 1 to 9" },
		{ ROW(REST ", \"match\": \"abc\", \"when\": 1"),
		  "f.yaml: patterns[0].when: unknown key" },
		{ ROW("\"severity\": \"bad\", \"code\": \"c\", \"note\": \"n\", \"match\": "
		      "\"abc\""),
		  "f.yaml: patterns[0].severity: 'bad' is not one of info, warn, fail, fatal" },
		{ ROW("\"severity\": \"warn\", \"code\": \"\", \"note\": \"n\", \"match\": "
		      "\"abc\""),
		  "f.yaml: patterns[0].code: must not be empty" },
		{ ROW("\"severity\": \"warn\", \"code\": \"c\\\\1\", \"note\": \"n\", \"match\": "
		      "\"abc\""),
		  "f.yaml: patterns[0].code: capture 1 is not in match" },
		{ ROW("\"severity\": \"warn\", \"code\": \"c\\\\\", \"note\": \"n\", \"match\": "
		      "\"abc\""),
		  "f.yaml: patterns[0].code: expected \\1 to \\9" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(kernel_rules_release) struct kernel_rules rules = { 0 };
		CLEANUP(json_freep) json_t *doc = NULL;
		struct err err = ERR_INIT;

		CHECK_EQ(json_parse(cases[i].text, strlen(cases[i].text), "f", &doc, &err), 0);
		CHECK_EQ(kernel_rules_take_patterns(&rules, doc, "f.yaml", &err), -EINVAL);
		CHECK_HAS(err.msg, cases[i].message);
	}
}

static void a_malformed_xid_table_names_the_place(void)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "{\"v\": 1, \"xids\": [{\"xid\": -1}]}", "x.yaml: xids[0].xid: -1 is negative" },
		{ "{\"v\": 1, \"xids\": [{\"xid\": \"79\"}]}",
		  "x.yaml: xids[0].xid: expected a whole" },
		{ "{\"v\": 1, \"xids\": [{\"xid\": 79}]}", "x.yaml: xids[0].severity: missing" },
		{ "{\"v\": 1, \"xids\": [{\"xid\": 79, \"severity\": \"fatal\", \"action\": \"a\", "
		  "\"note\": \"n\"}, {\"xid\": 79, \"severity\": \"warn\", \"action\": \"a\", "
		  "\"note\": \"n\"}]}",
		  "x.yaml: xids[1]: Xid 79 is given twice" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(kernel_rules_release) struct kernel_rules rules = { 0 };
		CLEANUP(json_freep) json_t *doc = NULL;
		struct err err = ERR_INIT;

		CHECK_EQ(json_parse(cases[i].text, strlen(cases[i].text), "x", &doc, &err), 0);
		CHECK_EQ(kernel_rules_take_xids(&rules, doc, "x.yaml", &err), -EINVAL);
		CHECK_HAS(err.msg, cases[i].message);
	}
}

static void too_many_patterns_are_refused(void)
{
	CLEANUP(json_freep) json_t *doc = json_pack("{s:i, s:[]}", "v", 1, "patterns");
	CLEANUP(kernel_rules_release) struct kernel_rules rules = { 0 };
	json_t *list = json_object_get(doc, "patterns");
	struct err err = ERR_INIT;
	int i;

	for (i = 0; i <= KERNEL_PATTERNS_MAX; i++)
		json_array_append_new(list, json_object());
	CHECK_EQ(kernel_rules_take_patterns(&rules, doc, "f.yaml", &err), -EINVAL);
	CHECK_HAS(err.msg, "f.yaml: patterns: 257 rows, more than 256");
}

static void long_captures_are_cut(void)
{
	CLEANUP(json_freep)
	json_t *doc = json_pack("{s:i, s:[{s:s, s:s, s:s, s:s, s:i, s:s}]}", "v", 1, "patterns",
				"name", "a", "match", "dev (x+)", "severity", "warn", "code",
				"c:\\1\\1", "subject", 1, "note", "n");
	CLEANUP(kernel_rules_release) struct kernel_rules rules = { 0 };
	struct kernel_match m = { 0 };
	char line[4096] = "dev ";

	memset(line + 4, 'x', sizeof(line) - 5);
	CHECK_EQ(kernel_rules_take_patterns(&rules, doc, "f.yaml", NULL), 0);
	CHECK(kernel_match_line(&rules, line, &m));
	CHECK_EQ(strlen(m.code), KERNEL_CODE_SIZE - 1);
	CHECK(strlen(m.subject) > 0 && strlen(m.subject) < KERNEL_SUBJECT_SIZE);
}

static const struct test tests[] = {
	TEST(each_line_means_what_the_table_says),
	TEST(the_text_of_a_pattern_is_in_all_it_matches),
	TEST(only_the_named_xids_are_fatal),
	TEST(the_text_every_match_contains_is_found),
	TEST(a_malformed_pattern_file_names_the_place),
	TEST(a_malformed_xid_table_names_the_place),
	TEST(too_many_patterns_are_refused),
	TEST(long_captures_are_cut),
};

TEST_SUITE(tests);

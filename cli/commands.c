/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/setup.h"
#include "cli/view.h"
#include "lib/base/xalloc.h"

const struct command commands[] = {
	{ .group = "Look at the fleet",
	  .words = { "nodes" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_VERDICT) |
		     OPTION_BIT(OPTION_STALE) | OPTION_BIT(OPTION_CORDONED) | OPTIONS_WHICH,
	  .summary = "list hosts and their verdicts, worst first",
	  .description =
		  "One row per host, worst first, and one sentence about all of them.\n\n"
		  "SERVICE says whether jobs start on the host: in service, cordoned (and by "
		  "whom), held for a test, not ready, unverified (it has not passed a test "
		  "since it joined), or in service with a silence or an override and when that "
		  "ends. A host that stopped reporting is inconclusive, whatever it was before. "
		  "AGENT says whether its daemon is connected; suspect means that the "
		  "connection was lost, and has no effect by itself. On a narrow terminal "
		  "AGENT, SKU and SEEN are left out first.",
	  .examples = { { "assayctl nodes --cordoned",
			  "hosts out of service, and who took them out" },
			{ "assayctl nodes --watch", "redrawn whenever something changes" },
			{ "assayctl nodes -o json | jq -r '.items[].node'",
			  "host names for a script" } },
	  .view = &view_nodes },
	{ .words = { "node" },
	  .argument = { "NODE", ARGUMENT_NODE },
	  .options = OPTIONS_LINK,
	  .summary = "show one host",
	  .description =
		  "Its verdict, its hardware and software, where it differs from most hosts of "
		  "its SKU, and the verdicts of its last reports.",
	  .examples = { { "assayctl node gpu-17", "that host" } },
	  .view = &view_node },
	{ .words = { "why" },
	  .argument = { "NODE", ARGUMENT_NODE },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_SUBJECT),
	  .summary = "explain a host's verdict, ready for a ticket",
	  .description =
		  "Text to paste into a ticket: the culprit first, then for each finding what "
		  "was measured, what it was compared with, how often it was bad and what would "
		  "clear it; then what could not be measured, and a description of the host.",
	  .examples = { { "assayctl why gpu-17", "the text" },
			{ "assayctl why gpu-17 --subject 'gpu 3'", "one GPU of it" },
			{ "assayctl why gpu-17 -o kv | grep sentence", "only the sentences" } },
	  .view = &view_why },
	{ .words = { "incidents" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_ALL) |
		     OPTION_BIT(OPTION_NODE),
	  .summary = "list what has been bad often enough to act on",
	  .description =
		  "Open incidents, newest first. An incident is one check on one host that was "
		  "bad in as many of its last runs as the policy requires, or fatal once. ASKS "
		  "FOR is the action that the policy's rule requests.",
	  .examples = { { "assayctl incidents", "open incidents" },
			{ "assayctl incidents --all --node gpu-17", "the history of one host" } },
	  .view = &view_incidents },
	{ .words = { "baselines" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_SKU),
	  .summary = "list the values that hosts of a SKU reach",
	  .description =
		  "Other hosts are judged by these values. For each check and each set of "
		  "parameters: the median over hosts that are not suspected of anything, one "
		  "value per host, learned since the controller started.",
	  .examples = { { "assayctl baselines --sku hgx-h100", "for one model of host" } },
	  .view = &view_baselines },
	{ .words = { "drift" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_SKU) |
		     OPTION_BIT(OPTION_NODE),
	  .summary = "list hosts set up differently from most of their SKU",
	  .description =
		  "Driver, firmware, kernel, BIOS and other settings on which the hosts of a "
		  "SKU differ: what most have, and which hosts have something else. Hosts that "
		  "stopped reporting are left out.",
	  .examples = { { "assayctl drift", "everything" },
			{ "assayctl drift --node gpu-17", "where one host differs" } },
	  .view = &view_drift },
	{ .words = { "actions" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_NODE),
	  .summary = "list what was done, by whom, and what was refused",
	  .description =
		  "What Assay and its operators did to hosts, newest first. STATE is done, "
		  "under way, failed, dropped (the reason went away before it was done), "
		  "refused (the text names the budget or rule) or dry-run (nothing was touched; "
		  "in mode enforce it would have been done).",
	  .examples = { { "assayctl actions --watch", "as it happens" },
			{ "assayctl actions --node gpu-17", "the history of one host" } },
	  .view = &view_actions },
	{ .group = "Take hosts out of service and put them back",
	  .words = { "cordon" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_HOSTS | OPTION_BIT(OPTION_BREAK_GLASS),
	  .needs = OPTION_BIT(OPTION_REASON),
	  .summary = "take hosts out of service",
	  .description =
		  "No new job starts on a cordoned host; running jobs continue. A cordon by hand "
		  "counts against the budgets: when one is used up, the cordon is refused, and "
		  "the message names the budget and what would allow it. --break-glass cordons "
		  "anyway and records who did it. Cordoning a host twice changes nothing.\n\n"
		  "Name one or more hosts, or select them with --selector, --rack, --sku or "
		  "--file. On a terminal you are asked before more than one is changed. The "
		  "hosts are cordoned one after the other, in that order; a budget that is used "
		  "up ends the run.",
	  .examples = { { "assayctl cordon gpu-17 --reason 'fan 3, ticket 812'",
			  "until someone uncordons it" },
			{ "assayctl cordon --rack r12 -r 'PDU swap' --dry-run",
			  "what cordoning a rack would do" },
			{ "assayctl cordon gpu-17 -r 'burning' --break-glass",
			  "whatever the budgets say" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/cordon",
	  .done = "cordoned",
	  .undo = "assayctl uncordon {} --reason ..." },
	{ .words = { "uncordon" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_HOSTS,
	  .needs = OPTION_BIT(OPTION_REASON),
	  .summary = "put hosts back into service",
	  .description =
		  "Assay does not cordon the host again for anything known about it now, until "
		  "the override that this sets ends; a new fatal finding may still cordon it. A "
		  "cordon that is not Assay's is never lifted: the message says whose it is.",
	  .examples = { { "assayctl uncordon gpu-17 --reason 'cable replaced'", "back to work" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/uncordon",
	  .done = "back in service",
	  .apart = true,
	  .undo = "assayctl cordon {} --reason ..." },
	{ .words = { "repair-done" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_HOSTS,
	  .summary = "report a repair: test the host, then release it",
	  .description =
		  "The host is tested, and goes back into service when it passes. A replaced "
		  "part is recognized by its serial number and starts with a clean history. For "
		  "a host in service, past findings are dropped, and so are parts that were "
		  "removed on purpose: its next runs decide.",
	  .examples = { { "assayctl repair-done gpu-17 --reason 'GPU 3 replaced, RMA 9912'",
			  "after the visit" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/repair-done",
	  .done = "recorded as repaired",
	  .apart = true },
	{ .words = { "burn" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_HOSTS,
	  .summary = "load hosts at full power for minutes",
	  .description = "A host that is out of service and runs no job loads all of its GPUs and "
			 "NVLinks for five minutes and shows which become slow or hot. Two hosts "
			 "of a rack burn at once, started ten seconds apart; the others wait. "
			 "Burns still waiting when the controller restarts must be ordered again.",
	  .examples = { { "assayctl burn gpu-17 --reason 'fan 3 replaced'",
			  "then: assayctl node gpu-17" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/burn",
	  .done = "ordered to burn" },
	{ .words = { "override", "list" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_NODE),
	  .summary = "list overrides in effect",
	  .description = "One row per host that is kept in service, by an override or because "
			 "someone uncordoned it: until when, who asked for it, and why.",
	  .examples = { { "assayctl override list", "all of them" } },
	  .view = &view_overrides },
	{ .words = { "override", "end" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_HOSTS,
	  .summary = "end an override now",
	  .description =
		  "From now on Assay may cordon the host again. Ending an override that does "
		  "not exist changes nothing.",
	  .examples = { { "assayctl override end gpu-17", "the benchmark is over" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/override",
	  .done = "no longer overridden",
	  .apart = true,
	  .ends = true },
	{ .words = { "override" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_HOSTS | OPTION_BIT(OPTION_UNTIL) | OPTION_BIT(OPTION_FOR),
	  .one_of = OPTION_BIT(OPTION_UNTIL) | OPTION_BIT(OPTION_FOR),
	  .summary = "keep hosts in service until a time",
	  .description =
		  "Until then Assay does not cordon the host for anything known about it now. "
		  "Incidents are still opened and shown. The reason is optional and recorded.",
	  .examples = { { "assayctl override gpu-17 --for 12h -r lab", "for 12 hours from now" },
			{ "assayctl override gpu-17 --until 2026-11-22T08:00:00Z", "UTC" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/override",
	  .done = "kept in service",
	  .apart = true },
	{ .words = { "silence", "list" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_NODE),
	  .summary = "list silences in effect",
	  .description = "One row per silenced host: until when, who asked for it, and why.",
	  .examples = { { "assayctl silence list", "all of them" } },
	  .view = &view_silences },
	{ .words = { "silence", "end" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_HOSTS,
	  .summary = "end a silence now",
	  .description = "From now on findings on the host count again. Ending a silence that does "
			 "not exist changes nothing.",
	  .examples = { { "assayctl silence end gpu-17", "the firmware has been updated" },
			{ "assayctl silence end --rack r12 --yes", "a whole rack" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/silence",
	  .done = "no longer silenced",
	  .apart = true,
	  .ends = true },
	{ .words = { "silence" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_HOSTS | OPTION_BIT(OPTION_FOR),
	  .needs = OPTION_BIT(OPTION_REASON) | OPTION_BIT(OPTION_FOR),
	  .summary = "ignore a host's findings for a while",
	  .description =
		  "For planned work: findings on the host are still recorded and shown, but "
		  "neither cordon it nor count for the breaker. A silence ends by itself, or "
		  "with `silence end`.",
	  .examples = { { "assayctl silence gpu-17 --for 4h --reason 'firmware update'",
			  "during maintenance" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/silence",
	  .done = "silenced",
	  .apart = true },
	{ .words = { "breaker", "reset" },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON),
	  .needs = OPTION_BIT(OPTION_REASON),
	  .summary = "allow cordons again after the breaker opened",
	  .description = "First find out why it opened: `assayctl breaker` says so. Reports from "
			 "before the reset no longer lead to a cordon.",
	  .examples = { { "assayctl breaker reset --reason 'bad SKU file, reverted'",
			  "once the cause is gone" } },
	  .view = &view_act,
	  .post = "/v1/breaker/reset" },
	{ .words = { "breaker" },
	  .options = OPTIONS_LINK,
	  .summary = "show the breaker and the budgets",
	  .description =
		  "Whether the breaker is open, why and since when, and how much of each budget "
		  "is used. All hosts out of service count: those cordoned by Assay, those "
		  "cordoned by others and those that are not ready. An open breaker blocks "
		  "cordons, never releases.",
	  .examples = { { "assayctl breaker", "before the first coffee" } },
	  .view = &view_breaker },
	{ .words = { "coverage" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_NODE),
	  .summary = "list hosts whose last thorough test is too old",
	  .description =
		  "Hosts whose last run of profile full is older than the policy's "
		  "coverage.max_age, oldest first. They are tested in turn: a test takes the "
		  "host out of service for a while and counts against the budgets.",
	  .examples = { { "assayctl coverage", "which hosts are next" } },
	  .view = &view_coverage },
	{ .words = { "evidence" },
	  .argument = { "NODE", ARGUMENT_NODE },
	  .options = OPTIONS_LINK,
	  .summary = "collect everything known about a host, for a vendor's ticket",
	  .description =
		  "A single text: what `why` says, parts and their serial numbers, what was done, "
		  "incidents, kernel log lines, the last reports and every sample of the newest "
		  "runs. -o json also has the topology.",
	  .examples = { { "assayctl evidence gpu-17 > gpu-17.txt", "to attach" },
			{ "assayctl evidence gpu-17 -o json | gzip > gpu-17.json.gz",
			  "every number" } },
	  .view = &view_evidence },
	{ .group = "Find what slows jobs down",
	  .words = { "jobs" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT),
	  .summary = "list jobs that sent traces, and what slows them down",
	  .description =
		  "One row per job, those that need attention first. SLOWDOWN is how many times "
		  "as long a step takes as it would without stragglers; every job has some. "
		  "CAUSE is compute, link, fabric or launch when hosts are to blame, or a "
		  "property of the job: seqlen, stage, gc.\n\n"
		  "STATE is waiting (nothing analysed yet), healthy, slow (but no host is to "
		  "blame), lapsed (a host was suspected, but not lately), acquitted (a host was "
		  "suspected, and its tests clear it), owner informed, watched (a host was "
		  "suspected in one window), suspected (in as many windows as the policy "
		  "requires) or rejected (the last trace could not be judged). A suspect is a "
		  "host to test, not a bad host.",
	  .examples = { { "assayctl jobs", "what is slow" },
			{ "assayctl jobs -o json | jq -r '.items[].suspect // empty'",
			  "hosts to test" } },
	  .view = &view_jobs },
	{ .words = { "job", "submit" },
	  .argument = { "TRACE", ARGUMENT_FILE },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_JOB) | OPTION_BIT(OPTION_META) |
		     OPTION_BIT(OPTION_RUN) | OPTION_BIT(OPTION_PART) | OPTION_BIT(OPTION_AGES) |
		     OPTION_BIT(OPTION_WAIT),
	  .needs = OPTION_BIT(OPTION_JOB),
	  .summary = "send a job's trace, to learn what slows it down",
	  .description =
		  "TRACE is what assay-attribute reads: optrace/1 (assay-optrace makes it from "
		  "profiles) or CSV with --meta, plain, gzip or zstd, at most 32 MiB; - is "
		  "standard input. It should hold some ten complete steps of all ranks; each "
		  "trace is a window of the job. A trace sent twice counts once.\n\n"
		  "Without --ages the time of its steps is unknown: the trace may then lead to "
		  "a test of a host, but to nothing more. When the controller is busy, assayctl "
		  "retries as long as --timeout or --wait allow.",
	  .examples = { { "assayctl job submit t.zst --job llm-7 --ages 900,12",
			  "15 minutes of steps" },
			{ "assayctl job submit t.csv --meta m.yaml --job moe-2 --wait",
			  "and show the job" },
			{ "assay-optrace pytorch *.json | assayctl job submit - --job x",
			  "from profiles" } },
	  .view = &view_submit },
	{ .words = { "job", "beat" },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_JOB) | OPTION_BIT(OPTION_RUN) |
		     OPTION_BIT(OPTION_STEP) | OPTION_BIT(OPTION_SECONDS) | OPTION_BIT(OPTION_AGE) |
		     OPTION_BIT(OPTION_DONE),
	  .needs = OPTION_BIT(OPTION_JOB) | OPTION_BIT(OPTION_STEP),
	  .summary = "report the last step that a job completed",
	  .description =
		  "Sent every 10 to 60 s, it shows whether the job makes progress, how long its "
		  "steps take, and when they become slower; when the job stalls, its owner is "
		  "told. A job can do it itself in ten lines (docs/jobs.md, 10); this command "
		  "is for launchers.",
	  .examples = { { "assayctl job beat --job research/llm-7 --step 1204 --age 3",
			  "it ended 3 s ago" },
			{ "assayctl job beat --job llm-7 --step 9000 --done", "the last one" } },
	  .view = &view_beat },
	{ .words = { "job" },
	  .argument = { "NAME", ARGUMENT_JOB },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_WINDOWS) |
		     OPTION_BIT(OPTION_RANKS) | OPTION_BIT(OPTION_EXCLUDE_AS),
	  .summary = "show what slows one job down, how sure that is, and what happens next",
	  .description =
		  "The slowdown of each worker as a heat map; then the suspects and what "
		  "replacing them would gain (with 95 % intervals), the cause, the decision and "
		  "its reason, and the latest windows. NAME is a name or an id from `assayctl "
		  "jobs`.\n\n"
		  "share is the part of the lost time that would come back if the suspect were "
		  "as fast as the others; gain is the same as a fraction of a step. `slowest` "
		  "instead of `suspect`: some host is always the slowest, and this one is not slow "
		  "enough to say more.\n\nprediction is how long a step takes once the suspects "
		  "are replaced, and when a restart has paid for itself; verified is what the next "
		  "run measured; advice is what the job's driver was told, and whether it "
		  "answered.\n\nWith --ranks: where each rank of a hung job is, according to its "
		  "hosts: the last collective, in which group, and which ranks it waits for; those "
		  "that have stopped come first. With more than 64 ranks, those that do the same "
		  "share a row; -o wide lists each.",
	  .examples = { { "assayctl job research/llm-7", "the job" },
			{ "assayctl job j12 --ranks", "which rank has stopped it" },
			{ "sbatch $(assayctl job j12 --exclude-as slurm) train.sh",
			  "restart it without the hosts that slow it down" } },
	  .view = &view_job },
	{ .words = { "plan" },
	  .argument = { "JOB", ARGUMENT_JOB },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_WITHOUT) | OPTION_BIT(OPTION_STEPS),
	  .summary = "show what would help a job, what it costs, and when it pays",
	  .description =
		  "Every remedy that its last window or the controller offers: replacing hosts, "
		  "continuing without a replica, redistributing micro-batches, and what its owner "
		  "can do. STEP is how long a step then takes; PAYS AFTER is when the gain has "
		  "made up for the cost (with 95 % intervals).\n\nSURE: exact is a simulation of "
		  "the trace with just that changed; model is a model of its pipelines; bound is "
		  "the most that it can gain.\n\nWith --steps, the best over the remaining steps "
		  "comes first. Without it the cheapest does, and the line below says what to do "
		  "now: a remedy is worth its cost once the job has lost that much.\n\nThis "
		  "command changes nothing, and no host stays in service because of it.",
	  .examples = { { "assayctl plan research/llm-7", "what would help it" },
			{ "assayctl plan research/llm-7 --without gpu-17",
			  "what cordoning gpu-17 does to it" },
			{ "assayctl plan research/llm-7 --steps 20000 -o json", "for a program" } },
	  .view = &view_plan },
	{ .words = { "diagnose" },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_JOB) | OPTION_BIT(OPTION_REASON) |
		     OPTION_BIT(OPTION_YES),
	  .needs = OPTION_BIT(OPTION_JOB) | OPTION_BIT(OPTION_REASON),
	  .summary = "stop a job, test its hosts, and name those to leave out",
	  .description =
		  "The job's driver is advised to stop it; nothing is evicted. Once the job has "
		  "stopped, its hosts are tested one by one, then those that pass are tested "
		  "with each other, and the driver is advised to restart the job without the "
		  "bad hosts. What could not be determined is listed, with what would determine "
		  "it. A diagnosis is an investigation, and is shown and cancelled like one.\n\n"
		  "Unless the policy's mode for jobs is enforce, only the plan is shown. "
		  "Otherwise you are asked first, on standard error; no answer means no.",
	  .examples = { { "assayctl diagnose --job research/llm-7 -r 'step time up 12 %'",
			  "after a question" },
			{ "assayctl diagnose --job j12 -r 'ticket 812' --yes -o json",
			  "for a script" } },
	  .view = &view_diagnose },
	{ .words = { "investigations" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT),
	  .summary = "list investigations of hosts that slow jobs down",
	  .description =
		  "Newest first. STATE is open (a suspect waits for its test), testing, evict "
		  "(job and test agree: the policy is asked to cordon it), cordoned, replaced "
		  "(the job runs on without it), verified (as fast as predicted), excluded (a "
		  "diagnosis: restart without some hosts), acquitted (tested, and clean), owner "
		  "(the job slows itself down), watch (nothing for now) or withdrawn; the text "
		  "says "
		  "why.",
	  .examples = { { "assayctl investigations --watch", "as they progress" } },
	  .view = &view_investigations },
	{ .words = { "investigation", "cancel" },
	  .argument = { "ID", ARGUMENT_ID },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON),
	  .needs = OPTION_BIT(OPTION_REASON),
	  .summary = "cancel an investigation",
	  .description =
		  "Its hosts are no longer tested because of this job until the policy's "
		  "jobs.acquit.for has passed; a test that was ordered ends, and a host not yet "
		  "cordoned stays in service. A host already cordoned stays so: uncordon it. "
		  "Cancelling twice changes nothing. ID may also stand before cancel.",
	  .examples = { { "assayctl investigation 41 cancel -r 'the rack is being moved'",
			  "before a rack is moved" } },
	  .view = &view_act,
	  .post = "/v1/investigations/{}/cancel",
	  .word_last = true },
	{ .words = { "investigation" },
	  .argument = { "ID", ARGUMENT_ID },
	  .options = OPTIONS_LINK,
	  .summary = "show one investigation: hosts, tests, decision",
	  .description = "Why it began, what became of each host, which tests were ordered and how "
			 "they ended, the progress of a diagnosis, the last decision, and who "
			 "cancelled it.",
	  .examples = { { "assayctl investigation 41", "its state" },
			{ "assayctl investigation 41 --watch", "until it is over" } },
	  .view = &view_investigation },
	{ .words = { "campaign", "start" },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON) | OPTION_BIT(OPTION_DOMAIN) |
		     OPTION_BIT(OPTION_NODES) | OPTION_BIT(OPTION_KIND) |
		     OPTION_BIT(OPTION_MEMORY) | OPTION_BIT(OPTION_ENGINE) | OPTION_BIT(OPTION_PLAN),
	  .needs = OPTION_BIT(OPTION_REASON),
	  .summary = "test hosts with each other, to find what slows collectives down",
	  .description =
		  "Hosts are measured in pairs, then each suspect with a known-good host, until "
		  "the "
		  "slow host, rail or switch is known. Only hosts that passed their own tests, "
		  "are idle and are connected take part. A host found slow gets a finding like "
		  "any other; a switch, or an undecided result, cordons nothing.",
	  .examples = { { "assayctl campaign start --domain leaf-3 -r 'job 812 is slow'",
			  "all below a switch" },
			{ "assayctl campaign start --nodes gpu-1,gpu-2,gpu-3 -r 'new cable'",
			  "these hosts" },
			{ "assayctl campaign start --domain leaf-3 --memory gpu -r 'GPUDirect'",
			  "between the memories of GPUs" } },
	  .view = &view_act,
	  .post = "/v1/campaigns" },
	{ .words = { "campaign", "list" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT),
	  .summary = "list tests of hosts with each other, and their results",
	  .description =
		  "Newest first. STATE is running, done, or abandoned (the controller restarted "
		  "meanwhile).",
	  .examples = { { "assayctl campaign list --watch", "as they progress" } },
	  .view = &view_campaigns },
	{ .words = { "campaign", "show" },
	  .argument = { "ID", ARGUMENT_ID },
	  .options = OPTIONS_LINK,
	  .summary = "show the rounds of a campaign, and the culprit",
	  .description =
		  "Each group of each round with its result or why it did not run, the hosts "
		  "left out, and one sentence that names the culprit.",
	  .examples = { { "assayctl campaign show 7", "its rounds" },
			{ "assayctl campaign show 7 --watch", "until it is done" } },
	  .view = &view_campaign },
	{ .group = "Set up a site",
	  .words = { "setup", "controller" },
	  .options = OPTION_BIT(OPTION_DIR) | OPTION_BIT(OPTION_NAMES),
	  .summary = "create what a site's controller needs",
	  .description =
		  "Run as root on the controller's host: creates a certificate authority, a "
		  "certificate for the controller, an admin token and a commented "
		  "controller.yaml in /etc/assay. Never overwrites a file. Does not contact a "
		  "controller.",
	  .examples = { { "assayctl setup controller --names assay.example.com,10.0.0.5",
			  "the names clients use" } },
	  .run = setup_controller },
	{ .words = { "setup", "certificate" },
	  .options = OPTION_BIT(OPTION_DIR) | OPTION_BIT(OPTION_NAMES),
	  .summary = "create a new certificate for the controller, from the same CA",
	  .description =
		  "Before the old one expires, or for other names. Needs ca.key next to ca.pem. "
		  "Hosts need no change. Does not contact a controller.",
	  .examples = { { "assayctl setup certificate --names assay.example.com",
			  "then reload the controller" } },
	  .run = setup_certificate },
	{ .words = { "token", "create" },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_FOR) | OPTION_BIT(OPTION_HOSTS) |
		     OPTION_BIT(OPTION_NAMES) | OPTION_BIT(OPTION_REASON),
	  .summary = "create a token with which new hosts join",
	  .description =
		  "It expires after --for (default 1h, at most 24h) and admits --hosts hosts "
		  "whose names match --names. Each host gets its own token when it joins; a "
		  "name that already has one is refused until `token reset`. The join token is "
		  "shown once and not stored. Needs the role admin.",
	  .examples = { { "assayctl token create --hosts 2000 --names 'gpu-*' --for 4h",
			  "for a new hall" } },
	  .view = &view_token },
	{ .words = { "token", "list" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT),
	  .summary = "list join tokens, and how many hosts used them",
	  .description = "Newest first. STATE is valid, used up, expired or revoked.",
	  .examples = { { "assayctl token list", "all" } },
	  .view = &view_tokens },
	{ .words = { "token", "revoke" },
	  .argument = { "ID", ARGUMENT_ID },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON),
	  .summary = "revoke a join token",
	  .description = "Hosts that already joined with it stay. Needs the role admin.",
	  .examples = { { "assayctl token revoke 3", "that one" } },
	  .view = &view_act,
	  .post = "/v1/join-tokens/{}/revoke" },
	{ .words = { "token", "reset" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON) | OPTION_BIT(OPTION_YES),
	  .summary = "revoke a host's own token, so that it can join again",
	  .description =
		  "For a host that was reinstalled or replaced, or whose token may have leaked: "
		  "the old token is refused at once. Needs the role admin.",
	  .examples = { { "assayctl token reset gpu-17 -r 'new board'", "one host" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/reset-token",
	  .done = "without a token" },
	{ .words = { "join-command" },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_FOR) | OPTION_BIT(OPTION_HOSTS) |
		     OPTION_BIT(OPTION_NAMES) | OPTION_BIT(OPTION_REASON),
	  .summary = "print the command with which a host joins",
	  .description =
		  "Creates a join token as `token create` does, and prints only the command to "
		  "run on each host: it has the controller's address, the hash of its CA and "
		  "the join token.",
	  .examples = { { "assayctl join-command --hosts 3", "for three hosts" } },
	  .view = &view_join_command },
	{ .words = { "session", "list" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT),
	  .summary = "list who has the web page open",
	  .description =
		  "Newest first. STATE is open, idle (unused for an hour), over (12 hours old) "
		  "or token revoked; only an open one is let in.",
	  .examples = { { "assayctl session list", "all" } },
	  .view = &view_sessions },
	{ .words = { "session", "end" },
	  .argument = { "ID", ARGUMENT_ID },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON),
	  .summary = "end a session of the web page",
	  .description = "Its cookie is refused at once. Whoever has the token can log in again: "
			 "if it leaked, remove it from tokens.yaml too. Needs the role admin.",
	  .examples = { { "assayctl session end 3", "that one" } },
	  .view = &view_act,
	  .post = "/v1/sessions/{}/end" },
	{ .words = { "doctor" },
	  .options = OPTIONS_WHERE,
	  .summary = "check that this machine can work with the controller, and that the fleet is "
		     "protected",
	  .description =
		  "One line per check, with the one thing to do where something is wrong: "
		  "the controller's address, the token and the authority, and where each came "
		  "from; "
		  "whether it answers, its certificate, the clocks, what this token may do; its "
		  "mode and policy, what keeps it from acting now, hosts that stopped reporting, "
		  "and the cluster. Changes nothing. On a GPU host: assay doctor.",
	  .examples = { { "assayctl doctor", "exit status 1: something is bad" } },
	  .run = doctor_run },
	{ .group = "Policies, and your shell",
	  .words = { "policy", "check" },
	  .argument = { "FILE", ARGUMENT_FILE },
	  .summary = "check a policy file, and say what it means",
	  .description = "Reads a policy file as the controller would and explains it in words. An "
			 "error is one line that names the place. Does not contact a controller.",
	  .examples = { { "assayctl policy check /etc/assay/policy.yaml", "before a reload" } },
	  .run = run_policy_check },
	{ .words = { "policy", "replay" },
	  .argument = { "FILE", ARGUMENT_FILE },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_SINCE),
	  .needs = OPTION_BIT(OPTION_SINCE),
	  .summary = "show what a policy would have done",
	  .description =
		  "The controller replays its history of reports with this policy as if its "
		  "mode were enforce, and lists what each rule would have done to which host, "
		  "and what each budget would have refused. Nothing is done, and the policy in "
		  "effect does not change.",
	  .examples = { { "assayctl policy replay new.yaml --since 7d", "before rolling it out" } },
	  .check = check_policy,
	  .view = &view_replay },
	{ .words = { "completion" },
	  .argument = { "SHELL", ARGUMENT_SHELL },
	  .summary = "print shell completion for bash, zsh or fish",
	  .description = "Prints a script for the shell. Host names are completed by asking the "
			 "controller in ASSAY_CONTROLLER.",
	  .examples = { { "source <(assayctl completion bash)", "in ~/.bashrc" } },
	  .run = run_completion },
	{ .words = { "man" },
	  .summary = "the manual page",
	  .description = "",
	  .run = run_manual,
	  .hidden = true },
	{ .words = { NULL } },
};

char *command_name(const struct command *command)
{
	return xasprintf("%s%s%s", command->words[0], command->words[1] ? " " : "",
			 command->words[1] ? command->words[1] : "");
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/setup.h"
#include "cli/view.h"
#include "lib/base/xalloc.h"

const struct command commands[] = {
	{ .words = { "nodes" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_VERDICT) |
		     OPTION_BIT(OPTION_STALE) | OPTION_BIT(OPTION_SKU) | OPTION_BIT(OPTION_CORDONED),
	  .summary = "every host and what it is judged to be",
	  .description =
		  "One row a host, the worst first, and one sentence over all of them.\n\n"
		  "A host that stopped reporting is inconclusive, whatever it was before. AGENT "
		  "says whether its daemon is connected; suspect means that it went away, which "
		  "condemns nobody. SERVICE says whether jobs start on it, who keeps it from "
		  "that, and until when a silence or an override keeps it in.",
	  .examples = { { "assayctl nodes --cordoned", "those out of service, and by whom" },
			{ "assayctl nodes --watch", "the fleet, redrawn as it changes" },
			{ "assayctl nodes -o json | jq -r '.items[].node'",
			  "names for a script" } },
	  .view = &view_nodes },
	{ .words = { "node" },
	  .argument = { "NODE", ARGUMENT_NODE },
	  .options = OPTIONS_LINK,
	  .summary = "what is known of one host",
	  .description = "Its verdict, what it is, what differs from most of its SKU, and what "
			 "its last reports were judged to be.",
	  .examples = { { "assayctl node gpu-17", "the host" } },
	  .view = &view_node },
	{ .words = { "why" },
	  .argument = { "NODE", ARGUMENT_NODE },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_SUBJECT),
	  .summary = "why a host is judged so, for a ticket",
	  .description =
		  "A text to paste into a ticket: the culprit first, then for each finding what "
		  "was seen, against what, how often and what would clear it, then what could not "
		  "be measured, and what this host is.",
	  .examples = { { "assayctl why gpu-17", "the text" },
			{ "assayctl why gpu-17 --subject 'gpu 3'", "one GPU of it" },
			{ "assayctl why gpu-17 -o kv | grep sentence", "its sentences" } },
	  .view = &view_why },
	{ .words = { "incidents" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_ALL) |
		     OPTION_BIT(OPTION_NODE),
	  .summary = "what has been bad often enough to act on",
	  .description =
		  "Open incidents, newest first. An incident is one check of one host that was "
		  "bad in as many of its last runs as the policy asks for, or fatal once. ASKS FOR "
		  "is what the policy's rule would do.",
	  .examples = { { "assayctl incidents", "what is open" },
			{ "assayctl incidents --all --node gpu-17", "the past of one host" } },
	  .view = &view_incidents },
	{ .words = { "baselines" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_SKU),
	  .summary = "what hosts of a SKU reach, which others are judged by",
	  .description = "For each check and each set of parameters the median over hosts that "
			 "nobody suspects, one value a host, learnt since the controller started.",
	  .examples = { { "assayctl baselines --sku hgx-h100", "of one model of host" } },
	  .view = &view_baselines },
	{ .words = { "drift" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_SKU) |
		     OPTION_BIT(OPTION_NODE),
	  .summary = "who is not set up as most hosts of the SKU",
	  .description = "Driver, firmware, kernel, BIOS and other settings that not all hosts of "
			 "a SKU share: what most have, and who has what instead. Hosts that "
			 "stopped reporting are left out.",
	  .examples = { { "assayctl drift", "all of it" },
			{ "assayctl drift --node gpu-17", "where one host differs" } },
	  .view = &view_drift },
	{ .words = { "actions" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_NODE),
	  .summary = "what was done, by whom, and what was refused",
	  .description =
		  "What Assay and its operators did to hosts, newest first. STATE is done, under "
		  "way, failed, dropped (its reason was gone before it was done), refused (the "
		  "sentence says by which budget or rule) or dry-run: nothing was touched, and "
		  "would have been in mode enforce.",
	  .examples = { { "assayctl actions --watch", "as it happens" },
			{ "assayctl actions --node gpu-17", "the past of one host" } },
	  .view = &view_actions },
	{ .words = { "cordon" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON) | OPTION_BIT(OPTION_BREAK_GLASS),
	  .needs = OPTION_BIT(OPTION_REASON),
	  .summary = "take a host out of service",
	  .description =
		  "No new job starts on the host; what runs there runs on. It counts against the "
		  "budgets like any other: when one is used up the answer is no, with the budget "
		  "and what would allow it. With --break-glass it is done all the same, and kept "
		  "with who did it. Done already, it says so and nothing changes.",
	  .examples = { { "assayctl cordon gpu-17 --reason 'fan 3, ticket 812'",
			  "until somebody releases it" },
			{ "assayctl cordon gpu-17 gpu-18 gpu-19 -r 'rack 3 is dead'",
			  "several, each as if it stood alone" },
			{ "assayctl cordon gpu-17 -r 'burning' --break-glass",
			  "whatever the budgets say" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/cordon",
	  .undo = "assayctl uncordon {} --reason ..." },
	{ .words = { "uncordon" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON),
	  .needs = OPTION_BIT(OPTION_REASON),
	  .summary = "give a host back",
	  .description =
		  "An order: Assay does not take the host out again for what is known of it now, "
		  "until the override ends that the answer names; something new and fatal may. A "
		  "cordon that is not Assay's is never lifted: the answer says whose it is.",
	  .examples = { { "assayctl uncordon gpu-17 --reason 'cable replaced'", "back to work" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/uncordon",
	  .undo = "assayctl cordon {} --reason ..." },
	{ .words = { "repair-done" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON),
	  .summary = "a host was repaired: verify it, then release it",
	  .description =
		  "The host is tested, and released when the tests pass; until then it stays out "
		  "of service. What was swapped is known by its serial number: a new part begins "
		  "without the past of the old one. Of a host in service all that was found is "
		  "forgotten, and what was there and is meant to be gone: its next runs tell.",
	  .examples = { { "assayctl repair-done gpu-17 --reason 'GPU 3 replaced, RMA 9912'",
			  "after the visit" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/repair-done" },
	{ .words = { "override" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON) | OPTION_BIT(OPTION_UNTIL) |
		     OPTION_BIT(OPTION_FOR),
	  .one_of = OPTION_BIT(OPTION_UNTIL) | OPTION_BIT(OPTION_FOR),
	  .summary = "keep a host in service until a time",
	  .description =
		  "Until then Assay does not take the host out of service for what it knows now. "
		  "Incidents are opened and told as ever. --for 0s ends it.",
	  .examples = { { "assayctl override gpu-17 --until 12h -r 'benchmark tonight'",
			  "from now on" },
			{ "assayctl override gpu-17 --until 2026-11-22T08:00:00Z", "UTC" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/override" },
	{ .words = { "silence" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON) | OPTION_BIT(OPTION_FOR),
	  .needs = OPTION_BIT(OPTION_REASON) | OPTION_BIT(OPTION_FOR),
	  .summary = "take a host's findings as known for a while",
	  .description =
		  "For planned work: what is found on the host meanwhile is kept and shown, and "
		  "neither cordons it nor counts for the breaker. It ends by itself, or with --for "
		  "0s.",
	  .examples = { { "assayctl silence gpu-17 --for 4h --reason 'firmware update'",
			  "for a maintenance" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/silence" },
	{ .words = { "breaker", "reset" },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON),
	  .needs = OPTION_BIT(OPTION_REASON),
	  .summary = "let cordons happen again after the breaker opened",
	  .description =
		  "First find out why it opened: `assayctl breaker` says it. What was reported "
		  "before the reset does not count for a cordon any more.",
	  .examples = { { "assayctl breaker reset --reason 'bad SKU file, reverted'",
			  "when the cause is gone" } },
	  .view = &view_act,
	  .post = "/v1/breaker/reset" },
	{ .words = { "breaker" },
	  .options = OPTIONS_LINK,
	  .summary = "may a host be cordoned now, and how many more?",
	  .description =
		  "Whether the breaker is open, why and since when, and each budget with what is "
		  "used of it. All hosts out of service count: ours, those of others and those "
		  "that are not ready. An open breaker blocks cordons and never a release.",
	  .examples = { { "assayctl breaker", "before the first coffee" } },
	  .view = &view_breaker },
	{ .words = { "coverage" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_NODE),
	  .summary = "who was not tested thoroughly for too long",
	  .description =
		  "Hosts whose last run of the full profile is older than coverage.max_age of "
		  "the policy, the oldest first. Each waits for its turn: a test takes the "
		  "host out of service for a while, under a hold within the budgets.",
	  .examples = { { "assayctl coverage", "whose turn it is" } },
	  .view = &view_coverage },
	{ .words = { "evidence" },
	  .argument = { "NODE", ARGUMENT_NODE },
	  .options = OPTIONS_LINK,
	  .summary = "all that is known of a host, for a vendor's ticket",
	  .description =
		  "One text: what `why` says, the parts with what is written on them, what was "
		  "done, incidents, lines of the kernel log, the last reports and every sample of "
		  "the newest runs. With -o json one document that has the topology too.",
	  .examples = { { "assayctl evidence gpu-17 > gpu-17.txt", "to attach" },
			{ "assayctl evidence gpu-17 -o json | gzip > gpu-17.json.gz",
			  "every number" } },
	  .view = &view_evidence },
	{ .words = { "jobs" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT),
	  .summary = "the jobs that sent a trace, and who slows them",
	  .description =
		  "One row a job, those first that want somebody. SLOWDOWN is how many times as "
		  "long a step takes as it would without stragglers; every job has some. CAUSE is "
		  "compute, link, fabric or launch where hosts are to blame, or what of the job "
		  "itself: seqlen, stage, gc.\n\n"
		  "STATE is waiting (nothing analysed yet), healthy, slow (and no host to blame), "
		  "lapsed (a host was suspected, and nothing has said so lately), acquitted (one "
		  "was, and its tests show that it is not to blame), owner informed, "
		  "watched (a host was suspected in one window), suspected (in as many as the "
		  "policy asks for) or rejected (the last trace could not be judged). "
		  "A suspect is a host to test, not a host that is bad.",
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
	  .summary = "send the trace of a job, to learn what slows it",
	  .description =
		  "TRACE is what assay-attribute reads: optrace/1 (assay-optrace makes it of "
		  "profiles) or CSV with --meta, plain, gzip or zstd, at most 32 MiB; - is "
		  "standard input. Some ten steps or more, whole on all ranks; each one is a "
		  "window of the job. Sent again, it counts once.\n\n"
		  "Without --ages nobody knows when its steps were: then it may lead to a test of "
		  "a host, never to more. When the controller is busy it is asked again, as long "
		  "as --timeout or --wait allow.",
	  .examples = { { "assayctl job submit t.zst --job llm-7 --ages 900,12",
			  "the steps of 15 minutes" },
			{ "assayctl job submit t.csv --meta m.yaml --job moe-2 --wait",
			  "and see the job" },
			{ "assay-optrace pytorch *.json | assayctl job submit - --job x",
			  "of profiles" } },
	  .view = &view_submit },
	{ .words = { "job", "beat" },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_JOB) | OPTION_BIT(OPTION_RUN) |
		     OPTION_BIT(OPTION_STEP) | OPTION_BIT(OPTION_SECONDS) | OPTION_BIT(OPTION_AGE) |
		     OPTION_BIT(OPTION_DONE),
	  .needs = OPTION_BIT(OPTION_JOB) | OPTION_BIT(OPTION_STEP),
	  .summary = "say which step of a job was its last",
	  .description =
		  "Sent each 10 to 60 s it shows whether the job takes steps, how long they take, "
		  "and when they grow; of one that stands still its owner is told. A job does it "
		  "by itself in ten lines (docs/jobs.md, 10); this is for launchers.",
	  .examples = { { "assayctl job beat --job research/llm-7 --step 1204 --age 3",
			  "it ended 3 s ago" },
			{ "assayctl job beat --job llm-7 --step 9000 --done", "the last one" } },
	  .view = &view_beat },
	{ .words = { "job" },
	  .argument = { "NAME", ARGUMENT_JOB },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT) | OPTION_BIT(OPTION_WINDOWS) |
		     OPTION_BIT(OPTION_EXCLUDE_AS),
	  .summary = "who slows one job, how sure that is, what comes of it",
	  .description =
		  "The slowdown of each worker as a heat map, then who is suspected and what "
		  "replacing it would gain, with intervals of 95 %, what the cause is, what is "
		  "decided and why, and the latest windows. NAME is a name or an id of `assayctl "
		  "jobs`.\n\n"
		  "share is the part of the loss that would go if the suspect were as fast as the "
		  "others, gain the part of a step. `slowest` instead of `suspect`: some host is "
		  "always the slowest, and this one is not slow enough to say more.\n\n"
		  "prediction is what a step takes once they are replaced, and when a restart has "
		  "paid; verified what the next run then took; advice what whoever started the job "
		  "was told, and whether he has answered.",
	  .examples = { { "assayctl job research/llm-7", "the job" },
			{ "assayctl job j12 --windows", "all that it sent" },
			{ "sbatch $(assayctl job j12 --exclude-as slurm) train.sh",
			  "start it without those that slow it" } },
	  .view = &view_job },
	{ .words = { "diagnose" },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_JOB) | OPTION_BIT(OPTION_REASON) |
		     OPTION_BIT(OPTION_YES),
	  .needs = OPTION_BIT(OPTION_JOB) | OPTION_BIT(OPTION_REASON),
	  .summary = "stop a job, test its hosts, say whom to leave out",
	  .description =
		  "Its driver is advised to stop it; nothing is evicted. Once it stands still, "
		  "each of its hosts is tested, then those that pass with each other, and its "
		  "driver is advised to start it again without those that are bad. What cannot be "
		  "told is said, with what would tell. It is an investigation: shown, and "
		  "withdrawn, as one.\n\n"
		  "Where the policy's mode for jobs is not enforce, only what would be done is "
		  "shown. Else a question is asked first, on standard error; no answer is no.",
	  .examples = { { "assayctl diagnose --job research/llm-7 -r 'step time up 12 %'",
			  "after a question" },
			{ "assayctl diagnose --job j12 -r 'ticket 812' --yes -o json",
			  "for a script" } },
	  .view = &view_diagnose },
	{ .words = { "investigations" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT),
	  .summary = "what is done about the hosts that slow jobs",
	  .description =
		  "Newest first. STATE is open (a suspect waits for its test), testing, evict (job "
		  "and test agree: the policy is asked to take it out), cordoned, replaced (the "
		  "job "
		  "runs on without it), verified (as fast as predicted), excluded (a diagnosis: "
		  "start it without some), acquitted (tested, and clean), owner (the job slows "
		  "itself), watch (nothing for now) or withdrawn: the "
		  "sentence says why.",
	  .examples = { { "assayctl investigations --watch", "as they go on" } },
	  .view = &view_investigations },
	{ .words = { "investigation", "cancel" },
	  .argument = { "ID", ARGUMENT_ID },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON),
	  .needs = OPTION_BIT(OPTION_REASON),
	  .summary = "withdraw an investigation",
	  .description =
		  "No test of its hosts is asked for because of this job any more, until "
		  "jobs.acquit.for of the policy has passed; one that was ordered ends, and a host "
		  "that it has not taken out yet stays in service. One that it has taken out stays "
		  "out: give it back with uncordon. Withdrawn already, it says so and nothing "
		  "changes. ID may also stand before cancel.",
	  .examples = { { "assayctl investigation 41 cancel -r 'the rack is being moved'",
			  "no more of it" } },
	  .view = &view_act,
	  .post = "/v1/investigations/{}/cancel",
	  .word_last = true },
	{ .words = { "investigation" },
	  .argument = { "ID", ARGUMENT_ID },
	  .options = OPTIONS_LINK,
	  .summary = "one investigation: its hosts, tests and decision",
	  .description =
		  "Why it was begun, what became of each host, which tests were ordered and what "
		  "came of them, how a diagnosis went on, the last decision, and who withdrew it.",
	  .examples = { { "assayctl investigation 41", "where it is" },
			{ "assayctl investigation 41 --watch", "until it is over" } },
	  .view = &view_investigation },
	{ .words = { "campaign", "start" },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON) | OPTION_BIT(OPTION_DOMAIN) |
		     OPTION_BIT(OPTION_NODES) | OPTION_BIT(OPTION_KIND) | OPTION_BIT(OPTION_PLAN),
	  .needs = OPTION_BIT(OPTION_REASON),
	  .summary = "test hosts with each other, to find who slows collectives",
	  .description =
		  "Hosts measure in pairs, each suspect then with somebody found good, until it is "
		  "known which host, rail or switch is slow. Only hosts that passed their own "
		  "tests, "
		  "are idle and hold a call for orders take part. A host that is named has a "
		  "finding "
		  "like any other; a switch, and what is undecided, takes no host out of service.",
	  .examples = { { "assayctl campaign start --domain leaf-3 -r 'job 812 is slow'",
			  "all below a switch" },
			{ "assayctl campaign start --nodes gpu-1,gpu-2,gpu-3 -r 'new cable'",
			  "these" } },
	  .view = &view_act,
	  .post = "/v1/campaigns" },
	{ .words = { "campaign", "list" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT),
	  .summary = "tests of hosts with each other, and what came of them",
	  .description = "Newest first. STATE is running, done, or abandoned: the controller was "
			 "started anew meanwhile.",
	  .examples = { { "assayctl campaign list --watch", "as they go on" } },
	  .view = &view_campaigns },
	{ .words = { "campaign", "show" },
	  .argument = { "ID", ARGUMENT_ID },
	  .options = OPTIONS_LINK,
	  .summary = "the rounds of a campaign, and who is named",
	  .description =
		  "Each group of each round with what it reached, why one did not run, who was "
		  "left out, and one sentence that names the culprit.",
	  .examples = { { "assayctl campaign show 7", "its rounds" },
			{ "assayctl campaign show 7 --watch", "until it is done" } },
	  .view = &view_campaign },
	{ .words = { "setup", "controller" },
	  .options = OPTION_BIT(OPTION_DIR) | OPTION_BIT(OPTION_NAMES),
	  .summary = "make what the controller of a site needs",
	  .description = "On the host of the controller, as root: a certificate authority, a "
			 "certificate for "
			 "the controller, a token with the role admin, and controller.yaml with "
			 "comments, in "
			 "/etc/assay. Nothing that is there is written over. Asks no controller.",
	  .examples = { { "assayctl setup controller --names assay.example.com,10.0.0.5",
			  "by these it is asked" } },
	  .run = setup_controller },
	{ .words = { "setup", "certificate" },
	  .options = OPTION_BIT(OPTION_DIR) | OPTION_BIT(OPTION_NAMES),
	  .summary = "make the controller another certificate, by the same authority",
	  .description = "Before the old one ends, or for other names: wants ca.key back beside "
			 "ca.pem. Hosts go on as they are. Asks no controller.",
	  .examples = { { "assayctl setup certificate --names assay.example.com",
			  "then reload the controller" } },
	  .run = setup_certificate },
	{ .words = { "token", "create" },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_FOR) | OPTION_BIT(OPTION_HOSTS) |
		     OPTION_BIT(OPTION_NAMES) | OPTION_BIT(OPTION_REASON),
	  .summary = "make a token by which new hosts join",
	  .description =
		  "It ends after --for (default 1h, at most 24h), lets in --hosts hosts, and only "
		  "those with --names. Each host makes a token of its own when it joins; a name "
		  "that speaks for a host already is refused, until token reset allows it. The "
		  "join token is shown once and kept nowhere. Wants the role admin.",
	  .examples = { { "assayctl token create --hosts 2000 --names 'gpu-*' --for 4h",
			  "for a new hall" } },
	  .view = &view_token },
	{ .words = { "token", "list" },
	  .options = OPTIONS_LINK | OPTION_BIT(OPTION_LIMIT),
	  .summary = "join tokens, and how many hosts joined by them",
	  .description = "Newest first. STATE is valid, used up, expired or revoked.",
	  .examples = { { "assayctl token list", "all" } },
	  .view = &view_tokens },
	{ .words = { "token", "revoke" },
	  .argument = { "ID", ARGUMENT_ID },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON),
	  .summary = "let no more hosts join by a token",
	  .description = "Hosts that joined by it stay. Wants the role admin.",
	  .examples = { { "assayctl token revoke 3", "that one" } },
	  .view = &view_act,
	  .post = "/v1/join-tokens/{}/revoke" },
	{ .words = { "token", "reset" },
	  .argument = { "NODE...", ARGUMENT_NODE, .many = true },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_REASON),
	  .summary = "void a host's own token, and let it join again",
	  .description =
		  "For a host that was reinstalled or replaced, or whose token may be known to "
		  "others: what bears the old token is refused at once. Wants the role admin.",
	  .examples = { { "assayctl token reset gpu-17 -r 'new board'", "one host" } },
	  .view = &view_act,
	  .post = "/v1/nodes/{}/reset-token" },
	{ .words = { "join-command" },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_FOR) | OPTION_BIT(OPTION_HOSTS) |
		     OPTION_BIT(OPTION_NAMES) | OPTION_BIT(OPTION_REASON),
	  .summary = "print the one line by which a host joins",
	  .description = "Makes a join token as token create does, and prints only the line to run "
			 "on each "
			 "host: it says where the controller is, the sum of its certificate "
			 "authority, and "
			 "the join token.",
	  .examples = { { "assayctl join-command --hosts 3", "for three hosts" } },
	  .view = &view_join_command },
	{ .words = { "policy", "check" },
	  .argument = { "FILE", ARGUMENT_FILE },
	  .summary = "is this a policy, and what does it come to?",
	  .description = "Reads a policy file as the controller would and says in words what it "
			 "comes to. Bad input is one line that names the place. Asks no "
			 "controller.",
	  .examples = { { "assayctl policy check /etc/assay/policy.yaml", "before a reload" } },
	  .run = run_policy_check },
	{ .words = { "policy", "replay" },
	  .argument = { "FILE", ARGUMENT_FILE },
	  .options = OPTIONS_CALL | OPTION_BIT(OPTION_SINCE),
	  .needs = OPTION_BIT(OPTION_SINCE),
	  .summary = "what would this policy have done?",
	  .description =
		  "The controller plays its history of reports through this policy as if its mode "
		  "were enforce, and says what each rule would have done to which host, and what "
		  "which budget would have refused. Nothing is done, and no policy changes.",
	  .examples = { { "assayctl policy replay new.yaml --since 7d",
			  "before it is rolled out" } },
	  .check = check_policy,
	  .view = &view_replay },
	{ .words = { "completion" },
	  .argument = { "SHELL", ARGUMENT_SHELL },
	  .summary = "completion of these commands: bash, zsh or fish",
	  .description = "Prints a script for the shell. Names of hosts are completed with what "
			 "the controller of ASSAY_CONTROLLER knows.",
	  .examples = { { "source <(assayctl completion bash)", "in ~/.bashrc" } },
	  .run = run_completion },
	{ .words = { "man" },
	  .summary = "the manual page",
	  .description = "",
	  .run = run_manual,
	  .hidden = true },
	{ .words = { NULL } },
};

const char *const commands_not_yet[] = { "plan", NULL };

char *command_name(const struct command *command)
{
	return xasprintf("%s%s%s", command->words[0], command->words[1] ? " " : "",
			 command->words[1] ? command->words[1] : "");
}

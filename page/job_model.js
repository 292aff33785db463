// SPDX-License-Identifier: Apache-2.0
/**
 * View model of a job: cells, the pattern as text, the gain of fixing parts. Pure: answers of the controller
 * (docs/openapi.yaml, assay-attribution-summary/1 in docs/formats.md) in, text and numbers out; no DOM, no clock. Any part of
 * an answer may be missing or untrusted.
 *
 * A host is named only if the controller names one that counts, and never for a cause that is the job's own.
 */

/** The same for every job, so that jobs compare, and as in attribution/form_heatmap.c. */
export const SCALE = {low: 1.0, high: 1.5, stops: 6};
/** Below this a worker is not slow: the least for which a host is suspected (policy jobs.min_gain). */
export const PACE = 1.03;
/** A cell stands out if its excess over 1 is at least this share of the worst one's. */
export const BESIDE_WORST = 0.5;
/** If this share of a row or column stands out, it is the row or column as a whole. */
const WHOLE = 0.75;
/** Number of cells named individually. */
const NAMED = 4;
/** Up to this share of all cells, those that stand out are separate places; above it the pattern is diffuse. */
const FEW = 0.25;

/** Causes that are the job's own, as text, by the classes and labels in docs/formats.md. */
const OWN = {
	stage: "one stage has more to do than the others",
	seqlen: "its micro-batches have sequences of very different lengths",
	gc: "garbage collection pauses its workers",
	job: "the job itself",
};
/** The others, as ends of sentences. */
const OTHER = {
	compute: "computes", link: "transfers between two hosts", fabric: "communication", launch: "late launches",
	unclear: "unclear", rejected: "the trace does not add up", none: "none",
};

/** A number in an answer, or null. */
export function number(value) {
	return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** A string in an answer, or "". */
export function text(value) {
	return typeof value === "string" ? value : "";
}

/** A list in an answer. */
export function list(value) {
	return Array.isArray(value) ? value : [];
}

const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

/** Readable seconds: 8.99 s, 46.3 s, 120 s, 35 ms. */
export function seconds(value) {
	const s = number(value);
	if (s === null) return "-";
	if (s < 0.1) return `${(s * 1000).toPrecision(2).replace(/\.0$/, "")} ms`;
	return `${s < 10 ? s.toFixed(2) : s < 100 ? s.toFixed(1) : s.toFixed(0)} s`;
}

/** A duration: 40 min, 2.0 h. */
export function duration(value) {
	const s = number(value);
	if (s === null) return "-";
	if (s < 90) return `${Math.round(s)} s`;
	return s < 5400 ? `${Math.round(s / 60)} min` : s < 172800 ? `${(s / 3600).toFixed(1)} h` : `${(s / 86400).toFixed(1)} d`;
}

/** "8.31 [8.27, 8.36]"; without the interval if unknown. */
export function interval(value, low, high, digits = 2) {
	if (number(value) === null) return "-";
	const ends = number(low) !== null && number(high) !== null;
	return value.toFixed(digits) + (ends ? ` [${low.toFixed(digits)}, ${high.toFixed(digits)}]` : "");
}

/** Position of a slowdown on the scale: 0 to SCALE.stops - 1; null if unknown. */
export function level(slowdown) {
	const s = number(slowdown);
	return s === null ? null : Math.min(Math.max((s - SCALE.low) / (SCALE.high - SCALE.low), 0), 1) * (SCALE.stops - 1);
}

/** What cell `i` of `cells` covers in a job with `places`: "7", or "10 to 11" in a pooled map; pooling as in attribution/summary.c. */
function placeWords(i, cells, places) {
	const first = Math.floor(i * places / cells), last = Math.floor((i + 1) * places / cells) - 1;
	return last > first ? `${first} to ${last}` : String(first);
}

/**
 * The heat map of an answer: columns are data-parallel ranks, rows are stages. The job has `dp` and `pp` of them, and a cell may cover
 * several: `d` and `p` name them, `cell` finds the cell of a worker.
 * @returns {null | {across: string, down: string, columns: number, rows: number, at: (d: number, p: number) => number | null,
 *                   d: (d: number) => string, p: (p: number) => string, cell: (dp: number, stage: number) => {d: number, p: number}}}
 */
export function heatOf(heat, dp, pp) {
	const values = list(heat?.values), columns = values.length, rows = list(values[0]).length;
	if (!columns || !rows) return null;
	const wide = Math.max(number(dp) ?? 0, columns), high = Math.max(number(pp) ?? 0, rows);
	return {
		across: text(heat.row) || "dp", down: text(heat.column) || "stage", columns, rows,
		at: (d, p) => number(list(values[d])[p]),
		d: d => placeWords(d, columns, wide), p: p => placeWords(p, rows, high),
		cell: (x, y) => ({d: Math.floor(((x + 1) * columns - 1) / wide), p: Math.floor(((y + 1) * rows - 1) / high)}),
	};
}

/** The heat map of an analysis. */
export function mapOf(analysis) {
	return heatOf(analysis?.heat, analysis?.dp, analysis?.pp);
}

/** The worst cell of a map; null if none is known. */
export function worstOf(map) {
	let worst = null;
	for (let p = 0; p < map.rows; p++) {
		for (let d = 0; d < map.columns; d++) {
			const s = map.at(d, p);
			if (s !== null && (!worst || s > worst.s)) worst = {d, p, s};
		}
	}
	return worst;
}

function standOut(map, worst) {
	const cut = Math.max(PACE, 1 + BESIDE_WORST * (worst.s - 1)), out = [];
	for (let p = 0; p < map.rows; p++) {
		for (let d = 0; d < map.columns; d++) {
			const s = map.at(d, p);
			if (s !== null && s >= cut) out.push({d, p, s});
		}
	}
	return out;
}

/** The kind of pattern, from the cells that stand out; a single row or column says nothing. */
function kindOf(map, out) {
	const {columns, rows} = map, sameRow = out.every(c => c.p === out[0].p), sameColumn = out.every(c => c.d === out[0].d);
	if (out.length === 1) return "cell";
	if (sameRow && rows > 1 && out.length >= WHOLE * columns) return "row";
	if (sameColumn && columns > 1 && out.length >= WHOLE * rows) return "column";
	return out.length <= Math.max(FEW * columns * rows, 2) && out.length < columns * rows ? "cells" : "diffuse";
}

/** How the other cells of a cell's row and column are doing. */
function besideWords(map, cell) {
	let next = null;
	for (let i = 0; i < Math.max(map.columns, map.rows); i++) {
		for (const s of [i !== cell.d && i < map.columns ? map.at(i, cell.p) : null, i !== cell.p && i < map.rows ? map.at(cell.d, i) : null]) {
			if (s !== null && (next === null || s > next)) next = s;
		}
	}
	return next === null || next < PACE ? "the others of its row and its column keep pace" : `the next of its row and its column is at ${next.toFixed(2)}`;
}

const NONE_STANDS_OUT = "; none stands out";
const nameOf = (map, c) => `${map.across} ${map.d(c.d)}, ${map.down} ${map.p(c.p)}`;

/**
 * The pattern of a map, as text. `out` are the cells about as slow as the worst one, `cells` those of them that stand out.
 * @returns {{kind: "none" | "even" | "cell" | "row" | "column" | "cells" | "diffuse", name: string, cells: {d: number, p: number, s: number}[], out: {d: number, p: number, s: number}[], words: string}}
 */
export function pattern(map) {
	const worst = map && worstOf(map);
	if (!worst) return {kind: "none", name: "not known", cells: [], out: [], words: "No cell is known."};
	const n = map.columns * map.rows, all = plural(n, "cell"), top = worst.s.toFixed(2);
	if (n === 1) return {kind: "none", name: "one worker", cells: [], out: [], words: "The job is one worker: there is none to compare it with."};
	if (worst.s < PACE) return {kind: "even", name: "even", cells: [], out: [], words: `No cell stands out: each of ${all} is below ${PACE}.`};
	const out = standOut(map, worst), kind = kindOf(map, out), cells = kind === "diffuse" ? [] : out;
	const names = out.slice(0, NAMED).map(c => `(${nameOf(map, c)})`).join(", ") + (out.length > NAMED ? ` and ${out.length - NAMED} more` : "");
	const beside = {row: plural(map.columns, "column"), column: plural(map.rows, "row")};
	const said = {
		cell: ["one cell", `One cell stands out of ${n.toLocaleString("en")} (${nameOf(map, worst)}), at ${top}: ${besideWords(map, worst)}.`],
		row: ["one row", `One row stands out: ${map.down} ${map.p(worst.p)}, in ${out.length === map.columns ? "all of its" : `${out.length} of its`} ${beside.row}, at up to ${top}.`],
		column: ["one column", `One column stands out: ${map.across} ${map.d(worst.d)}, in ${out.length === map.rows ? "all of its" : `${out.length} of its`} ${beside.column}, at up to ${top}.`],
		cells: [`${out.length} cells`, `${plural(out.length, "cell")} of ${n.toLocaleString("en")} stand out, at up to ${top}: ${names}.`],
		diffuse: ["diffuse", `The slowdown is diffuse: ${out.length} of ${all} ${out.length === 1 ? "is" : "are"} about as slow as the worst, at ${top}${NONE_STANDS_OUT}.`],
	}[kind];
	return {kind, name: said[0], cells, out, words: said[1]};
}

/** Is the cause the job's own? From its class and the label of its cause. */
export function isOwn(analysis) {
	return text(analysis?.class) === "job" || text(analysis?.cause) in OWN;
}

/** The suspects that count, as located by the controller; none if the cause is the job's own. */
export function blamed(analysis) {
	return isOwn(analysis) ? [] : list(analysis?.suspects).filter(s => s?.counts === true);
}

/** Suspects that count but have no certain host: the class is still that of hosts only if they counted. */
export function unplaced(analysis) {
	return isOwn(analysis) || !["compute", "link"].includes(text(analysis?.class)) ? [] : list(analysis?.suspects).filter(s => s?.placed?.sure === false);
}

/** A suspect's name: its hosts, or its worker if no host is known. */
export function suspectName(suspect) {
	const hosts = list(suspect?.hosts).map(text).filter(Boolean);
	if (hosts.length) return hosts.join(", ");
	const dp = number(suspect?.dp), stage = number(suspect?.stage);
	return dp === null || stage === null ? "a worker" : `the worker at dp ${dp}, stage ${stage}`;
}

const same = (a, b) => a.d === b.d && a.p === b.p;

/** Names of suspects, without duplicates: two workers of one host are one host. */
function namesOf(suspects) {
	return [...new Set(suspects.map(suspectName))];
}

/** Are the transfers between two ends slow? */
const isLink = who => who.length > 1 && who.every(s => text(s.class) === "link");

/** "the transfers between n002 and n003". */
function linkWords(who) {
	const names = namesOf(who);
	return `the transfers ${names.length > 1 ? `between ${names.join(" and ")}` : `within ${names[0]}`}`;
}

/** The cells of a suspect's workers: of all its ranks, or if these are unknown of its slowest. */
function cellsOf(analysis, map, suspect) {
	const ranks = list(analysis?.detail?.ranks), spans = list(suspect?.rank_spans).filter(Array.isArray);
	if (ranks.length === map.columns * map.rows && spans.length) {
		const all = ranks.map((rank, w) => spans.some(([a, b]) => rank >= a && rank <= b) && {d: Math.floor(w / map.rows), p: w % map.rows}).filter(Boolean);
		if (all.length) return all;
	}
	return slowestOf(map, suspect);
}

/** The cell of its slowest worker: [] or one cell. */
function slowestOf(map, suspect) {
	return number(suspect?.dp) === null || number(suspect?.stage) === null ? [] : [map.cell(suspect.dp, suspect.stage)];
}

/**
 * Is each of the other cells in the row of one guilty cell and the column of another? Then it only appears slow: a cell shows
 * the lower of its row's and its column's slowdown.
 */
const isCrossing = (others, cells) => others.every(c => cells.some(g => g.d === c.d) && cells.some(g => g.p === c.p));

/**
 * The cells, among the slow ones, of some suspects: their slowest worker, and the slowest of the others that are not crossings
 * of `all`.
 */
function guiltyOf(analysis, map, out, suspects, all) {
	const slowest = all.flatMap(s => slowestOf(map, s)), mine = suspects.flatMap(s => slowestOf(map, s));
	const more = suspects.flatMap(s => cellsOf(analysis, map, s)).filter(c => !isCrossing([c], slowest));
	return out.filter(c => [...mine, ...more].some(g => same(g, c)));
}

/** "n003 (dp 1, stage 3) and n000 (2 workers)"; suspects without a host are already named by their place. */
function placedWords(analysis, map, out, who) {
	return namesOf(who).map(name => {
		const mine = who.filter(s => suspectName(s) === name), found = guiltyOf(analysis, map, out, mine, who);
		const cells = found.length ? found : mine.flatMap(s => slowestOf(map, s));
		if (!list(mine[0].hosts).length || !cells.length) return name;
		return `${name} (${cells.length > NAMED ? plural(cells.length, "worker") : cells.map(c => nameOf(map, c)).join("; ")})`;
	}).join(" and ");
}

/** Names of those who are blamed. */
function guiltyWords(analysis, map, seen, who) {
	if (!map) return `It is ${namesOf(who).join(" and ")}.`;
	if (isLink(who)) return `It is ${linkWords(who)} (${who.flatMap(s => slowestOf(map, s)).map(c => nameOf(map, c)).join("; ")}).`;
	const cells = guiltyOf(analysis, map, seen.out, who, who), names = placedWords(analysis, map, seen.out, who);
	const one = namesOf(who).length === 1, it = one ? "It is" : "They are", others = seen.out.filter(c => !cells.some(g => same(g, c)));
	if (!seen.out.length) return `${it} ${names}.`;
	if (!others.length) return one && seen.out.length > 1 ? `All of them are on ${namesOf(who)[0]}.` : `${it} ${names}.`;
	if (cells.length && isCrossing(others, cells)) return `${it} ${names}; the others lie where their rows and columns cross.`;
	return `${names} ${one ? "costs" : "cost"} most of it nevertheless.`;
}

/** Why nobody is blamed; "" if nothing is wrong. */
function nobodyWords(analysis, seen) {
	const [lost] = unplaced(analysis), [first] = list(analysis?.suspects);
	if (text(analysis?.cause) === "rejected") return "The trace does not add up: nobody is blamed.";
	if (text(analysis?.class) === "fabric") return "Communication as a whole is slow: no host is to blame.";
	if (seen.kind === "none" || seen.kind === "even") return "";
	if (analysis?.enough === false) return "There are too few steps to blame anybody.";
	if (lost) return `No host is named for it: ${text(lost.placed.reason) || "nobody knows its host"}.`;
	if (first?.identifiable === false) return "No other host does the same work: nobody can be blamed.";
	return text(analysis?.class) === "unclear" || ["cell", "cells"].includes(seen.kind) ? "That is not sure enough to blame a host." : "";
}

/** Is the stage with more work entirely on one host? Then a slow host would look the same. */
function isOneHost(analysis) {
	const map = mapOf(analysis), nodes = list(analysis?.detail?.nodes), seen = pattern(map);
	if (text(analysis?.cause) !== "stage" || seen.kind !== "row" || nodes.length !== map.columns * map.rows) return false;
	const on = nodes.filter((_, w) => w % map.rows === seen.cells[0].p);
	return on[0] >= 0 && on.every(node => node === on[0]);
}

/** The pattern and its meaning: who is blamed, or why nobody is. */
export function patternWords(analysis) {
	const map = mapOf(analysis), seen = pattern(map), who = blamed(analysis);
	if (isOneHost(analysis)) return `${seen.words} All of that stage is on one host, so it cannot be told whether it has more to do or the host is slow. No host is blamed.`;
	if (isOwn(analysis)) return `${seen.words} The job slows itself: ${ownWords(analysis)}. No host is to blame.`;
	if (!who.length) return `${seen.words} ${nobodyWords(analysis, seen)}`.trim();
	const words = guiltyWords(analysis, map, seen, who);
	return `${words.endsWith("nevertheless.") ? seen.words : seen.words.replace(NONE_STANDS_OUT, "")} ${words}`;
}

/** The cells to outline: those that stand out, except crossings of the blamed ones. */
export function outlined(analysis) {
	const map = mapOf(analysis), {cells, out} = pattern(map), who = blamed(analysis), own = map ? guiltyOf(analysis, map, out, who, who) : [];
	return own.length ? own : cells;
}

function ownWords(analysis) {
	return OWN[text(analysis?.cause)] ?? OWN[text(analysis?.label)] ?? "no host is at fault";
}

/** The cause of a list or a job, as text. */
export function causeWords(cause) {
	return OWN[text(cause)] ? `the job itself: ${OWN[cause]}` : OTHER[text(cause)] ?? (text(cause) || "none");
}

/** Step time if a share of the loss were fixed, by the definition of M. */
const mended = (detail, share) => detail.T - share * (detail.T - detail.T_ideal);

const REMEDIES = [
	["M_w", "the slowest 3 % of workers at the pace of the others (M_w)", ""],
	["M_seq", "equal work within each stage (M_seq)", "code of the job"],
	["M_s", "the last stage at the pace of the others (M_s)", "code of the job"],
	["M_comm", "all communication ideal (M_comm)", "links and switches"],
	["M_gc", "no garbage collection (M_gc)", "code of the job"],
];

function replaced(analysis, detail, prediction) {
	const who = blamed(analysis), gain = number(who[0]?.gain?.value);
	if (gain === null) return [];
	const then = detail.T * (1 - gain), pays = number(prediction?.pays_s);
	return [{
		key: "hosts", what: `${namesOf(who).join(" and ")} replaced, at the pace of the others`, then,
		low: number(who[0].gain.high) === null ? null : detail.T * (1 - who[0].gain.high),
		high: number(who[0].gain.low) === null ? null : detail.T * (1 - who[0].gain.low),
		share: number(who[0].share?.value), first: true,
		cost: pays === null ? "a restart" : `a restart, which pays after ${duration(pays)}`,
	}];
}

/**
 * The gain of fixing each part alone, largest first; includes a host only if one is blamed.
 * @returns {{key: string, what: string, then: number, low: number | null, high: number | null, share: number | null, cost: string, first: boolean}[]}
 */
export function remedies(analysis, prediction) {
	const detail = analysis?.detail;
	if (number(detail?.T) === null || number(detail?.T_ideal) === null) return [];
	const rows = REMEDIES.filter(([key]) => number(detail.mended?.[key]) !== null).map(([key, what, cost]) => {
		const share = detail.mended[key];
		return {key, what, then: mended(detail, share), low: null, high: null, share, cost, first: false};
	});
	return [...replaced(analysis, detail, prediction), ...rows.sort((a, b) => b.share - a.share)];
}

/** Kinds of operations with the slowdown that each causes alone, slowest first. */
export function operations(analysis) {
	return Object.entries(analysis?.detail?.S_t ?? {}).filter(([, s]) => number(s) !== null)
		.map(([name, s]) => ({name, s})).sort((a, b) => b.s - a.s);
}

/**
 * The steps of a window: number, time, slowdown, and a small map each.
 * @returns {{step: number, act: number | null, simulated: number | null, s: number | null, map: ReturnType<typeof heatOf>}[]}
 */
export function steps(analysis) {
	const d = analysis?.detail, ideal = number(d?.T_ideal), like = mapOf(analysis);
	return list(d?.step).map((step, i) => {
		const dp = list(d.step_S_dp?.[i]), pp = list(d.step_S_pp?.[i]), simulated = number(list(d.step_T)[i]);
		const at = (x, y) => number(dp[x]) === null || number(pp[y]) === null ? null : Math.min(dp[x], pp[y]);
		return {
			step, act: number(list(d.step_act)[i]), simulated, s: simulated !== null && ideal ? simulated / ideal : null,
			map: {across: like?.across ?? "dp", down: like?.down ?? "stage", columns: dp.length, rows: pp.length, at},
		};
	});
}

/** Is it the same cell in each step? Then it is neither the data nor chance. */
export function stepWords(analysis) {
	const all = steps(analysis), map = mapOf(analysis), seen = pattern(map);
	if (!all.length) return "No data is kept for single steps.";
	const [cell] = seen.cells, n = plural(all.length, "step");
	if (seen.kind !== "cell" || all[0].map.columns !== map.columns || all[0].map.rows !== map.rows) return `a small map for each of ${n}`;
	const same = all.filter(s => {
		const worst = worstOf(s.map);
		return worst && worst.d === cell.d && worst.p === cell.p;
	}).length;
	return same === all.length ? `the same cell in all ${n}: not the data, not chance` : `the same cell in ${same} of ${n}`;
}

/** "rank 9", "ranks 8 to 15". */
function rankWords(rank, beside) {
	return beside > 1 ? `ranks ${rank} to ${rank + beside - 1}` : `rank ${rank}`;
}

/**
 * The worker of a cell: its ranks, its host, and its neighbours in the pipeline; null if several workers share the cell.
 * @returns {null | {rank: number, ranks: string, host: string, peers: {what: string, d: number, p: number, ranks: string, host: string}[]}}
 */
export function worker(analysis, d, p) {
	const detail = analysis?.detail, map = mapOf(analysis), ranks = list(detail?.ranks), beside = number(detail?.beside) ?? 1;
	if (!map || ranks.length !== map.columns * map.rows) return null;
	const who = (x, y) => {
		const w = x * map.rows + y, rank = number(ranks[w]);
		return rank === null ? null : {rank, ranks: rankWords(rank, beside), host: text(list(detail.hosts)[list(detail.nodes)[w]])};
	};
	const me = who(d, p);
	if (!me) return null;
	const near = [[p - 1, "receives activations from, sends gradients to"], [p + 1, "sends activations to, receives gradients from"]];
	const peers = near.filter(([y]) => y >= 0 && y < map.rows).map(([y, what]) => ({what, d, p: y, ...who(d, y)}));
	return {...me, peers};
}

/** Spoken name of a cell. */
export function cellName(analysis, map, d, p) {
	const s = map.at(d, p), who = worker(analysis, d, p);
	const host = who?.host ? `, ${who.host}` : "";
	return `${nameOf(map, {d, p})}${who ? `, ${who.ranks}` : ""}${host}: ${s === null ? "not known" : `slowdown ${s.toFixed(3)}`}`;
}

/** Short label of a cell: the host if it is blamed, never another host. */
export function cellLabel(analysis, d, p) {
	const map = mapOf(analysis), suspect = blamed(analysis).find(s => map && cellsOf(analysis, map, s).some(c => same(c, {d, p})));
	const hosts = list(suspect?.hosts).map(text).filter(Boolean);
	return hosts.length === 1 ? hosts[0] : hosts.length ? `${hosts[0]} and ${hosts.length - 1} more` : "";
}

/** The headline of a job: who, which part, how much. `v` is the glyph: fail, warn, unsure, pass. */
export function headline(job, analysis) {
	const name = text(job?.job) || "The job", step = seconds(job?.step_s), who = blamed(analysis), hang = job?.hang;
	if (hang && ["hung", "stands still"].includes(text(job.state))) return {v: "fail", words: text(hang.sentence) || `${name} stands still.`};
	if (who.length && ["suspected", "watched", "slow"].includes(text(job?.state))) {
		const [row] = replaced(analysis, {T: number(analysis.detail?.T) ?? job.step_s, T_ideal: 0}, null);
		if (isLink(who)) return {v: "fail", words: `${upper(linkWords(who))} slow ${name}: ${step} a step${row ? `, ${seconds(row.then)} were they as fast as the others` : ""}.`};
		const names = namesOf(who), many = names.length > 1, without = row ? `, ${seconds(row.then)} without ${many ? "them" : "it"}` : "";
		return {v: "fail", words: `${upper(names.join(" and "))} slow${many ? "" : "s"} ${name}: ${step} a step${without}.`};
	}
	return quietHeadline(job, analysis, name, step);
}

const upper = words => words.startsWith("the ") ? `T${words.slice(1)}` : words;

function quietHeadline(job, analysis, name, step) {
	const slow = number(job?.slowdown), times = slow === null ? "" : `, ${slow.toFixed(2)} times what it could be`;
	if (text(job?.state) === "waiting" || !analysis) return {v: "unsure", words: `${name} has no analysed window.`};
	if (text(analysis.cause) === "rejected") return {v: "unsure", words: `The trace of ${name} does not add up, so nobody is blamed: ${step} a step.`};
	if (isOneHost(analysis)) return {v: "warn", words: `${name} is slowed by one stage, which is all on one host; whether that host is slow cannot be told: ${step} a step${times}.`};
	if (isOwn(analysis)) return {v: "warn", words: `${name} slows itself: ${ownWords(analysis)}; ${step} a step${times}.`};
	if (text(job?.state) === "acquitted") return {v: "pass", words: `The hosts of ${name} were tested and acquitted: ${step} a step${times}.`};
	if (slow === null || slow < PACE || text(analysis.class) === "none") return {v: "pass", words: `${name} keeps pace: ${step} a step.`};
	if (text(analysis.class) === "fabric") return {v: "warn", words: `Communication slows ${name}: ${step} a step${times}.`};
	const [lost] = unplaced(analysis);
	if (lost) return {v: "fail", words: `${upper(suspectName({...lost, hosts: []}))} slows ${name}, on a host that is not known: ${step} a step${times}.`};
	return {v: "unsure", words: `${name} takes ${step} a step${times}; no host stands out enough to blame.`};
}

/** States in the order of attention needed, each with its glyph. */
const STATES = [
	["hung", "fail"], ["stands still", "fail"], ["suspected", "fail"], ["watched", "warn"], ["slow", "warn"], ["owner informed", "warn"],
	["lapsed", "unsure"], ["rejected", "unsure"], ["acquitted", "pass"], ["waiting", "none"], ["healthy", "pass"],
];

/** The glyph of a state. */
export function stateGlyph(state) {
	return STATES.find(([name]) => name === state)?.[1] ?? "none";
}

/** Jobs by attention needed, then by slowdown. */
export function ranked(jobs) {
	const place = job => {
		const at = STATES.findIndex(([name]) => name === job?.state);
		return at < 0 ? STATES.length : at;
	};
	return [...list(jobs)].sort((a, b) => place(a) - place(b) || (number(b?.slowdown) ?? 0) - (number(a?.slowdown) ?? 0)
		|| text(a?.job).localeCompare(text(b?.job)));
}

/** The headline of the list. */
export function listWords(jobs) {
	const all = list(jobs), bad = ranked(all).filter(j => ["fail", "warn"].includes(stateGlyph(j?.state)));
	if (!all.length) return {v: "none", words: "No job has sent a trace yet."};
	const [first] = bad;
	if (!first) return {v: "pass", words: `No job is slowed: ${plural(all.length, "job")}.`};
	const who = text(first.suspect) && stateGlyph(first.state) === "fail" ? ` by ${first.suspect}` : "";
	const what = ["hung", "stands still"].includes(first.state) ? (first.state === "hung" ? "hangs" : "stands still")
		: `is slowed${who}${number(first.slowdown) === null ? "" : `, ${first.slowdown.toFixed(2)} times`}`;
	return {v: stateGlyph(first.state), words: `${text(first.job)} ${what}${bad.length > 1 ? `; ${bad.length - 1} more of ${plural(all.length, "job")} ${bad.length === 2 ? "needs" : "need"} attention` : `; of ${plural(all.length, "job")}`}.`};
}

/** The equivalent command; the name is quoted if the shell needs it. */
export function command(job) {
	const name = text(job?.job);
	return job ? `assayctl job ${/^[A-Za-z0-9._\/:@+=-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`}` : "assayctl jobs";
}

/**
 * What was done: suspect, tests, decision, prediction, check. Later stages say what they wait for.
 * @returns {{v: string, head: string, what: string, how: string, done: boolean}[]}
 */
export function chain(job, analysis) {
	const suspects = list(job?.suspects), [suspect] = suspects, tests = suspects.flatMap(s => list(s?.tests)), p = job?.prediction ?? null, v = job?.verified ?? null;
	const share = blamed(analysis)[0]?.share, wait = (head, what, how = "") => ({v: "wait", head, what, how, done: false});
	const step = (glyph, head, what, how = "") => ({v: glyph, head, what, how, done: true});
	const over = tests.filter(t => t?.done), last = over.at(-1);
	return [
		suspect ? step(suspect.lapsed ? "none" : "suspect", "Suspect", `${text(suspect.name)}${number(share?.value) === null ? "" : `, share ${share.value.toFixed(2)}`}`,
			`blamed by ${suspect.hits} of ${plural(suspect.of ?? 0, "window")}; ${text(suspect.class)}`)
			: wait("Suspect", "nobody", isOwn(analysis) ? "the job slows itself" : "no host stands out in enough windows"),
		last ? step(/fail/i.test(text(last.result)) ? "fail" : "pass", "Tests", `${text(last.node)}: ${text(last.result) || "no result"}`, `${over.length} of ${plural(tests.length, "test")} are over`)
			: wait("Tests", tests.length ? "under way" : "none", tests.length ? `${text(tests[0].node)}, ordered` : suspect ? "not begun" : "nobody is suspected"),
		step(text(job?.decision?.action) === "evict" ? "fail" : "none", "Decision", text(job?.decision?.action) || "none", text(job?.decision?.reason)),
		p ? step("pass", "Prediction", `${seconds(p.before_s)} to ${seconds(p.after_s)} a step`, `[${seconds(p.low_s)}, ${seconds(p.high_s)}]; a restart pays after ${Math.round(p.pays_steps)} steps, ${duration(p.pays_s)}`)
			: wait("Prediction", "none", suspect ? "made when it is decided" : "no host is to be replaced"),
		v ? step(v.state === "held" ? "pass" : "warn", "Check", `${seconds(v.measured_s)} a step: ${text(v.state)}`, `over ${plural(v.steps ?? 0, "step")} of run ${v.by_run ?? "-"}`)
			: wait("Check", "waiting for the next run", "of equal shape, within 24 h"),
	];
}

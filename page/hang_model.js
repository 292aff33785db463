// SPDX-License-Identifier: Apache-2.0
/**
 * View model of a hung job: what each rank does, who waits for whom, and the layout of the map. Pure: answers of GET
 * /v1/jobs/{id}/ranks (docs/openapi.yaml) in, text and positions out; no DOM, no clock. Any part of an answer may be missing.
 */
import { age, clock, count, many, sentence, text } from './text.js';

/** Limit of ranks side by side, of one host and of several. */
const HOST_COLUMNS = 16, COLUMNS = 56;
/** Limit of hosts with a row of their own; beyond it several share a row. */
const HOST_ROWS = 48;
/** Limit of the side of a plane of a job's shape. */
const SLICE_MAX = 128;
/** As many arrows as can be followed; beyond it one is drawn per group of ranks that wait alike. */
export const ARROWS_MAX = 64;

/** States of ranks, in the order of attention needed; `fill` and `ink` are tokens of page.css, `mark` a glyph on the cell. */
export const STATES = {
	stopped: { word: 'stopped', fill: 'fail', ink: 'on-fail', mark: 'fail', glyph: 'fail', swatch: 'fail', say: 'found to hold up the others' },
	suspect: { word: 'may have stopped', fill: 'unsure', ink: 'on-unsure', mark: 'unsure', glyph: 'unsure', swatch: 'unsure', say: 'suspected, not proven' },
	halted: { word: 'not running', fill: 'warn', ink: 'on-warn', mark: 'warn', glyph: 'warn', swatch: 'warn', say: 'its process is stopped or has ended' },
	silent: { word: 'no record', fill: 'none', hatch: true, glyph: 'none', swatch: 'none', say: 'nobody has reported on it' },
	running: { word: 'running', fill: 'pass-cell', ring: 'dashed', glyph: 'pass', swatch: 'sus', say: 'not known to wait for anybody' },
	waiting: { word: 'waiting', fill: 'line-2', glyph: 'wait', swatch: 'idle', say: 'has begun an operation that does not end' },
};
const HALTED = ['stopped', 'traced', 'zombie', 'gone'];

const CLASSES = {
	'host-stalled': 'its process launches nothing more', 'own-gpu-stopped': 'its own GPU does not finish what the others have finished', fabric: 'all have begun, but the network moves no data',
	mismatch: 'members call operations that do not match', 'equal-count': 'all launched the same, and nothing shows who holds it up', 'cannot say': 'nothing proves who it is',
};
/** A class of docs/hangs.md with its meaning. */
export const classWords = (name) => (CLASSES[name] ? `${name}: ${CLASSES[name]}` : text(name));

const list = (value) => (Array.isArray(value) ? value : []);
const number = (value) => typeof value === 'number' && Number.isFinite(value);

/** [0, 1, 2, 5] -> "0 to 2, 5"; at most `most` spans. */
export function spans(ranks, most = 8) {
	const found = [];
	for (const r of [...ranks].sort((a, b) => a - b)) {
		const last = found.at(-1);
		if (last && r === last[1] + 1)
			last[1] = r;
		else
			found.push([r, r]);
	}
	const words = found.slice(0, most).map(([a, b]) => (a === b ? `${a}` : b === a + 1 ? `${a}, ${b}` : `${a} to ${b}`)).join(', ');
	return found.length > most ? `${words} and others` : words;
}

/** "rank 6", "ranks 0 to 5, 7" */
export const rankWords = (ranks) => `rank${ranks.length === 1 ? '' : 's'} ${spans(ranks)}`;

/** "gpu-2, gpu 1"; '' if unknown. */
export const place = (row) => [row && row.node, row && row.gpu].map(text).filter(Boolean).join(', ');

/** Ranks with their states: [{...row, state}], by rank. */
export function rowsOf(answer) {
	const verdict = answer && answer.verdict || {}, named = new Set(list(verdict.ranks)), suspects = new Set(list(verdict.suspects));
	const state = (r) => {
		if (named.has(r.rank))
			return 'stopped';
		if (suspects.has(r.rank))
			return 'suspect';
		if (!list(r.sources).length)
			return 'silent';
		return HALTED.includes(r.process) ? 'halted' : r.waits ? 'waiting' : 'running';
	};
	return list(answer && answer.ranks).filter((r) => r && number(r.rank)).map((r) => ({ ...r, waits_for: list(r.waits_for), state: state(r) }));
}

/** Counts per state: [[state, n]], in the order of STATES, without zeros. */
export function tally(rows) {
	return Object.keys(STATES).map((s) => [s, rows.filter((r) => r.state === s).length]).filter(([, n]) => n > 0);
}

/** "all_reduce 411 of default_pg"; unknown parts are left out. */
export function operation(row) {
	const group = text(row.group_desc) || text(row.group), what = [text(row.op), number(row.seq) ? String(row.seq) : ''].filter(Boolean).join(' ');
	return what || group ? `${what || 'an operation'}${group ? ` of ${group}` : ''}` : '';
}

/** Ranks that wait alike, largest group first: [{ranks, what, behind, more, first}]; `behind`: the ranks they wait for. */
export function waits(rows) {
	const alike = new Map();
	for (const row of rows.filter((r) => r.waits && (r.state === 'waiting' || r.waits_for.length))) {
		const behind = row.waits_for.filter(number), what = operation(row), key = JSON.stringify([text(row.group), what, behind, row.waits_for_more || 0]);
		if (!alike.has(key))
			alike.set(key, { key, ranks: [], what, behind, more: row.waits_for_more || 0, first: row });
		alike.get(key).ranks.push(row.rank);
	}
	return [...alike.values()].sort((a, b) => b.ranks.length - a.ranks.length || a.ranks[0] - b.ranks[0]);
}

/** The ranks they wait for, as text. */
export function behindWords(wait) {
	return wait.behind.length ? `for ${rankWords(wait.behind)}${wait.more ? ` and ${count(wait.more)} more` : ''}` : 'and nobody is known to be behind';
}

/** Arrows from waiting ranks to those they wait for: [[rank, rank]], if there are many only one per group, at either end. */
export function arrows(rows) {
	const of = (row) => row.waits_for.filter(number).map((to) => [row.rank, to]), every = rows.filter((r) => r.waits).flatMap(of);
	if (every.length <= ARROWS_MAX)
		return every;
	const alike = waits(rows), first = new Map(alike.flatMap((w) => w.ranks.map((r) => [r, w.ranks[0]])));
	return alike.flatMap((w) => {
		const seen = new Set();
		const ends = w.behind.filter((to) => !first.has(to) || !seen.has(first.get(to)) && seen.add(first.get(to)));
		return ends.map((to) => [w.ranks[0], to]);
	}).slice(0, ARROWS_MAX);
}

/** Hosts with their ranks, by first rank; ranks of unknown hosts come last. */
export function hostsOf(rows) {
	const hosts = new Map();
	for (const row of rows) {
		const name = text(row.node);
		if (!hosts.has(name))
			hosts.set(name, { name, rows: [] });
		hosts.get(name).rows.push(row);
	}
	const last = hosts.get('');
	if (last && hosts.delete(''))
		hosts.set('', last);
	return [...hosts.values()];
}

/**
 * Layout of the map: a row per host; if there are many, several hosts share a row.
 * @returns {{rows: number, columns: number, wide: number, head: (r: number) => string, at: (r: number, c: number) => object|null, find: (rank: number) => [number, number]|null}}
 */
export function layout(rows, columns = COLUMNS) {
	const hosts = hostsOf(rows), wide = Math.min(HOST_COLUMNS, Math.max(1, ...hosts.map((h) => h.rows.length)), columns), cells = [], heads = [], places = new Map();
	const lines = hosts.flatMap((h) => Array.from({ length: Math.ceil(h.rows.length / wide) }, (_, i) => ({ head: i ? '' : h.name || 'host not known', rows: h.rows.slice(i * wide, (i + 1) * wide) })));
	const beside = lines.length <= HOST_ROWS ? 1 : Math.max(1, Math.floor(columns / wide));
	lines.forEach((line, i) => {
		const r = Math.floor(i / beside), from = i % beside * wide;
		cells[r] = cells[r] || [];
		heads[r] = heads[r] ?? line.head;
		line.rows.forEach((row, k) => {
			cells[r][from + k] = row;
			places.set(row.rank, [r, from + k]);
		});
	});
	return { rows: cells.length, columns: Math.min(beside, lines.length || 1) * wide, wide, head: (r) => heads[r], at: (r, c) => (cells[r] && cells[r][c]) || null, find: (rank) => places.get(rank) || null };
}

/**
 * The ranks' places in the job's tensor, pipeline and data parallel groups, from its last analysed window; null if that has no tensor
 * parallel ranks, or is of a job of another shape.
 * @returns {null | {dp: number, pp: number, tp: number, rank: (d: number, p: number, t: number) => number, find: (rank: number) => {d: number, p: number, t: number}|null}}
 */
export function shapeOf(analysis, world) {
	const detail = analysis && analysis.detail || {}, heat = analysis && analysis.heat || {}, dp = list(heat.values).length, pp = list(list(heat.values)[0]).length, tp = detail.beside, first = list(detail.ranks);
	if (heat.row !== 'dp' || heat.column !== 'stage' || !Number.isInteger(tp) || tp < 2 || first.length !== dp * pp || dp * pp * tp !== world || Math.max(dp, pp, tp) > SLICE_MAX)
		return null;
	const places = new Map();
	first.forEach((rank, i) => {
		for (let t = 0; t < tp; t++)
			places.set(rank + t, { d: Math.floor(i / pp), p: i % pp, t });
	});
	const whole = places.size === world && [...places.keys()].every((rank) => Number.isInteger(rank) && rank >= 0 && rank < world);
	return whole ? { dp, pp, tp, rank: (d, p, t) => first[d * pp + p] + t, find: (rank) => places.get(rank) || null } : null;
}

/** What a rank's process does: "futex for 300 s, at next (loader.py:31)". */
export function doing(row) {
	const known = row.process && row.process !== 'unknown' ? row.process : '';
	return [known && number(row.for_s) ? `${known} for ${age(row.for_s)}` : known, text(row.where) && `at ${text(row.where)}`].filter(Boolean).join(', ');
}

/** Spoken name of a rank's cell. */
export function cellName(row) {
	const what = row.waits ? operation(row) : '', behind = row.waits && row.waits_for.length ? ` for ${rankWords(row.waits_for)}${row.waits_for_more ? ` and ${count(row.waits_for_more)} more` : ''}` : '';
	const own = row.state === 'waiting' ? '' : doing(row);
	return `rank ${row.rank}${place(row) ? `, ${place(row)}` : ', its host is not known'}: ${STATES[row.state].word}${what || behind ? `${row.state === 'waiting' ? '' : '; waits'}${what ? ` in ${what}` : ''}${behind}` : ''}${own ? `; ${own}` : ''}`;
}

/** By attention needed, then by rank. */
export function ranked(rows) {
	const order = Object.keys(STATES);
	return [...rows].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state) || a.rank - b.rank);
}

/** Answers of hosts: [{name, ranks, sources, silent}], silent ones first. */
export function came(rows) {
	return hostsOf(rows).map((h) => ({
		name: h.name, ranks: h.rows.map((r) => r.rank), sources: [...new Set(h.rows.flatMap((r) => list(r.sources)))], silent: h.rows.filter((r) => !list(r.sources).length).length,
	})).sort((a, b) => b.silent - a.silent);
}

/** "4 hosts were asked to look, and 3 have answered." */
export function askedWords(hang) {
	if (!hang || !hang.asked)
		return 'No host has been asked to look yet: what is known was reported unasked.';
	return `${many(hang.asked, 'host')} ${hang.asked === 1 ? 'was' : 'were'} asked to look, and ${hang.answered === hang.asked ? 'all' : count(hang.answered)} ${hang.answered === 1 && hang.asked > 1 ? 'has' : 'have'} answered.`;
}

/** Capitalize a sentence that begins with a rank or a class. */
const upper = (words) => words.replace(/^(rank\b|[a-z-]+:)/, (word) => word[0].toUpperCase() + word.slice(1));

/** The headline: which ranks stopped. */
export function headline(answer) {
	const hang = answer.hang, name = text(answer.job) || 'The job';
	if (!hang)
		return { glyph: 'pass', words: `No part of ${name} is known to stand still.` };
	if (hang.state === 'over')
		return { glyph: 'pass', words: `${name} stood still until ${clock(hang.until)}, and is moving again.` };
	if (hang.state === 'quiet')
		return { glyph: 'warn', words: `${name}: ${sentence(hang.sentence)}` };
	return { glyph: list(answer.verdict && answer.verdict.ranks).length ? 'fail' : 'unsure', words: upper(sentence(hang.sentence)) || `${name} stands still.` };
}

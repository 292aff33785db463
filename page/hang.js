// SPDX-License-Identifier: Apache-2.0
/**
 * A hung job: which rank stopped, the evidence, and what to do; its ranks as a map with arrows to those they wait for; what
 * hosts were asked and have answered. The address has the job's id or its name.
 */
import { useState } from 'preact/hooks';
import { html } from './html.js';
import { all, segment } from './api.js';
import { Grid } from './grid.js';
import { Places } from './grid_paint.js';
import * as model from './hang_model.js';
import { useCall, useLive, useTurn } from './live.js';
import { Slices } from './slices.js';
import { clock, count, many, sentence, text } from './text.js';
import { Choice, Command, Glyph, HostLink, jobLink, Lead, Mark, Said, Section, Table, Trouble } from './ui.js';
import { usePhone } from './width.js';

/** Polling interval in milliseconds: hosts report every 15 s. */
const AGAIN_MS = 5000;
/** Limit of pages of ranks: the largest job has 16,384. */
const PAGES_MAX = 17;
/** Cell sizes: wide enough for the rank number if possible; row heads are truncated. */
const CELL = { w: 36, h: 20, gap: 3, top: 2, right: 2 }, LARGE = { w: 44, h: 28, gap: 14 }, PHONE = { w: 30 }, SMALL = 12, WIDE = 24, HEAD = 18, LETTER = 7;
/** Limit of groups of waiting ranks, and of lines of lists, shown. */
const WAITS = 12;

const ranks = (path, options) => all(path, { ...options, pages: PAGES_MAX, list: 'ranks' });

/** Resolve a job name to its id; ids are returned unchanged. */
function useJob(id) {
	const named = id !== '' && !/^j\d+$/.test(id), found = useCall(named ? `/v1/jobs?name=${segment(id)}` : null), job = found.value && found.value.items[0];
	return named || !id ? { id: job && job.id, problem: found.problem || (!id || found.value && !job) && { message: `There is no job ${text(id)}.` } } : { id };
}

/** Arrows on the map, from each waiting rank to the one it waits for. */
function Arrows({ map, places, pairs, of }) {
	const middle = ([r, c]) => [places.x(c) + places.w / 2, places.y(r) + places.h / 2], drawn = pairs.map(([a, b]) => [a, b, map.find(a), map.find(b)]).filter(([, , a, b]) => a && b);
	return html`<svg class="arrows" aria-hidden="true" width=${places.width} height=${places.height}>
		<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" /></marker></defs>
		${drawn.map(([a, b, from, to]) => {
			const [x0, y0] = middle(from), [x1, y1] = middle(to), far = Math.hypot(x1 - x0, y1 - y0) || 1, end = Math.min(1, (Math.min(places.w, places.h) / 2 + 3) / far);
			const [ex, ey] = [x1 - (x1 - x0) * end, y1 - (y1 - y0) * end], bend = Math.min(14, far / 6), [cx, cy] = [(x0 + ex) / 2 - (y1 - y0) / far * bend, (y0 + ey) / 2 + (x1 - x0) / far * bend];
			return html`<path key=${`${a} ${b}`} class=${of === null ? '' : of === a || of === b ? 'on' : 'off'} d=${`M${x0.toFixed(1)} ${y0.toFixed(1)}Q${cx.toFixed(1)} ${cy.toFixed(1)} ${ex.toFixed(1)} ${ey.toFixed(1)}`} marker-end="url(#tip)" />`;
		})}</svg>`;
}

function cellOf(row, small) {
	const look = model.STATES[row.state];
	return { name: () => model.cellName(row), fill: look.fill, ink: look.ink, glyph: look.mark, ring: look.ring, hatch: look.hatch, text: look.mark || small ? '' : String(row.rank) };
}

function RankMap({ rows, stale, at, onOpen }) {
	const phone = usePhone(), map = model.layout(rows, phone ? 16 : undefined), small = map.columns > WIDE || phone && map.columns > 8;
	const heads = Array.from({ length: map.rows }, (_, r) => text(map.head(r)).slice(0, HEAD)), left = phone ? 72 : 8 + LETTER * Math.max(4, ...heads.map((h) => h.length));
	const large = !phone && map.columns <= 8 && map.rows <= 12, size = { ...CELL, left, w: small ? SMALL : CELL.w, h: small ? SMALL : CELL.h, group: map.columns > map.wide ? map.wide : 0, ...(large ? LARGE : phone && !small ? PHONE : {}) }, places = new Places(map.rows, map.columns, size);
	const named = rows.filter((r) => r.state === 'stopped'), first = model.ranked(rows)[0];
	return html`<${Grid} label=${`What ${many(rows.length, 'rank')} do, a row a host`} rows=${map.rows} columns=${map.columns} size=${size} stale=${stale}
		cell=${(r, c) => { const row = map.at(r, c); return row && cellOf(row, small); }} rowHead=${(r) => ({ text: heads[r].slice(0, phone ? 9 : HEAD), strong: named.some((n) => n.node && n.node === map.head(r)) })}
		outlines=${named.map((n) => map.find(n.rank)).map(([r, c]) => ({ r0: r, c0: c, r1: r, c1: c }))} start=${map.find(first.rank)}
		over=${!stale && html`<${Arrows} map=${map} places=${places} pairs=${model.arrows(rows)} of=${at} />`} onOpen=${(r, c) => onOpen(map.at(r, c).rank)} />
	<ul class="key" aria-label="Ranks by what they do">${model.tally(rows).map(([s, n]) => html`<li key=${s} title=${model.STATES[s].say}><span class=${`sw ${model.STATES[s].swatch}`}>${model.STATES[s].mark && html`<${Mark} name=${model.STATES[s].mark} />`}</span> ${model.STATES[s].word} <b>${count(n)}</b></li>`)}</ul>`;
}

/** The job's shape, from its last analysed window. */
function useShape(id, world) {
	const { value: job } = useCall(id && world ? `/v1/jobs/${segment(id)}` : null), newest = job && (job.latest || []).find((w) => w.state === 'analysed');
	const { value: analysis } = useCall(newest ? `/v1/jobs/${segment(id)}/windows/${segment(newest.id)}` : null);
	return model.shapeOf(analysis, world);
}

/** One rank with everything known about it. */
function Rank({ row, rows, place }) {
	const behind = model.waits(rows).filter((w) => w.behind.includes(row.rank)).flatMap((w) => w.ranks), facts = [
		['host', row.node ? html`<${HostLink} name=${row.node} />${row.gpu && html`, <${Said}>${row.gpu}<//>`}` : 'not known'], ['does', model.doing(row) && html`<${Said}>${model.doing(row)}<//>`],
		['in the job', place && `DP ${place.d}, PP ${place.p}, TP ${place.t}`], ['last in', model.operation(row) && html`<${Said}>${model.operation(row)}<//>`], ['waits for', row.waits && row.waits_for.length > 0 && model.rankWords(row.waits_for)],
		['waited for by', behind.length > 0 && model.rankWords(behind)], ['known from', (row.sources || []).join(', ').replaceAll('-', ' ') || 'nobody'],
	];
	return html`<div class="worker" role="status"><h3><${Glyph} name=${model.STATES[row.state].glyph} /> Rank ${row.rank}: ${model.STATES[row.state].word}</h3>
		<dl class="facts">${facts.filter(([, v]) => v).map(([k, v]) => html`<div key=${k}><dt>${k}</dt><dd>${v}</dd></div>`)}</dl></div>`;
}

const RANKS = [
	{ head: 'rank', num: true, cell: (r) => r.rank }, { head: 'state', className: 'nowrap', cell: (r) => html`<${Glyph} name=${model.STATES[r.state].glyph} /> ${model.STATES[r.state].word}` },
	{ head: 'host', cell: (r) => (r.node ? html`<${HostLink} name=${r.node} />` : 'not known') }, { head: 'GPU', cell: (r) => html`<${Said}>${r.gpu || ''}<//>` },
	{ head: 'does', cell: (r) => html`<${Said}>${model.doing(r)}<//>` }, { head: 'last in', cell: (r) => html`<${Said}>${model.operation(r)}<//>` },
	{ head: 'waits for', cell: (r) => (r.waits && r.waits_for.length ? `${model.spans(r.waits_for)}${r.waits_for_more ? ` and ${count(r.waits_for_more)} more` : ''}` : '') },
];

/** Who waits for whom, as text: the same as the arrows. */
function Waits({ rows }) {
	const all = model.waits(rows), by = new Map(rows.map((r) => [r.rank, r])), where = (w) => (w.behind.length === 1 && model.place(by.get(w.behind[0])) ? ` (${model.place(by.get(w.behind[0]))})` : '');
	return html`<${Section} title="Who waits for whom" say=${all.length > WAITS ? `the first ${WAITS} of ${count(all.length)}` : ''}>${all.length ? html`<ul class="lines">${all.slice(0, WAITS).map((w) => html`<li key=${w.key}><b>${many(w.ranks.length, 'rank')}</b>
		<span>${model.rankWords(w.ranks).replace('r', 'R')} wait${w.ranks.length === 1 ? 's' : ''}${w.what && html` in <${Said}>${w.what}<//>`} ${model.behindWords(w)}<${Said}>${where(w)}<//></span></li>`)}</ul>`
		: html`<p class="empty">No rank is known to be waiting.</p>`}<//>`;
}

/** Sentences of the controller. */
const Sentences = ({ title, say, items }) => items && items.length > 0 && html`<${Section} title=${title} say=${say}><ul class="lines">${items.map((s, i) => html`<li key=${i}><span><${Said}>${sentence(s)}<//></span></li>`)}</ul><//>`;

const CAME = [
	{ head: 'host', cell: (h) => (h.name ? html`<${HostLink} name=${h.name} />` : 'not known') }, { head: 'ranks', cell: (h) => model.spans(h.ranks) },
	{ head: 'answers', cell: (h) => h.sources.map((s) => text(s).replaceAll('-', ' ')).join(', ') || 'nothing' }, { head: 'without a record', num: true, cell: (h) => (h.silent ? count(h.silent) : '') },
];

/** Ranks named by the verdict, if the positions of ranks are unknown. */
function Named({ verdict }) {
	const of = (all, nodes, word) => (all || []).map((rank, i) => ({ rank, node: (nodes || [])[i], word })), rows = [...of(verdict.ranks, verdict.nodes, 'stopped'), ...of(verdict.suspects, verdict.suspect_nodes, 'may have stopped')];
	return html`<${Section} title="Who" say="where the other ranks are is not known now"><${Table} label="Who has stopped" columns=${[{ head: 'rank', num: true, cell: (r) => r.rank }, { head: 'state', cell: (r) => r.word },
		{ head: 'host', cell: (r) => (r.node ? html`<${HostLink} name=${r.node} />` : 'not known') }]} rows=${rows} keyOf=${(r) => r.rank} empty="Nobody is named." /><//>`;
}

function Picture({ rows, form, stale, shape }) {
	const [at, setAt] = useState(null), by = new Map(rows.map((r) => [r.rank, r])), row = by.get(at), chosen = shape && shape.find(row ? at : model.ranked(rows)[0].rank);
	return html`<div class=${`cols ${form === 'Map' ? 'hang-cols' : ''} ${stale ? 'stale' : ''}`}>${form === 'Map' ? html`<${Section} title="Ranks" say="one row per host; an arrow points to the rank that is waited for">
		<${RankMap} rows=${rows} stale=${stale} at=${row ? at : null} onOpen=${setAt} />${row && html`<${Rank} row=${row} rows=${rows} place=${chosen} />`}<//>`
		: html`<${Section} title="Ranks" say="those that need attention first"><${Table} label="Ranks" columns=${RANKS} rows=${model.ranked(rows)} keyOf=${(r) => r.rank} /><//>`}<${Waits} rows=${rows} /></div>
	${chosen && form === 'Map' && html`<${Section} title="In the job" say="planes through one rank; choose another rank in any of them" className=${stale ? 'stale' : ''}><${Slices} shape=${shape} at=${chosen} stale=${stale}
		cell=${({ d, p, t }, small) => { const one = by.get(shape.rank(d, p, t)); return one && cellOf(one, small); }} onChoose=${({ d, p, t }) => setAt(shape.rank(d, p, t))} /><//>`}`;
}

function factsOf(answer, rows) {
	const { hang, verdict } = answer, [most] = model.waits(rows);
	return [['class', verdict && model.classWords(verdict.class)], ['operation', most && html`<${Said}>${most.what}<//>`], ['still since', clock(hang.since)], ['until', clock(hang.until)], ['judged', clock(hang.judged)],
		['run', hang.run === null ? '' : text(hang.run)], ['ranks', answer.world ? count(answer.world) : '']];
}

export default function Hang({ id, query }) {
	const live = useLive(), turn = useTurn(AGAIN_MS), job = useJob(id || ''), path = job.id ? `/v1/jobs/${segment(job.id)}/ranks` : null;
	const [form, setForm] = useState(query.get('form') === 'table' ? 'Table' : 'Map'), { value: head, problem } = useCall(path && `${path}?limit=1`, `${turn} ${live.rev.jobs}`);
	const found = head && head.hang, { value: whole } = useCall(found ? path : null, found && [found.state, found.judged, found.answered, head.world].join(), ranks), trouble = problem || job.problem;
	const shape = useShape(job.id, head ? head.world : 0), crumb = html`<a href="#/jobs">Jobs</a>${head && html` / <a href=${jobLink(head.id)}><${Said}>${head.job}<//></a>`} / hang`;
	if (!head || found && !whole)
		return html`<${Lead} crumb=${crumb} glyph="none" name="Hang" title=${trouble ? 'Nothing is known about this job.' : 'Asking where its ranks are.'} />${trouble && html`<${Trouble} problem=${trouble} />`}`;
	const said = model.headline(head), answer = whole || head, { verdict } = head, rows = found ? model.rowsOf({ ...answer, verdict }) : [];
	return html`<${Lead} crumb=${crumb} glyph=${live.stale ? 'none' : said.glyph} name=${said.words} title=${html`<${Said}>${said.words}<//>`} prose=${found && html`${found.state === 'over' && html`<${Said}>${sentence(found.sentence)}<//> `}<${Said}>${sentence(found.act)}<//>`}
		facts=${found ? factsOf({ ...answer, ...head }, rows) : null} tools=${html`${rows.length > 0 && html`<${Choice} label="Form" value=${form} choices=${['Map', 'Table']} onChoose=${setForm} />`}<${Command} words=${['job', head.job, '--ranks']} />`} />
		${problem && html`<${Trouble} problem=${problem} />`}
		${found && html`<div class="stack">${rows.length ? html`<${Picture} rows=${rows} form=${form} stale=${live.stale} shape=${shape} />` : verdict && html`<${Named} verdict=${verdict} />`}
		<div class="cols two-cols">${verdict && html`<${Sentences} title="How it is known" items=${verdict.evidence} /><${Sentences} title="Missing evidence" items=${verdict.missing} /><${Sentences} title="What would show more" items=${verdict.tell} />`}
			<${Sentences} title="What its logs say" say="nothing is concluded from it" items=${found.logs} />
			<${Section} title="What hosts were asked" say=${model.askedWords(found)}>${rows.length > 0 && html`<${Table} label="Answers from hosts" columns=${CAME} rows=${model.came(rows)} keyOf=${(h) => h.name} shown=${25} />`}<//></div></div>`}`;
}

// SPDX-License-Identifier: Apache-2.0
/**
 * A job: what slows it and by how much, its workers as a map, its steps, the gain of fixing parts, and what was done. Shows the
 * last analysed window, or the one in the address (?window=N).
 */
import { useState } from 'preact/hooks';
import { html } from './html.js';
import { segment } from './api.js';
import { Grid } from './grid.js';
import { Gain, Lines, Operations, shadeOf, Strip } from './job_charts.js';
import * as model from './job_model.js';
import { Plan } from './job_plan.js';
import { useCall, useLive } from './live.js';
import { clock } from './text.js';
import { Choice, Command, Glyph, hangLink, HostLink, Lead, Said, Section, Table, Trouble } from './ui.js';
import { usePhone } from './width.js';

/** Cell sizes: wide enough for the figure if possible. */
const CELL = { w: 44, h: 20, gap: 1, left: 56, top: 24, right: 128 }, SMALL = 12, WIDE = 24, LARGE = { w: 72, h: 44 };

function sizeOf(map, phone) {
	if (map.columns > WIDE || phone && map.columns > 6)
		return { ...CELL, w: SMALL, h: SMALL };
	return map.columns <= 4 && map.rows <= 8 && !phone ? { ...CELL, ...LARGE } : CELL;
}

function cellOf(analysis, map, d, p, size) {
	const s = map.at(d, p), { fill, ink } = shadeOf(s);
	return { name: model.cellName(analysis, map, d, p), fill, ink, hatch: s === null, text: size.w > SMALL && s !== null && (s >= model.PACE || map.columns <= 4) ? s.toFixed(2) : '' };
}

function WorkerMap({ analysis, map, seen, stale, onOpen }) {
	const size = sizeOf(map, usePhone()), worst = model.worstOf(map), most = model.outlined(analysis);
	return html`<${Grid} label=${`Slowdown of ${map.columns * map.rows} workers, ${map.across} across, ${map.down} down`} rows=${map.rows} columns=${map.columns} size=${size} stale=${stale}
		cell=${(p, d) => cellOf(analysis, map, d, p, size)} headAlign="right" rowHead=${(p) => ({ text: p ? map.p(p) : `${map.down} ${map.p(0)}`, strong: most.some((c) => c.p === p) })}
		columnHead=${(d) => (size.w > SMALL || d % 4 === 0 ? { text: d || size.w === SMALL ? map.d(d).split(' ')[0] : `${map.across} ${map.d(0)}`, strong: most.some((c) => c.d === d) } : null)}
		note=${(p) => most.filter((c) => c.p === p).map((c) => model.cellLabel(analysis, c.d, c.p)).filter(Boolean).join(', ')}
		outlines=${most.length <= 16 ? most.map((c) => ({ r0: c.p, c0: c.d, r1: c.p, c1: c.d })) : []} start=${worst ? [worst.p, worst.d] : null}
		onOpen=${(p, d) => onOpen({ d, p })} />
	<p class="scale" aria-hidden="true"><span>1.0</span><i class="ramp"></i><span>1.5 and more</span><span class="dim">the same for every job</span></p>`;
}

/** Details of the selected cell. */
function Worker({ analysis, map, at }) {
	const who = model.worker(analysis, at.d, at.p), s = map.at(at.d, at.p);
	return html`<div class="worker" role="status"><h3>${map.across} ${map.d(at.d)}, ${map.down} ${map.p(at.p)}: ${s === null ? 'not known' : s.toFixed(3)}</h3>
		${who ? html`<p>${who.ranks}${who.host ? html` on <${HostLink} name=${who.host} />` : '; its host is not known'}</p>
			<ul>${who.peers.map((p) => html`<li key=${p.p}>${p.what} ${map.down} ${p.p}, ${p.ranks}${p.host ? html` on <${HostLink} name=${p.host} />` : ''}</li>`)}</ul>`
			: html`<p class="dim">No record of its workers is kept.</p>`}</div>`;
}

function cellsOf(map) {
	const rows = [];
	for (let p = 0; p < map.rows; p++)
		for (let d = 0; d < map.columns; d++)
			rows.push({ d, p, s: map.at(d, p) });
	return rows;
}

function WorkerTable({ analysis, map }) {
	const columns = [
		{ head: map.across, num: true, cell: (c) => map.d(c.d) }, { head: map.down, num: true, cell: (c) => map.p(c.p) },
		{ head: 'slowdown', num: true, cell: (c) => (c.s === null ? 'not known' : c.s.toFixed(3)) },
		{ head: 'ranks', cell: (c) => (model.worker(analysis, c.d, c.p) || {}).ranks || '' },
		{ head: 'host', cell: (c) => { const w = model.worker(analysis, c.d, c.p); return w && w.host ? html`<${HostLink} name=${w.host} />` : ''; } },
	];
	return html`<${Table} label="Workers, the slowest first" columns=${columns} rows=${cellsOf(map).sort((a, b) => (b.s ?? 0) - (a.s ?? 0))} keyOf=${(c) => `${c.d} ${c.p}`} />`;
}

function Chain({ job, analysis }) {
	return html`<ol class="chain">${model.chain(job, analysis).map((c) => html`<li key=${c.head} class=${c.done ? '' : 'wait'}><h3><${Glyph} name=${c.v} kind=${c.v === 'suspect' ? 'fail' : c.v} />${c.head}</h3>
		<strong><${Said}>${c.what}<//></strong><p><${Said}>${c.how}<//></p></li>`)}</ol>`;
}

function Remedies({ rows, detail }) {
	const columns = [
		{ head: 'if', cell: (r) => html`<span class=${r.first ? 'strong' : ''}><${Said}>${r.what}<//></span>` }, { head: 'now', num: true, className: 'dim', cell: () => model.seconds(detail.T) },
		{ head: 'then', num: true, cell: (r) => html`<span class=${r.first ? 'strong' : ''}>${model.seconds(r.then)}</span>` },
		{ head: `ideal ${model.seconds(detail.T_ideal)} … now ${model.seconds(detail.T)}`, cell: (r) => html`<${Gain} now=${detail.T} then=${r.then} ideal=${detail.T_ideal} first=${r.first} />` },
		{ head: 'share', num: true, cell: (r) => (r.share === null ? '' : (Math.round(r.share * 100) / 100 + 0).toFixed(2)) }, { head: 'at the cost of', className: 'two', cell: (r) => r.cost },
	];
	return html`<${Section} title="What would it gain?" say="step time now and after; each alone, with the rest unchanged"><${Table} label="What would it gain?" columns=${columns} rows=${rows} keyOf=${(r) => r.key} /><//>`;
}

function Steps({ analysis, seen }) {
	const steps = model.steps(analysis), { detail } = analysis, words = model.stepWords(analysis), last = (key) => steps.at(-1)[key];
	if (!steps.length)
		return html`<p class="empty">${words}</p>`;
	const like = steps[0].map, map = model.mapOf(analysis), [cell] = seen.kind === 'cell' && like.columns === map.columns && like.rows === map.rows ? seen.cells : [];
	const name = (word, v) => `${word} ${v === null ? '-' : v.toFixed(2)}`, flat = (v) => steps.map(() => v);
	return html`<${Section} title="Step by step" say=${words}><${Strip} steps=${steps} outline=${cell} label=${`Step by step: ${words}`} /><//>
		<div class="cols two-cols below"><${Section} title="S over steps" say="1.0 is a step without stragglers"><${Lines} label="Slowdown over steps" steps=${steps} lines=${[{ name: name('S', last('s')), values: steps.map((s) => s.s), kind: 'bad' }, { name: 'ideal', values: flat(1), kind: 'ideal' }]} /><//>
		<${Section} title="Ideal and actual" say="seconds per step"><${Lines} label="Seconds per step: traced, replayed, ideal" steps=${steps} lines=${[{ name: name('traced', last('act')), values: steps.map((s) => s.act), kind: 'real' },
			{ name: name('replayed', last('simulated')), values: steps.map((s) => s.simulated), kind: 'bad' }, { name: name('ideal', detail.T_ideal), values: flat(detail.T_ideal), kind: 'ideal' }]} /><//></div>`;
}

/** Substitute for a lost analysis: the last map is stored with the job. */
const brief = (job) => ({ heat: job.heat, class: null, cause: job.cause, suspects: [], kept: false });

function Picture({ job, analysis, form, stale }) {
	const map = model.mapOf(analysis), seen = model.pattern(map), rows = model.remedies(analysis, job.prediction), ops = model.operations(analysis), [at, setAt] = useState(null);
	if (!map)
		return html`<p class="empty">No window of this job has been analysed yet.</p>`;
	return html`<div class=${`cols job-cols ${stale ? 'stale' : ''}`}><${Section} title="Slowdown by worker" say=${`${map.across} across, ${map.down} down, all steps`}>
		${form === 'Map' ? html`<${WorkerMap} analysis=${analysis} map=${map} seen=${seen} stale=${stale} onOpen=${setAt} />` : html`<${WorkerTable} analysis=${analysis} map=${map} />`}
		${at && html`<${Worker} analysis=${analysis} map=${map} at=${at} />`}<//>
		<div><${Steps} analysis=${analysis} seen=${seen} /></div></div>
	<div class="cols job-foot">${rows.length > 0 && html`<${Remedies} rows=${rows} detail=${analysis.detail} />`}
		${ops.length > 0 && html`<${Section} title="Which operations" say="S if only these were as slow as seen"><${Operations} rows=${ops} /><//>`}</div>`;
}

function factsOf(job, analysis, pattern) {
	return [
		['shape', analysis.dp ? `${analysis.dp} DP x ${analysis.pp} PP, ${analysis.ranks} ranks` : ''], ['hosts', job.hosts ? String(job.hosts) : ''], ['run', job.run ? String(job.run) : ''],
		['slowdown', model.interval(job.slowdown, job.slowdown_low, job.slowdown_high)], ['cause', html`<${Said}>${model.causeWords(job.cause)}<//>`], ['pattern', pattern.name], ['state', job.state], ['heard', clock(job.last)],
	];
}

export default function Job({ id, query }) {
	const live = useLive(), path = `/v1/jobs/${segment(id || '')}`, { value: job, problem } = useCall(path, live.rev.jobs);
	const [form, setForm] = useState(query.get('form') === 'table' ? 'Table' : 'Map');
	const newest = job ? job.latest.find((w) => w.state === 'analysed') : null, window = query.get('window') || (newest ? String(newest.id) : '');
	const kept = useCall(window ? `${path}/windows/${segment(window)}` : null, live.rev.jobs);
	if (!job)
		return html`<${Lead} title=${problem ? 'Nothing is known about this job.' : 'Loading the job.'} glyph="none" />${problem && html`<${Trouble} problem=${problem} />`}`;
	if (window && !kept.value && !kept.problem)
		return html`<${Lead} title=${html`<${Said}>${job.job}<//>`} glyph="none" prose="Asking for the analysis." />`;
	const analysis = kept.value || brief(job), said = model.headline(job, kept.value), gone = kept.problem && window;
	return html`<${Lead} crumb=${html`<a href="#/jobs">Jobs</a>`} glyph=${live.stale ? 'none' : said.v} name=${said.words} title=${html`<${Said}>${said.words}<//>`}
		prose=${html`<span class="pattern"><${Said}>${model.patternWords(analysis)}<//></span>${gone ? ' The analysis is not kept any more: this is the summary of it.' : ''}`} facts=${factsOf(job, analysis, model.pattern(model.mapOf(analysis)))}
		tools=${html`${job.hang && html`<a class="btn" href=${hangLink(job.id)}>Who has stopped</a>`}<${Choice} label="Form" value=${form} choices=${['Map', 'Table']} onChoose=${setForm} /><${Command} words=${['job', job.job]} />`} />
		<${Chain} job=${job} analysis=${analysis} /><${Picture} job=${job} analysis=${analysis} form=${form} stale=${live.stale} />
		${job.latest.length > 0 && html`<${Plan} job=${job} rev=${live.rev.jobs} />`}`;
}

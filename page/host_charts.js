// SPDX-License-Identifier: Apache-2.0
/**
 * A day of checks as small charts on one scale, 40 to 110 % of the expected value, so that dips compare. Problems come first.
 * Charts have their figures as text, and all checks are in a table.
 */
import { useState } from 'preact/hooks';
import { html } from './html.js';
import { all, fewAtOnce, get } from './api.js';
import { useCall } from './live.js';
import { amount, clock, count, figure, ofExpected, scale, text, when } from './text.js';
import { Said, Section, Table, Trouble } from './ui.js';

const W = 210, H = 64, LOW = 0.4, HIGH = 1.1;
/** Number of charts, and of those with problems. */
const CHARTS = 12, BAD = 6;
/** The controller computes only a few at once, for all clients (BACKGROUND_JOB_MAX in controller/routes/background_job.h). */
const getSeries = fewAtOnce(2, get);
/** Checks without problems to show first. */
const USUAL = ['gemm.rate', 'memory.device_bw', 'memory.p2p_bw', 'memory.h2d_bw', 'memory.d2h_bw', 'loopback.write_bw', 'loopback.read_bw', 'memory.copy_bw', 'memory.read_bw', 'memory.triad_bw', 'memory.write_bw', 'all_reduce.bus_bw'];

/** The charts to show for a host: {check, subject, name, bad}. */
export function chosen(items) {
	const seen = new Set(), list = [];
	for (const i of items) {
		const key = i.check.endsWith('.link') ? `${i.check} ${i.subject}` : i.check;
		if (typeof i.value !== 'number' || seen.has(key) || list.length >= BAD)
			continue;
		seen.add(key);
		list.push({ key, check: i.check, subject: i.check.endsWith('.link') ? i.subject : null, name: i.check.endsWith('.link') ? `${i.check} ${i.subject.replace(/^.*?((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.\d).*$/, '$1')}` : i.check, bad: true });
	}
	for (const check of USUAL)
		if (!seen.has(check) && list.length < CHARTS)
			list.push({ key: check, check, subject: null, name: check, bad: false });
	return list;
}

/** Points as shares: {t, share, low, high, bad}. */
function shares(series) {
	const known = series.points.filter((p) => typeof p.value === 'number');
	const own = median(known.map((p) => p.value)), list = known.map((p) => {
		const ref = p.expected || series.expected || own, of = (x) => (series.better === 'lower' ? (x ? ref / x : 1) : ref ? x / ref : 1);
		const ends = [of(p.min ?? p.value), of(p.max ?? p.value)];
		return { t: when(p.time), share: of(p.value), low: Math.min(...ends), high: Math.max(...ends), bad: p.verdict === 'fail' || p.verdict === 'warn' };
	});
	return asUsual(list);
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/**
 * Parts that differ by nature (near and far memory) are no band: its ends are taken relative to their usual distance. Except in
 * bad points, whose worst part is shown where it was.
 */
function asUsual(list) {
	const good = list.filter((p) => !p.bad && p.share > 0), low = median(good.map((p) => p.low / p.share)), high = median(good.map((p) => p.high / p.share));
	return good.length ? list.map((p) => ({ ...p, low: p.bad ? p.low : Math.min(p.share, p.low / low), high: Math.max(p.share, p.high / high) })) : list;
}

function Chart({ path, again, which }) {
	const query = `check=${encodeURIComponent(which.check)}${which.subject ? `&subject=${encodeURIComponent(which.subject)}` : ''}&since=24h&points=96`;
	const { value: series } = useCall(`${path}/series?${query}`, again, getSeries);
	if (!series || !series.points.some((p) => typeof p.value === 'number'))
		return null;
	const points = shares(series), from = when(series.since), to = when(series.until), last = series.points.filter((p) => typeof p.value === 'number').at(-1);
	const x = (t) => Math.round(Math.min(1, Math.max(0, (t - from) / (to - from))) * (W - 4) * 10) / 10, y = (s) => Math.round((HIGH - Math.min(Math.max(s, LOW), HIGH)) / (HIGH - LOW) * H * 10) / 10;
	const expected = last.expected || series.expected, s = scale(expected || last.value, series.unit), now = which.bad && series.better !== 'lower' ? last.min : last.value;
	const floor = (last.floor || series.floor) && expected ? (last.floor || series.floor) / expected : null, line = (f) => points.map((p) => `${x(p.t)} ${y(f(p))}`);
	const band = points.length > 1 ? `M${line((p) => p.high).join('L')}L${line((p) => p.low).reverse().join('L')}Z` : '';
	const said = `${which.name}: ${ofExpected(now, expected, series.unit)} at ${clock(last.time)}, ${series.reports} reports in 24 hours`;
	return html`<figure class="chart"><figcaption class=${which.bad ? 'strong' : ''}><${Said}>${which.name}<//></figcaption>
		<svg viewBox=${`0 -2 ${W} ${H + 18}`} role="img" aria-label=${said}>
		<path d=${`M0 ${y(1)}H${W}`} stroke="var(--line-2)" />${floor && html`<path d=${`M0 ${y(floor)}H${W}`} stroke="var(--ink-3)" stroke-dasharray="2 3" stroke-width=".8" />`}
		${band && html`<path d=${band} fill="var(--accent)" opacity=".2" />`}<path d=${`M${line((p) => p.share).join('L')}`} fill="none" stroke="var(--accent)" stroke-width="1.3" stroke-linejoin="round" />${points.length === 1 && html`<circle cx=${x(points[0].t)} cy=${y(points[0].share)} r="2.1" fill="var(--accent)" />`}
		${points.filter((p) => p.bad).map((p) => html`<circle key=${p.t} cx=${x(p.t)} cy=${y(p.low)} r="2.1" fill="var(--fail)" />`)}
		<path d=${`M0 ${H}H${W}`} stroke="var(--line)" />
		<text x="0" y=${H - 6}><tspan class=${`big ${which.bad ? 'bad' : ''}`}>${figure(now / s.by, s.by !== 1)}</tspan><tspan class="q"> ${expected ? `of ${figure(expected / s.by, s.by !== 1)} ` : ''}${s.unit}</tspan></text>
		<text class="q" x="0" y=${H + 13}>${clock(series.since)}</text><text class="q" x=${W} y=${H + 13} text-anchor="end">now</text></svg></figure>`;
}

const ALL = [
	{ head: 'check', cell: (s) => html`<${Said}>${s.check}<//>`, className: 'nowrap' }, { head: 'part', cell: (s) => html`<${Said}>${s.subject}<//>` },
	{ head: 'value', cell: (s) => (typeof s.value === 'number' ? amount(s.value, s.unit === '1' ? '' : s.unit) : text(s.state)), className: 'nowrap' },
	{ head: 'run', cell: (s) => `${s.profile} ${clock(s.time)}`, className: 'nowrap' },
];

/** All samples of the last runs. */
function Samples({ path, again }) {
	const { value, problem } = useCall(`${path}/samples`, again, all);
	if (!value)
		return problem && html`<${Trouble} problem=${problem} />`;
	return html`<${Table} label="Samples of the newest runs" columns=${ALL} rows=${value.items} keyOf=${(s) => `${s.profile} ${s.check} ${s.subject}`} shown=${50} />`;
}

export function Charts({ path, again, items, measured }) {
	const [table, setTable] = useState(false);
	return html`<${Section} title="Checks, 24 hours" say=${table ? 'what the newest run of each profile measured' : 'share of expected, 40 to 110 %. Line: expected. Dashes: floor. Band: the lowest and the highest part, relative to their usual level. Dots: below the floor.'}
		right=${html`<button class="btn quiet" type="button" aria-pressed=${String(table)} onClick=${() => setTable(!table)}>${table ? 'as charts' : `all ${count(measured)} as a table`}</button>`}>
		${table ? html`<${Samples} path=${path} again=${again} />` : html`<div class="charts">${chosen(items).map((which) => html`<${Chart} key=${which.key} path=${path} again=${again} which=${which} />`)}</div>`}<//>`;
}

// SPDX-License-Identifier: Apache-2.0
/** Charts of a job: a small map per step, times over steps, slow operations. Each has its data as text. */
import { useEffect, useRef } from 'preact/hooks';
import { html } from './html.js';
import { onColours, ramp, token } from './colour.js';
import { SCALE } from './job_model.js';
import { Said } from './ui.js';

/** Largest size of a small map in pixels, and the gap after it. */
const SMALL = { w: 56, h: 56, gap: 8, words: 16 };
const CHART = { w: 452, h: 168, left: 40, right: 104, foot: 20 };

/** The colour of a slowdown, the same for every job. */
export const shadeOf = (s) => ramp(((s ?? SCALE.low) - SCALE.low) / (SCALE.high - SCALE.low));

function paintStep(g, step, x, y, size, outline) {
	const { map } = step;
	for (let p = 0; p < map.rows; p++) {
		for (let d = 0; d < map.columns; d++) {
			g.fillStyle = shadeOf(map.at(d, p)).fill;
			g.fillRect(x + d * size.w, y + p * size.h, size.w - (size.w > 3 ? 0.5 : 0), size.h - (size.h > 3 ? 0.5 : 0));
		}
	}
	g.strokeStyle = token('line-2');
	g.lineWidth = 0.75;
	g.strokeRect(x - 0.5, y - 0.5, map.columns * size.w + 1, map.rows * size.h + 1);
	if (outline) {
		g.strokeStyle = token('ink');
		g.lineWidth = 1.2;
		g.strokeRect(x + outline.d * size.w - 1, y + outline.p * size.h - 1, size.w + 1.5, size.h + 1.5);
	}
	g.fillStyle = token('ink-3');
	g.font = `10px ${token('font')}`;
	g.fillText(String(step.step), x, y + map.rows * size.h + 12, SMALL.w + SMALL.gap - 2);
}

/** A small map per step, as many per row as fit. */
export function Strip({ steps, outline, label }) {
	const canvas = useRef(null);
	useEffect(() => {
		const draw = () => {
			const { columns, rows } = steps[0].map, wide = canvas.current.parentNode.clientWidth, ratio = window.devicePixelRatio || 1;
			const size = { w: Math.max(Math.min(SMALL.w / columns, 7), 0.8), h: Math.max(Math.min(SMALL.h / rows, 7), 0.8) };
			const pitch = Math.max(columns * size.w, 28) + SMALL.gap, across = Math.max(1, Math.floor(wide / pitch)), high = rows * size.h + SMALL.words + 4;
			const tall = Math.ceil(steps.length / across) * high, g = canvas.current.getContext('2d');
			canvas.current.width = wide * ratio;
			canvas.current.height = tall * ratio;
			canvas.current.style.width = `${wide}px`;
			canvas.current.style.height = `${tall}px`;
			g.setTransform(ratio, 0, 0, ratio, 0, 0);
			steps.forEach((step, i) => paintStep(g, step, 1 + i % across * pitch, 2 + Math.floor(i / across) * high, size, outline));
		};
		draw();
		addEventListener('resize', draw);
		const watched = onColours(draw);
		return () => {
			removeEventListener('resize', draw);
			watched();
		};
	});
	return html`<canvas ref=${canvas} class="strip" role="img" aria-label=${label}></canvas>`;
}

/** Round tick values between `low` and `high`. */
function ticks(low, high) {
	const raw = (high - low) / 3, base = 10 ** Math.floor(Math.log10(raw)), by = [1, 2, 5, 10].map((k) => k * base).find((k) => k >= raw), list = [];
	for (let t = Math.ceil(low / by) * by; t <= high + by / 1e6; t += by)
		list.push(t);
	return { list, digits: Math.max(0, -Math.floor(Math.log10(by))) };
}

/** @param {{label: string, steps: {step: number}[], lines: {name: string, values: (number|null)[], kind: string}[]}} props kind: a class */
export function Lines({ label, steps, lines }) {
	const known = lines.flatMap((l) => l.values).filter((v) => v !== null);
	if (steps.length < 2 || !known.length)
		return html`<p class="empty">Too few steps are known.</p>`;
	const span = Math.max(Math.max(...known) - Math.min(...known), Math.max(...known) * 0.02, 1e-6);
	const low = Math.max(0, Math.min(...known) - span * 0.1), high = Math.max(...known) + span * 0.1, { list, digits } = ticks(low, high);
	const x = (i) => CHART.left + i / (steps.length - 1) * (CHART.w - CHART.left - CHART.right), y = (v) => CHART.h - (v - low) / (high - low) * (CHART.h - 8);
	const ends = lines.map((l, i) => ({ i, y: y(l.values.findLast((v) => v !== null) ?? low) })).sort((a, b) => a.y - b.y);
	ends.forEach((e, i) => { e.y = i ? Math.max(e.y, ends[i - 1].y + 13) : e.y; });
	return html`<svg viewBox=${`0 0 ${CHART.w} ${CHART.h + CHART.foot}`} role="img" aria-label=${label} class="chart">
		${list.map((t) => html`<path key=${t} class="tick" d=${`M${CHART.left} ${y(t)}H${CHART.w - CHART.right}`} /><text class="q" x=${CHART.left - 6} y=${y(t) + 4} text-anchor="end">${t.toFixed(digits)}</text>`)}
		${lines.map((l) => html`<path key=${l.name} class=${`line ${l.kind}`} d=${l.values.map((v, i) => (v === null ? '' : `${i && l.values[i - 1] !== null ? 'L' : 'M'}${x(i).toFixed(1)} ${y(v).toFixed(1)}`)).join('')} />`)}
		${ends.map((e) => html`<text key=${e.i} class=${`at ${lines[e.i].kind}`} x=${CHART.w - CHART.right + 6} y=${e.y + 4}>${lines[e.i].name}</text>`)}
		<text class="q" x=${CHART.left} y=${CHART.h + 16}>step ${steps[0].step}</text><text class="q" x=${CHART.w - CHART.right} y=${CHART.h + 16} text-anchor="end">${steps.at(-1).step}</text></svg>`;
}

/** The gain on one scale: from the ideal to the present step time. */
export function Gain({ now, then, ideal, first }) {
	const x = (v) => 4 + Math.min(Math.max((v - ideal) / (now - ideal || 1), 0), 1) * 208;
	return html`<svg class=${`gain ${first ? 'first' : ''}`} width="216" height="20" viewBox="0 0 216 20" aria-hidden="true"><path class="tick" d="M4 10H212M4 5V15M212 5V15" /><path class="now" d=${`M${x(now)} 10H${x(then)}`} /><circle cx=${x(then)} cy="10" r=${first ? 4.5 : 3.5} /></svg>`;
}

/** Operations with the slowdown that each causes alone. */
export function Operations({ rows }) {
	const top = Math.max(...rows.map((r) => r.s), 1.0001) - 1;
	return html`<table class="ops"><caption class="vh">Slowdown by operation</caption><thead class="vh"><tr><th scope="col">operation</th><th scope="col">drawn</th><th scope="col">slowdown</th></tr></thead>
		<tbody>${rows.map((r) => html`<tr key=${r.name}><td><${Said}>${r.name}<//></td><td><svg width="192" height="11" aria-hidden="true"><rect class=${r.s - 1 >= top / 2 ? 'hot' : 'cool'} width=${Math.max(1, (r.s - 1) / top * 192)} height="11" rx="1" /></svg></td><td class="num">${r.s.toFixed(3)}</td></tr>`)}</tbody></table>`;
}

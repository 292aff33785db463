// SPDX-License-Identifier: Apache-2.0
/**
 * An accessible map of cells, for mouse, keyboard and screen readers. The picture is drawn on canvases; above them the row with
 * the focus exists as elements of role gridcell, one of them with tabindex 0, so that a screen reader speaks each move without
 * ten thousand hosts in the document. The table form has everything as text.
 *
 * Keys: arrows, Home and End of the row, with Ctrl of the grid, PageUp and PageDown, Enter or Space opens.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { onColours } from './colour.js';
import { Picture, Places } from './grid_paint.js';

/** Rows moved by PageUp and PageDown. */
const PAGE_ROWS = 10;

/** The next existing cell from (r, c) in direction (dr, dc); the same cell if there is none. */
function step(spec, r, c, dr, dc) {
	for (let y = r + dr, x = c + dc; y >= 0 && y < spec.rows && x >= 0 && x < spec.columns; y += dr, x += dc)
		if (spec.cell(y, x))
			return [y, x];
	return [r, c];
}

/** The last cell of row r at or before column c, or of the nearest row that has cells. */
function nearest(spec, r, c, dr) {
	for (let y = Math.max(0, Math.min(r, spec.rows - 1)); y >= 0 && y < spec.rows; y += dr) {
		for (let x = Math.min(c, spec.columns - 1); x >= 0; x--)
			if (spec.cell(y, x))
				return [y, x];
		for (let x = c + 1; x < spec.columns; x++)
			if (spec.cell(y, x))
				return [y, x];
	}
	return null;
}

function move(spec, key, ctrl, [r, c]) {
	switch (key) {
	case 'ArrowRight': return step(spec, r, c, 0, 1);
	case 'ArrowLeft': return step(spec, r, c, 0, -1);
	case 'ArrowDown': return nearest(spec, r + 1, c, 1) || [r, c];
	case 'ArrowUp': return r ? nearest(spec, r - 1, c, -1) || [r, c] : [r, c];
	case 'PageDown': return nearest(spec, Math.min(r + PAGE_ROWS, spec.rows - 1), c, -1) || [r, c];
	case 'PageUp': return nearest(spec, Math.max(r - PAGE_ROWS, 0), c, 1) || [r, c];
	case 'Home': return ctrl ? nearest(spec, 0, 0, 1) : nearest(spec, r, 0, spec.rows);
	case 'End': return ctrl ? nearest(spec, spec.rows - 1, spec.columns - 1, -1) : nearest(spec, r, spec.columns - 1, spec.rows);
	default: return null;
	}
}

/** Position the elements of the focused row over their cells in the picture. */
function place(row, places) {
	for (const cell of row ? row.children : []) {
		const r = Number(cell.dataset.r), c = Number(cell.dataset.c);
		if (!cell.dataset.c)
			continue;
		cell.style.transform = `translate(${places.x(c)}px, ${places.y(r)}px)`;
		cell.style.width = `${places.w}px`;
		cell.style.height = `${places.h}px`;
	}
}

/** Redraw the picture when the spec, the scroll position, the colours or the size change. */
function usePicture(box, layer, latest) {
	const frame = useRef(0), tick = useRef(null), picture = useRef(null), printing = useRef(false);
	picture.current = picture.current || new Picture();
	tick.current = () => {
		frame.current = 0;
		if (!layer.current || !box.current)
			return;
		const { spec, places } = latest.current, area = box.current.getBoundingClientRect();
		const within = (y) => Math.min(Math.max(y, 0), places.height);
		const seen = printing.current ? { from: 0, to: places.height } : { from: within(-area.top), to: within(window.innerHeight - area.top) };
		if (picture.current.show(layer.current, spec, places, seen))
			soon();
	};
	const soon = () => {
		if (!frame.current)
			frame.current = requestAnimationFrame(() => tick.current());
	};
	useLayoutEffect(() => {
		const { places } = latest.current;
		box.current.style.width = `${places.width}px`;
		box.current.style.height = `${places.height}px`;
		soon();
	});
	useEffect(() => {
		const anew = () => {
			picture.current.forget();
			soon();
		};
		const print = (on) => () => {
			printing.current = on;
			tick.current();
		};
		const [before, after] = [print(true), print(false)];
		const watched = onColours(() => {
			picture.current.forget();
			tick.current();
		});
		addEventListener('scroll', soon, { passive: true });
		addEventListener('resize', soon);
		addEventListener('beforeprint', before);
		addEventListener('afterprint', after);
		if (document.fonts.status !== 'loaded')
			document.fonts.ready.then(anew);
		return () => {
			watched();
			removeEventListener('scroll', soon);
			removeEventListener('resize', soon);
			removeEventListener('beforeprint', before);
			removeEventListener('afterprint', after);
			cancelAnimationFrame(frame.current);
		};
	}, []);
}

/**
 * @param {object} spec
 *   label: spoken name of the grid. rows, columns. size: as in Places.
 *   cell(r, c): Cell of grid_paint.js, or null if there is none.
 *   rowHead(r): {text, strong}. headAlign: 'right'. columnHead(c): {text, small, strong, left}. corner, noteHead: texts. note(r): text after the row.
 *   outlines: [{r0, c0, r1, c1}]. start: [r, c] of the initial tab stop. stale: draw no colours.
 *   over: elements over the picture, at the same positions, that ignore the pointer.
 *   onOpen(r, c). onKey(event, r, c): true if it was handled. tip(r, c): contents of the tooltip, or null.
 */
export function Grid(spec) {
	const box = useRef(null), layer = useRef(null), row = useRef(null), latest = useRef(null), grab = useRef(false);
	const [at, setAt] = useState(spec.start || null);
	const [over, setOver] = useState(null), [focused, setFocused] = useState(false);
	const places = new Places(spec.rows, spec.columns, spec.size);
	const here = (at && spec.cell(at[0], at[1]) && at) || nearest(spec, 0, 0, 1);

	latest.current = { spec, places };
	usePicture(box, layer, latest);
	useLayoutEffect(() => {
		place(row.current, places);
		if (grab.current) {
			grab.current = false;
			row.current.querySelector('[tabindex="0"]').focus();
		}
	});
	const key = (event) => {
		if (event.altKey || event.metaKey || !here)
			return;
		const to = move(spec, event.key, event.ctrlKey, here);
		if (to) {
			event.preventDefault();
			grab.current = true;
			setOver(null);
			setAt([...to]);
		} else if ((event.key === 'Enter' || event.key === ' ') && spec.onOpen) {
			event.preventDefault();
			spec.onOpen(here[0], here[1]);
		} else if (event.key === 'Escape') {
			setOver(null);
			setFocused(false);
		} else if (spec.onKey && spec.onKey(event, here[0], here[1]))
			event.preventDefault();
	};
	const under = (event) => {
		const area = box.current.getBoundingClientRect(), found = places.find(event.clientX - area.left, event.clientY - area.top);
		return found && spec.cell(found[0], found[1]) ? found : null;
	};
	const shown = over || (focused ? here : null), tip = shown && spec.tip && spec.tip(shown[0], shown[1]);
	return html`<div class="grid-box"><div class="grid-scroll"><div class="grid" ref=${box} role="grid" aria-label=${spec.label} aria-rowcount=${spec.rows} aria-colcount=${spec.columns}
		onKeyDown=${key} onFocusIn=${() => setFocused(true)} onFocusOut=${() => setFocused(false)}>
		<div ref=${layer} aria-hidden="true"
			onMouseMove=${(e) => { const u = under(e); if (String(u) !== String(over)) setOver(u); }} onMouseLeave=${() => setOver(null)}
			onClick=${(e) => { const u = under(e); if (u) { setAt(u); if (spec.onOpen) spec.onOpen(u[0], u[1]); } }}></div>${spec.over}
		${here && html`<${Row} key=${here[0]} spec=${spec} r=${here[0]} c=${here[1]} refer=${row} />`}
	</div></div>${tip && html`<${Tip} places=${places} at=${shown} box=${box}>${tip}</${Tip}>`}</div>`;
}

/** The focused row as elements. */
function Row({ spec, r, c, refer }) {
	const cells = [];
	for (let x = 0; x < spec.columns; x++) {
		const cell = spec.cell(r, x);
		if (cell)
			cells.push(html`<div key=${x} class="cell" role="gridcell" data-r=${r} data-c=${x} aria-colindex=${x + 1} tabindex=${x === c ? 0 : -1} aria-label=${typeof cell.name === 'function' ? cell.name() : cell.name}></div>`);
	}
	const head = spec.rowHead && spec.rowHead(r);
	return html`<div class="row" role="row" aria-rowindex=${r + 1} ref=${refer}>${head && html`<span class="vh" role="rowheader">${head.text}</span>`}${cells}</div>`;
}

/** A tooltip: below its cell, or above it if there is no room. */
function Tip({ places, at, box, children }) {
	const pop = useRef(null);
	useLayoutEffect(() => {
		const [r, c] = at, area = box.current.getBoundingClientRect(), y = places.y(r), x = places.x(c) - box.current.parentNode.scrollLeft;
		const below = area.top + y + places.h + 12 + pop.current.offsetHeight < window.innerHeight || area.top + y < pop.current.offsetHeight + 60;
		const most = box.current.parentNode.clientWidth - pop.current.offsetWidth;
		pop.current.style.left = `${Math.max(0, Math.min(x - 16, most))}px`;
		pop.current.style.top = `${below ? y + places.h + 14 : y - pop.current.offsetHeight - 6}px`;
	});
	return html`<div class="pop" ref=${pop}>${children}</div>`;
}

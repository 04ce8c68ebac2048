// SPDX-License-Identifier: MIT
// svg.js -- the flame graph inside its own SVG file.
//
// The boxes that came with the file stay until something changes; what lies under the mouse is
// found from the data, not from elements. Names reach the document as text only.

import {Flame, measurer} from './flame.js';

const SVG = 'http://www.w3.org/2000/svg';
const HTML = 'http://www.w3.org/1999/xhtml';
const SIDE = 10, TOP = 74, BOTTOM = 58, TEXT_MIN = 22, LEAST = 0.2, NARROW = 1;

const svg = document.documentElement;
const doc = JSON.parse(document.getElementById('data').textContent);
const flame = new Flame(doc, doc.views[0], doc.options);
const frame = doc.options.frame;
const boxes = document.getElementById('boxes');
const details = document.getElementById('details');
const note = document.getElementById('note');
const ownNote = note.textContent.replace(/^[\d,]+ (frames?|branch(es)?) too small to draw( \u00b7 )?/, '');
let full = svg.viewBox.baseVal.width - 2 * SIDE;
let field = null;
let measure = null;

function element(name, attributes, parent) {
	const e = document.createElementNS(SVG, name);
	for (const key in attributes)
		e.setAttribute(key, attributes[key]);
	if (parent)
		parent.appendChild(e);
	return e;
}

const hover = element('rect', {id: 'hover', class: 'mark', visibility: 'hidden'}, svg);
const chosen = element('rect', {id: 'chosen', class: 'mark', visibility: 'hidden'}, svg);
const tools = element('g', {id: 'tools'}, document.getElementById('head'));
svg.append(document.getElementById('foot'), document.getElementById('head'));
const tip = element('g', {id: 'tip', visibility: 'hidden'}, svg);

// ---- drawing ----

function drawBox(i, x, w, below, into) {
	const y = TOP + flame.row(flame.tree.depth[i]) * frame;
	const g = element('g', below ? {class: 'below'} : {}, into);
	const rect = element('rect', {
		x: (SIDE + x).toFixed(2), y, width: (w > 2 ? w - 0.6 : w).toFixed(2), height: frame - 1,
		fill: flame.fill(i),
	}, g);
	if (flame.isHit(i))
		rect.setAttribute('class', 'hit');
	else if (flame.isGone(i))
		rect.setAttribute('class', 'gone');
	else if (flame.isNew(i))
		rect.setAttribute('class', 'new');
	if (w >= TEXT_MIN) {
		const text = element('text', {x: (SIDE + x + 3).toFixed(2), y: y + Math.floor(frame * 3 / 4) - 1}, g);
		text.textContent = flame.label(i, w - 6, measure);
	}
}

/** Boxes that nobody can point at: one path for all of a colour. */
function addNarrow(narrow, i, x, w) {
	const fill = flame.isHit(i) ? '#d63bd6' : flame.fill(i);
	const y = TOP + flame.row(flame.tree.depth[i]) * frame;
	if (!narrow.has(fill))
		narrow.set(fill, []);
	narrow.get(fill).push('M', (SIDE + x).toFixed(2), ' ', y, 'h', w.toFixed(2), 'v', frame - 1, 'h-', w.toFixed(2), 'z');
}

function draw() {
	const fresh = document.createDocumentFragment();
	const narrow = new Map();
	flame.each(full, LEAST, (i, x, w, below) => {
		if (w >= NARROW)
			drawBox(i, x, w, below, fresh);
		else
			addNarrow(narrow, i, x, w);
	});
	for (const [fill, d] of narrow)
		element('path', {fill, d: d.join('')}, fresh);
	boxes.replaceChildren(fresh);
	const under = TOP + (flame.tree.deepest + 1) * frame, height = under + BOTTOM;
	svg.setAttribute('height', height);
	svg.setAttribute('width', full + 2 * SIDE);
	svg.setAttribute('viewBox', '0 0 ' + (full + 2 * SIDE) + ' ' + height);
	details.setAttribute('y', under + 20);
	note.setAttribute('y', under + 42);
	document.getElementById('ground').setAttribute('y', under + 3);
	stick();
	note.textContent = [flame.leftOutText(), ownNote].filter(s => s !== '').join(' \u00b7 ');
	mark(hover, -1);
	mark(chosen, flame.chosen);
	say(flame.chosen);
	drawTools();
	remember();
}

function mark(rect, i) {
	rect.setAttribute('visibility', i < 0 ? 'hidden' : 'visible');
	if (i < 0)
		return;
	const p = flame.place(i, full);
	rect.setAttribute('x', SIDE + p.x);
	rect.setAttribute('y', TOP + flame.row(flame.tree.depth[i]) * frame);
	rect.setAttribute('width', Math.max(1, p.w - 0.6));
	rect.setAttribute('height', frame - 1);
}

/** The line under the picture: what is chosen or pointed at, else what was found. */
function say(i) {
	const found = flame.search !== '' ? flame.foundText() : '';
	if (i >= 0)
		details.textContent = doc.options.nameType.replace(/:$/, '') + ': ' + flame.lines(i).join(' \u00b7 ');
	else
		details.textContent = 'Click or Enter zooms, Escape zooms out, arrows move, / searches, n goes to the next match.';
	document.getElementById('matched').textContent = found;
}

// ---- tooltip ----

function showTip(i, px, py) {
	tip.replaceChildren();
	tip.setAttribute('visibility', i < 0 ? 'hidden' : 'visible');
	if (i < 0)
		return;
	const back = element('rect', {}, tip);
	const room = Math.floor((full - 20) / (measure('abcdefghijklm') / 13));
	let width = 0;
	const lines = flame.lines(i);
	lines.forEach((line, at) => {
		const text = element('text', {x: 9, y: 18 + at * 17}, tip);
		if (at === 0)
			text.setAttribute('class', 'first');
		text.textContent = line.length > room ? line.slice(0, room - 1) + '\u2026' : line;
		width = Math.max(width, text.getComputedTextLength());
	});
	const height = lines.length * 17 + 10;
	back.setAttribute('width', width + 18);
	back.setAttribute('height', height);
	const view = visibleArea();
	const x = Math.max(4, Math.min(px + 14, full + 2 * SIDE - width - 22));
	const y = py + 18 + height > view.bottom - BOTTOM ? py - height - 8 : py + 18;
	tip.setAttribute('transform', 'translate(' + x + ',' + Math.max(view.top, y) + ')');
}

/** The part of the picture that the window shows, in its own units. */
function visibleArea() {
	const at = svg.getBoundingClientRect(), scale = at.width / (full + 2 * SIDE) || 1;
	return {top: Math.max(0, -at.top / scale), bottom: (window.innerHeight - at.top) / scale};
}

function pointOf(event) {
	const at = svg.getBoundingClientRect(), scale = at.width / (full + 2 * SIDE) || 1;
	return {x: (event.clientX - at.left) / scale, y: (event.clientY - at.top) / scale};
}

function boxOf(p) {
	return flame.at(p.x - SIDE, Math.floor((p.y - TOP) / frame), full);
}

// ---- what can be done ----

function zoom(i) {
	flame.zoomed = i;
	flame.chosen = i;
	showTip(-1);
	draw();
}

function reset() {
	flame.zoomed = 0;
	flame.chosen = -1;
	closeSearch();
	flame.find('');
	draw();
}

function search(text) {
	flame.find(text);
	flame.chosen = -1;
	draw();
}

function closeSearch() {
	if (field === null)
		return;
	const old = field;
	field = null;
	old.parentNode.remove();
	drawTools();
	svg.focus();
}

function openSearch() {
	if (field !== null) {
		field.focus();
		field.select();
		return;
	}
	const holder = element('foreignObject', {id: 'findBox', x: full + SIDE - Math.min(360, full), y: 40, width: Math.min(360, full), height: 26},
		document.getElementById('head'));
	field = document.createElementNS(HTML, 'input');
	field.id = 'find';
	field.setAttribute('type', 'search');
	field.setAttribute('aria-label', 'Search');
	field.setAttribute('placeholder', 'name or regular expression');
	field.value = flame.search;
	field.addEventListener('input', () => search(field.value));
	field.addEventListener('keydown', event => {
		event.stopPropagation();
		if (event.key === 'Enter' || event.key === 'Escape') {
			event.preventDefault();
			if (event.key === 'Escape')
				search('');
			closeSearch();
		}
	});
	holder.appendChild(field);
	drawTools();
	field.focus();
}

function toggle(what) {
	const entry = flame.chosen >= 0 ? flame.tree.entry[flame.chosen] : -1;
	flame[what] = !flame[what];
	if (what === 'callers' || what === 'byName') {
		flame.begin();
		if (what === 'byName')
			flame.chosen = flame.tree.entry.indexOf(entry);
	}
	draw();
}

const WIDTHS = {max: 'now', now: 'was', was: 'max'};
const WIDTH_NAMES = {max: 'larger of both', now: 'after', was: 'before'};

function nextWidth() {
	flame.width = WIDTHS[flame.width];
	flame.begin();
	draw();
}

const BUTTONS = [
	{key: '/', id: 'search', label: () => 'Search', on: () => flame.search !== '', act: openSearch,
		help: 'Search names (/ or Ctrl-F)'},
	{key: 'r', id: 'reset', label: () => 'Reset', on: () => false, act: reset, help: 'Zoom out, end the search (r)'},
	{key: 'i', id: 'invert', label: () => 'Icicles', on: () => flame.inverted, act: () => toggle('inverted'),
		help: 'Turn upside down (i)'},
	{key: 'c', id: 'callers', label: () => 'Callers', on: () => flame.callers, act: () => toggle('callers'),
		help: 'Merge from the innermost function outwards (c)'},
	{key: 'p', id: 'percent', label: () => 'Percent', on: () => flame.relative, act: () => toggle('relative'),
		help: 'Shares instead of figures (p)'},
	{key: 'o', id: 'order', label: () => 'A\u2013Z', on: () => flame.byName, act: () => toggle('byName'),
		help: 'Neighbours by name instead of size (o)'},
	{key: 'm', id: 'colour', label: () => 'Modules', on: () => flame.byModule, act: () => toggle('byModule'),
		help: 'Colours by module instead of name (m)', when: () => !flame.view.base && flame.names.hasModules()},
	{key: 'w', id: 'width', label: () => 'Width: ' + WIDTH_NAMES[flame.width], on: () => false, act: nextWidth,
		help: 'What the widths show (w)', when: () => flame.view.base},
];

/** Made once; later only words and looks change, so that the keyboard stays where it is. */
function makeTools() {
	for (const b of BUTTONS) {
		if (b.when && !b.when())
			continue;
		b.group = element('g', {class: 'button', id: 'button-' + b.id, tabindex: 0, role: 'button'}, tools);
		element('title', {}, b.group).textContent = b.help;
		b.rect = element('rect', {y: 8, height: 24}, b.group);
		b.text = element('text', {y: 24}, b.group);
		b.group.addEventListener('click', b.act);
		b.group.addEventListener('keydown', event => {
			if (event.key === 'Enter' || event.key === ' ') {
				event.preventDefault();
				event.stopPropagation();
				b.act();
			}
		});
	}
	element('text', {id: 'matched', 'text-anchor': 'end'}, tools);
}

function drawTools() {
	let x = full + SIDE;
	for (const b of BUTTONS.filter(button => button.group).reverse()) {
		const label = b.label();
		const width = label.length * 7 + 18;
		x -= width;
		b.rect.setAttribute('x', x);
		b.rect.setAttribute('width', width);
		b.text.setAttribute('x', x + width / 2);
		b.text.textContent = label;
		b.group.setAttribute('aria-label', b.help);
		b.group.setAttribute('aria-pressed', String(b.on()));
		x -= 6;
	}
	const matched = document.getElementById('matched');
	matched.setAttribute('x', full + SIDE - (field === null ? 0 : Math.min(360, full) + 12));
	matched.setAttribute('y', 57);
}

// ---- keyboard and mouse ----

const WAYS = {ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down'};

function choose(i) {
	flame.chosen = i;
	mark(chosen, i);
	mark(hover, -1);
	showTip(-1);
	say(i);
	const view = visibleArea(), y = TOP + flame.row(flame.tree.depth[Math.max(0, i)]) * frame;
	if (i >= 0 && (y < view.top + TOP || y + frame > view.bottom - BOTTOM))
		chosen.scrollIntoView({block: 'center'});
}

function escape() {
	if (field !== null || flame.search !== '') {
		closeSearch();
		search('');
	} else if (flame.chosen >= 0 && flame.chosen !== flame.zoomed) {
		choose(-1);
	} else if (flame.zoomed !== 0) {
		zoom(flame.tree.parent[flame.zoomed]);
	} else {
		choose(-1);
	}
}

function onKey(event) {
	if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
		event.preventDefault();
		openSearch();
		return;
	}
	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	const button = BUTTONS.find(b => b.key === event.key && b.group);
	if (WAYS[event.key])
		choose(flame.step(WAYS[event.key]));
	else if (event.key === 'Enter' && flame.chosen >= 0)
		zoom(flame.chosen);
	else if (event.key === 'Escape')
		escape();
	else if (event.key === 'n' && flame.search !== '')
		choose(flame.nextHit());
	else if (button)
		button.act();
	else
		return;
	event.preventDefault();
}

function onMove(event) {
	const p = pointOf(event), i = boxOf(p);
	mark(hover, i);
	svg.style.cursor = i >= 0 ? 'pointer' : '';
	showTip(i, p.x, p.y);
	say(i >= 0 ? i : flame.chosen);
}

function onClick(event) {
	if (tools.contains(event.target) || field !== null && field.contains(event.target))
		return;
	const i = boxOf(pointOf(event));
	if (i >= 0)
		zoom(i);
}

// ---- address and window ----

function remember() {
	const words = new URLSearchParams(flame.state()).toString();
	try {
		history.replaceState(null, '', words === '' ? location.pathname + location.search : '#' + words);
	} catch {
		/* not allowed where the file is shown inside another page */
	}
}

/** As wide as the window, unless a width was asked for. Says whether that changed anything. */
function fit() {
	if (doc.options.fullWidth !== 0)
		return false;
	const width = Math.max(300, document.documentElement.clientWidth || window.innerWidth) - 2 * SIDE;
	if (window !== window.top || width === full)
		return false;
	full = width;
	return true;
}

/** Pixels of a text as the boxes have it. */
function startMeasuring() {
	const probe = element('text', {}, boxes), style = getComputedStyle(probe);
	const canvas = document.createElementNS(HTML, 'canvas');
	measure = measurer(canvas.getContext('2d'), style.fontSize + ' ' + style.fontFamily);
	probe.remove();
}

/** Heading and details stay in sight when the picture is taller than the window. */
function stick() {
	const scroll = window.scrollY || 0, view = window.innerHeight;
	const height = TOP + (flame.tree.deepest + 1) * frame + BOTTOM;
	document.getElementById('head').setAttribute('transform', 'translate(0,' + scroll + ')');
	const lift = Math.min(0, scroll + view - height);
	document.getElementById('foot').setAttribute('transform', 'translate(0,' + lift + ')');
	document.getElementById('head').setAttribute('class', scroll > 0 ? 'over' : '');
	document.getElementById('foot').setAttribute('class', lift < 0 ? 'over' : '');
}

makeTools();
startMeasuring();
svg.setAttribute('tabindex', '-1');
svg.setAttribute('id', 'view');
if (location.hash.length > 1)
	flame.restore(new URLSearchParams(location.hash.slice(1)));
draw();
if (fit())
	draw();
if (!flame.inverted && window.scrollTo)
	window.scrollTo(0, document.documentElement.scrollHeight || 1e9);
stick();
window.addEventListener('scroll', stick);
window.addEventListener('resize', () => {
	if (fit())
		draw();
	stick();
});
window.addEventListener('keydown', onKey);
svg.addEventListener('mousemove', onMove);
svg.addEventListener('mouseleave', () => {
	mark(hover, -1);
	showTip(-1);
	say(flame.chosen);
});
svg.addEventListener('click', onClick);

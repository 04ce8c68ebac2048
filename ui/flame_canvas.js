// SPDX-License-Identifier: MIT
// flame_canvas.js -- the flame graph of the page, drawn on a canvas as large as its window.
//
// The box scrolls, the canvas sticks to its top and draws the part that is seen, so that a stack of
// a thousand frames needs no canvas of that height.

import {Flame, measurer} from './flame.js';
import {make} from './list.js';

const FRAME = 18, TEXT_MIN = 24, LEAST = 0.4, FONT = '12px system-ui, "DejaVu Sans", sans-serif';
const WAYS = {ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down'};

export class FlameCanvas {
	constructor(panel, changed) {
		this.changed = changed;
		this.canvas = make('canvas', {});
		this.spacer = make('div', {});
		this.stage = make('div', {class: 'stage', tabindex: '0', role: 'application', 'aria-label': 'Flame graph'},
			this.canvas, this.spacer);
		this.tip = make('div', {class: 'tip', hidden: ''});
		this.details = make('div', {class: 'details', role: 'status', 'aria-live': 'polite'});
		this.buttons = make('div', {class: 'bar'});
		this.note = make('span', {class: 'soft'});
		panel.append(this.buttons, this.stage, this.details, this.tip);
		this.hover = -1;
		this.stage.addEventListener('mousemove', event => this.onMove(event));
		this.stage.addEventListener('mouseleave', () => this.point(-1));
		this.stage.addEventListener('click', event => this.onClick(event));
		this.stage.addEventListener('keydown', event => this.onKey(event));
		this.stage.addEventListener('scroll', () => this.paint());
		new ResizeObserver(() => this.resize()).observe(this.stage);
	}

	show(doc, view, options, search) {
		this.flame = new Flame(doc, view, options);
		this.flame.find(search);
		this.makeButtons();
		this.redraw();
	}

	makeButtons() {
		const f = this.flame;
		const flip = (what, begin) => () => {
			f[what] = !f[what];
			if (begin)
				f.begin();
			this.redraw();
		};
		this.controls = [
			{id: 'reset', text: 'Reset', help: 'Zoom out (r)', key: 'r', act: () => this.zoom(0)},
			{id: 'callers', text: 'Callers', help: 'Merge from the innermost function outwards (c)', key: 'c',
				on: () => f.callers, act: flip('callers', true)},
			{id: 'flames', text: 'Flames', help: 'Callers at the bottom (i)', key: 'i', on: () => !f.inverted,
				act: flip('inverted', false)},
			{id: 'percent', text: 'Percent', help: 'Shares instead of figures (p)', key: 'p', on: () => f.relative,
				act: flip('relative', false)},
			{id: 'order', text: 'A\u2013Z', help: 'Neighbours by name instead of size (o)', key: 'o', on: () => f.byName,
				act: flip('byName', true)},
		];
		if (f.view.base)
			for (const [mode, text] of [['max', 'Larger of both'], ['now', 'After'], ['was', 'Before']])
				this.controls.push({id: 'width-' + mode, text, help: 'What the widths show', on: () => f.width === mode,
					act: () => {
						f.width = mode;
						f.begin();
						this.redraw();
					}});
		else if (f.names.hasModules())
			this.controls.push({id: 'modules', text: 'Modules', help: 'Colours by module instead of name (m)', key: 'm',
				on: () => f.byModule, act: flip('byModule', false)});
		for (const c of this.controls) {
			c.button = make('button', {type: 'button', text: c.text, title: c.help, id: 'flame-' + c.id});
			c.button.addEventListener('click', c.act);
		}
		this.buttons.replaceChildren(...this.controls.map(c => c.button), this.note);
	}

	/** Everything anew, after anything but the mouse. */
	redraw() {
		for (const c of this.controls)
			if (c.on)
				c.button.setAttribute('aria-pressed', String(c.on()));
		this.note.textContent = this.flame.leftOutText();
		this.hover = -1;
		this.spacer.style.height = '0';
		const levels = (this.flame.tree.deepest + 1) * FRAME + 8;
		this.spacer.style.height = Math.max(0, levels - this.stage.clientHeight) + 'px';
		this.say(this.flame.chosen);
		this.resize();
		this.changed();
	}

	resize() {
		const ratio = window.devicePixelRatio || 1;
		const width = this.stage.clientWidth, height = this.stage.clientHeight;
		if (width === 0 || height === 0 || !this.flame)
			return;
		this.full = width - 16;
		this.canvas.width = Math.round(width * ratio);
		this.canvas.height = Math.round(height * ratio);
		this.canvas.style.width = width + 'px';
		this.canvas.style.height = height + 'px';
		this.paint();
	}

	/** Height of the first row: pictures with their root below stand on the ground. */
	top() {
		const levels = (this.flame.tree.deepest + 1) * FRAME + 8;
		const room = this.stage.clientHeight - levels;
		return (this.flame.inverted ? 4 : Math.max(4, room + 4)) - this.stage.scrollTop;
	}

	paint() {
		if (!this.flame || !this.full)
			return;
		const c = this.canvas.getContext('2d'), ratio = window.devicePixelRatio || 1;
		const height = this.stage.clientHeight, top = this.top(), f = this.flame;
		const style = getComputedStyle(document.body);
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.clearRect(0, 0, this.canvas.width, this.canvas.height);
		c.font = FONT;
		c.textBaseline = 'middle';
		this.measure = this.measure || measurer(c, FONT);
		f.each(this.full, LEAST, (i, x, w, below) => {
			const y = top + f.row(f.tree.depth[i]) * FRAME;
			if (y > -FRAME && y < height)
				this.box(c, i, 8 + x, y, w, below);
		});
		this.outline(c, this.hover, style.color, 1.5);
		this.outline(c, f.chosen, style.getPropertyValue('--accent') || '#0a58ff', 2.5);
	}

	box(c, i, x, y, w, below) {
		const f = this.flame, hit = f.isHit(i);
		c.globalAlpha = below ? 0.55 : f.hits !== null && !hit ? 0.6 : 1;
		c.fillStyle = hit ? '#d63bd6' : f.fill(i);
		c.fillRect(x, y, w > 2 ? w - 0.6 : w, FRAME - 1);
		if (w > 6 && (f.isGone(i) || f.isNew(i))) {
			c.setLineDash(f.isGone(i) ? [3, 2] : []);
			c.strokeStyle = f.isGone(i) ? '#2f6db5' : '#b3261e';
			c.lineWidth = 1;
			c.strokeRect(x + 0.5, y + 0.5, w - 1.6, FRAME - 2);
			c.setLineDash([]);
		}
		c.globalAlpha = 1;
		if (w >= TEXT_MIN) {
			c.fillStyle = hit ? '#ffffff' : '#14181d';
			c.fillText(f.label(i, w - 8, this.measure), x + 4, y + FRAME / 2);
		}
	}

	outline(c, i, colour, width) {
		if (i < 0)
			return;
		const p = this.flame.place(i, this.full);
		c.strokeStyle = colour;
		c.lineWidth = width;
		c.strokeRect(8 + p.x, this.top() + this.flame.row(this.flame.tree.depth[i]) * FRAME, Math.max(1, p.w - 0.6), FRAME - 1);
	}

	boxOf(event) {
		const at = this.canvas.getBoundingClientRect();
		const row = Math.floor((event.clientY - at.top - this.top()) / FRAME);
		return this.flame.at(event.clientX - at.left - 8, row, this.full);
	}

	fillLines(into, i) {
		const lines = i >= 0 ? this.flame.lines(i) : [];
		into.replaceChildren(...lines.map((text, at) => make(at === 0 ? 'b' : 'div', {text})));
	}

	say(i) {
		this.fillLines(this.details, i);
		if (i < 0)
			this.details.append(make('span', {class: 'soft',
				text: 'Click or Enter zooms, arrows move, Escape zooms out, / searches, n goes to the next match.'}));
	}

	point(i, event) {
		if (i !== this.hover) {
			this.hover = i;
			this.fillLines(this.tip, i);
			this.paint();
		}
		this.tip.hidden = i < 0;
		this.stage.style.cursor = i >= 0 ? 'pointer' : '';
		if (i < 0)
			return;
		const w = this.tip.offsetWidth, h = this.tip.offsetHeight;
		this.tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - w - 8)) + 'px';
		this.tip.style.top = (event.clientY + 18 + h > window.innerHeight ? event.clientY - h - 10 : event.clientY + 18) + 'px';
	}

	onMove(event) {
		if (this.full)
			this.point(this.boxOf(event), event);
	}

	onClick(event) {
		const i = this.boxOf(event);
		if (i >= 0)
			this.zoom(i);
	}

	zoom(i) {
		this.flame.zoomed = i;
		this.flame.chosen = i === 0 ? -1 : i;
		this.tip.hidden = true;
		this.redraw();
		this.reveal(i);
	}

	choose(i) {
		if (i < 0)
			return;
		this.flame.chosen = i;
		this.reveal(i);
		this.say(i);
		this.paint();
	}

	reveal(i) {
		const y = this.top() + this.flame.row(this.flame.tree.depth[i]) * FRAME;
		if (y < 0)
			this.stage.scrollTop += y - 4;
		else if (y + FRAME > this.stage.clientHeight)
			this.stage.scrollTop += y + FRAME + 4 - this.stage.clientHeight;
	}

	find(text) {
		this.flame.find(text);
		this.redraw();
	}

	/** True when there was something to go back from. */
	back() {
		const f = this.flame;
		if (f.chosen >= 0 && f.chosen !== f.zoomed) {
			f.chosen = -1;
			this.redraw();
		} else if (f.zoomed !== 0) {
			this.zoom(f.tree.parent[f.zoomed]);
		} else {
			return false;
		}
		return true;
	}

	onKey(event) {
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		const f = this.flame, control = this.controls.find(c => c.key === event.key);
		if (WAYS[event.key])
			this.choose(f.step(WAYS[event.key]));
		else if (event.key === 'Enter' && f.chosen >= 0)
			this.zoom(f.chosen);
		else if (event.key === 'n' && f.hits !== null)
			this.choose(f.nextHit());
		else if (control)
			control.act();
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	focus() {
		this.stage.focus();
	}
}

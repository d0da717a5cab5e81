// SPDX-License-Identifier: MIT
// The flame graph that answers: boxes, zoom, search, tooltips, keys. flame.c puts it into each
// picture with flame_alone.js around it, html.c into each page with page.js. The text of the nodes
// is described at flame_data_nodes.
"use strict";

function flame_element(name, attributes, parent, text) {
    return flame_fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, parent, text);
}

function flame_fill(made, attributes, parent, text) {
    for (const key in attributes)
        made.setAttribute(key, attributes[key]);
    if (text !== undefined)
        made.textContent = text;
    if (parent)
        parent.appendChild(made);
    return made;
}

// Nodes in the order of the text: a parent comes before its children.
function flame_nodes(text, frames, compared) {
    const nodes = [], path = [];
    for (const word of text.trim().split(/\s+/)) {
        const n = word.split(",").map(t => t === "" ? 0 : parseInt(t, 36));
        path.length -= Math.min(n[0], path.length);
        const parent = path.length > 0 ? path[path.length - 1] : null;
        const node = {
            frame: frames[n[1]], rest: n[1] === 1, value: n[2], objects: n[3], more: n[4],
            width: compared ? n[5] : n[2], base: n[6], baseObjects: n[7], level: n[8],
            depth: path.length, parent: parent, left: 0, used: 0, hit: false
        };
        if (parent) {
            node.left = parent.left + parent.used;
            parent.used += node.width;
        }
        path.push(node);
        nodes.push(node);
    }
    return nodes;
}

// The same stacks, merged from the leaf on: what a box has beyond its children is a stack that
// ends there. Not for comparisons, whose widths do not add up that way.
function flame_reversed(nodes) {
    const inside = new Map(), top = {frame: nodes[0].frame, value: 0, objects: 0, more: 0};
    top.below = new Map();
    for (const node of nodes) {
        const sum = inside.get(node.parent) || {value: 0, objects: 0};
        sum.value += node.value;
        sum.objects += node.objects;
        inside.set(node.parent, sum);
    }
    for (const node of nodes) {
        const sum = inside.get(node) || {value: 0, objects: 0}, value = node.value - sum.value;
        if (value <= 0 || node.parent === null)
            continue;
        let into = top;
        for (let at = node; ; at = at.parent) {
            into.value += value;
            into.objects += node.objects - sum.objects;
            if (at.parent === null)
                break;
            let next = into.below.get(at.frame);
            if (!next) {
                next = {frame: at.frame, rest: at.rest, value: 0, objects: 0, more: 0};
                next.below = new Map();
                into.below.set(at.frame, next);
            }
            next.more += at === node ? node.more : 0;
            into = next;
        }
    }
    const result = [], value_min = top.value / 20000;
    const add = (from, parent, left) => {
        const node = {
            frame: from.frame, rest: from.rest || false, value: from.value, objects: from.objects,
            more: from.more, width: from.value, depth: parent ? parent.depth + 1 : 0,
            parent: parent, left: left, hit: false
        };
        result.push(node);
        return node;
    };
    const waiting = [[top, null, 0]];
    while (waiting.length > 0) {
        const [from, parent, left] = waiting.pop(), node = add(from, parent, left);
        const below = [...from.below.values()].filter(b => b.value >= value_min)
            .sort((a, b) => b.value - a.value);
        let at = left;
        for (const next of below) {
            waiting.push([next, node, at]);
            at += next.value;
        }
    }
    return result;
}

// "1.31 GiB", "412 M", "3.20 s": as in the reports.
const flame_scales = {
    bytes: [["B", 1], ["KiB", 1024], ["MiB", 1048576], ["GiB", 1073741824],
            ["TiB", 1099511627776], ["PiB", 1125899906842624]],
    counts: [["", 1], ["K", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12], ["P", 1e15]],
    times: [["ns", 1], ["\u00b5s", 1e3], ["ms", 1e6], ["s", 1e9], ["min", 6e10], ["h", 3.6e12]],
    units: {nanoseconds: 1, microseconds: 1e3, milliseconds: 1e6, seconds: 1e9, minutes: 6e10,
            ns: 1, us: 1e3, ms: 1e6, s: 1e9}
};

function flame_amount(value, unit) {
    const time = Object.hasOwn(flame_scales.units, unit) ? flame_scales.units[unit] : 0;
    const scales = time ? flame_scales.times :
        unit === "bytes" || unit === "byte" ? flame_scales.bytes : flame_scales.counts;
    const all = Math.abs(value) * (time || 1);
    let at = 0;
    while (at + 1 < scales.length && all >= scales[at + 1][1] * 0.9995)
        at++;
    const left = all / scales[at][1];
    const digits = at === 0 ? 0 : left < 9.995 ? 2 : left < 99.95 ? 1 : 0;
    return (value < 0 ? "-" : "") + left.toFixed(digits) +
           (scales[at][0] ? " " + scales[at][0] : "");
}

function flame_share(part, whole) {
    const percent = whole > 0 ? 100 * part / whole : 0;
    return (percent >= 9.95 || percent === 0 ? percent.toFixed(percent < 99.95 ? 1 : 0)
            : percent < 0.01 ? "<0.01" : percent.toFixed(2)) + " %";
}

// Template arguments go first, then parameters, then qualifiers, then the end.
function flame_fit(name, columns) {
    if (name.length <= columns)
        return name;
    name = name.replaceAll("(anonymous namespace)::", "");
    name = flame_fold(flame_fold(name, "<", ">", columns), "(", ")", columns);
    if (Array.from(name).length <= columns)
        return name;
    name = name.replace(/(.)\(\u2026\)[^}]*$/, "$1");
    while (name.length > columns && /::./.test(name))
        name = name.slice(name.indexOf("::") + 2);
    const text = Array.from(name);
    return text.length <= columns ? name : text.slice(0, columns - 1).join("") + "\u2026";
}

function flame_fold(name, open, close, columns) {
    if (name.length <= columns)
        return name;
    let result = "", depth = 0;
    for (let i = 0; i < name.length; i++) {
        const c = name[i];
        const plain = /\boperator[<>(]?$/.test(name.slice(Math.max(0, i - 10), i)) ||
                      (c === ">" && name[i - 1] === "-") || (c === "<" && /[^r(]\)$/.test(name.slice(0, i)));
        if (c === open && !plain) {
            if (depth++ === 0)
                result += open + "\u2026";
        } else if (c === close && !plain && depth > 0) {
            if (--depth === 0)
                result += close;
        } else if (depth === 0) {
            result += c;
        }
    }
    return result;
}

// The picture in `svg`, whose #boxes it fills. `host` is what is around it:
//     unit, compared, modules   of the data
//     top, side                 pixels that are not for boxes
//     inverted                  roots on top
//     width()                   pixels
//     sized(height)             boxes need so many pixels
//     found(text, right)        what a search has found, or why it can't
//     zoomed(whole, node)       another part is shown
function flame(svg, nodes, host) {
    const ROW = 18, CHARACTER = 6.63;
    const INLINED = 1, GUESS = 2, UNNAMED = 4, SIDE = host.side, unit = host.unit;
    const group = svg.querySelector("#boxes"), compared = host.compared;
    let root, zoomed, deepest, pattern = null, hits = [], hitAt = -1, inverted = host.inverted;
    let chosen = null, width = 0;

    // Other nodes in the place of these; the search goes on.
    function load(others) {
        nodes = others;
        zoomed = root = nodes[0];
        chosen = null;
        deepest = nodes.reduce((max, node) => Math.max(max, node.depth), 0);
    }

    function label(node) {
        const name = node.frame[0];
        if (node.rest)
            return "\u2026 " + node.more + " smaller";
        return node.frame[3] & GUESS && name[0] !== "~" ? "~" + name : name;
    }

    function within(node, top) {
        return node.left >= top.left && node.left + node.width <= top.left + top.width &&
               node.depth >= top.depth;
    }

    function draw() {
        const room = width - 2 * SIDE, scale = room / zoomed.width, all = [];
        for (const node of nodes) {
            node.drawn = null;
            const above = node.depth < zoomed.depth && node.left <= zoomed.left &&
                          node.left + node.width >= zoomed.left + zoomed.width;
            if (!above && !within(node, zoomed))
                continue;
            const w = above ? room : node.width * scale;
            if (w < 0.3)
                continue;
            all.push(box(node, above ? SIDE : SIDE + (node.left - zoomed.left) * scale, w, above));
        }
        group.replaceChildren(...all);
        select(chosen);
    }

    function box(node, x, w, above) {
        const y = host.top + (inverted ? node.depth : deepest - node.depth) * ROW;
        const flags = node.frame[3], inlined = flags & INLINED ? 1 : 0;
        let kind = compared ? (node.level < 0 ? "l" : "g") + Math.abs(node.level) : node.frame[4];
        if (pattern && node.hit)
            kind = "hit";
        let classes = above || (pattern && !node.hit) ? "out" : "";
        if (flags & (GUESS | UNNAMED))
            classes += " dim";
        const made = flame_element("g", {"class": classes});
        made.node = node;
        node.drawn = made;
        flame_element("rect", {
            "class": kind, x: x.toFixed(2), y: y - (inlined && inverted ? 1 : 0),
            width: Math.max(w - (w > 2 ? 0.6 : 0), 0.1).toFixed(2), height: ROW - 1 + inlined
        }, made);
        const gone = compared ? (node.width - node.value) / node.width * w : 0;
        if (gone >= 0.5)
            flame_element("rect", {
                fill: "url(#gone)", x: (x + w - gone).toFixed(2), y: y,
                width: Math.max(gone - 0.6, 0.1).toFixed(2), height: ROW - 1
            }, made);
        const columns = Math.floor((w - 6) / CHARACTER), name = columns < 1 ? "" : label(node);
        const text = columns < 5 && name.length > columns ? "" : flame_fit(name, columns);
        if (text)
            flame_element("text", {"class": "tx", x: (x + 3).toFixed(1), y: y + 13}, made, text);
        return made;
    }

    // The tooltip.
    const tip = flame_element("g", {"class": "ui", "pointer-events": "none"}, svg);
    tip.style.display = "none";

    function told(node) {
        const lines = [label(node)];
        const module = node.frame[2] >= 0 ? host.modules[node.frame[2]] : "";
        const place = [node.frame[1], module].filter(t => t).join("  \u00b7  ");
        if (place)
            lines.push(place);
        let numbers = flame_amount(node.value, unit) + "  \u00b7  " +
                      flame_share(compared ? node.width : node.value, root.width) + " of all";
        if (zoomed !== root && within(node, zoomed))
            numbers += "  \u00b7  " + flame_share(node.width, zoomed.width) + " of the zoomed";
        lines.push(numbers);
        if (node.objects > 0 && unit === "bytes")
            lines.push(flame_amount(node.objects, "count") + " objects of " +
                       flame_amount(node.value / node.objects, unit) + " on average");
        if (compared) {
            const change = node.value - node.base, sign = change > 0 ? "+" : change < 0 ? "\u2212" : "";
            lines.push("was " + flame_amount(node.base, unit) + "  \u00b7  " + sign +
                       flame_amount(Math.abs(change), unit) +
                       (node.base === 0 ? "  \u00b7  new" : node.value === 0 ? "  \u00b7  gone" :
                        "  (" + sign + flame_share(Math.abs(change), node.base) + ")") +
                       (node.level === 0 && change !== 0 ? "  \u00b7  within the error" : ""));
        }
        const words = [];
        if (node.frame[3] & INLINED)
            words.push("inlined");
        if (node.frame[3] & GUESS)
            words.push("the nearest exported name: a guess");
        if (node.more > 0)
            words.push(node.rest ? "too small to be drawn one by one"
                                 : node.more + " stacks go on, too small to be drawn");
        if (words.length > 0)
            lines.push(words.join("  \u00b7  "));
        return lines;
    }

    function show(node, x, y) {
        const length_max = Math.min(150, Math.floor((width - 30) / 6.7));
        let wide = 0, down = 19;
        tip.replaceChildren();
        const back = flame_element("rect", {"class": "tip", rx: 5}, tip);
        told(node).forEach((line, i) => {
            const text = flame_element("text", {
                "class": i === 0 ? "tx strong" : "sub", x: 10, y: down
            }, tip, line.length > length_max ? flame_fit(line, length_max) : line);
            tip.style.display = "";
            wide = Math.max(wide, text.getComputedTextLength());
            down += 17;
        });
        back.setAttribute("width", wide + 20);
        back.setAttribute("height", down - 6);
        const left = Math.max(4, Math.min(x + 14, width - wide - 24));
        const below = y + 18, fits = below + down < svg.viewBox.baseVal.height;
        tip.setAttribute("transform", "translate(" + left + "," +
                         (fits ? below : Math.max(2, y - down - 6)) + ")");
    }

    function point(event) {
        const at = svg.createSVGPoint();
        at.x = event.clientX;
        at.y = event.clientY;
        return at.matrixTransform(svg.getScreenCTM().inverse());
    }

    function owner(event) {
        const at = event.target.closest ? event.target.closest("#boxes g") : null;
        return at ? at.node : null;
    }

    function zoom(node) {
        zoomed = node;
        tip.style.display = "none";
        draw();
        host.zoomed(node === root, node);
    }

    // Boxes that fit; the share counts a stack once, however often it fits.
    function search(text) {
        let expression = null;
        if (text !== "") {
            try {
                expression = new RegExp(text, /[A-Z]/.test(text) ? "" : "i");
            } catch (error) {
                host.found("not a regular expression", false);
                return;
            }
        }
        pattern = expression;
        const known = new Map();
        let value = 0, unseen = 0; // unseen: in boxes that were too small, and might fit
        hits = [];
        hitAt = -1;
        chosen = null;
        for (const node of nodes) {
            if (!known.has(node.frame))
                known.set(node.frame, node !== root && !node.rest && fits(node.frame));
            node.hit = known.get(node.frame);
            node.covered = node.hit || (node.parent !== null && node.parent.covered);
            if (node.hit)
                hits.push(node);
            if (!node.covered && node.more > 0)
                unseen += node.width;
            if (node.hit && !(node.parent && node.parent.covered))
                value += compared ? node.width : node.value;
        }
        hits.sort((a, b) => b.width - a.width);
        host.found(expression === null ? "" : "matched " +
            (unseen > root.width / 2000 ? "at least " : "") + flame_share(value, root.width) +
            "  \u00b7  " + flame_amount(value, unit) +
            (hits.length > 0 ? "  \u00b7  n next" : ""), true);
        draw();
    }

    function fits(frame) {
        return pattern !== null && (pattern.test(frame[0]) || pattern.test(frame[1]) ||
                                    (frame[2] >= 0 && pattern.test(host.modules[frame[2]])));
    }

    function step(by) {
        if (hits.length === 0)
            return;
        hitAt = (hitAt + by + hits.length) % hits.length;
        const node = hits[hitAt], room = width - 2 * SIDE;
        chosen = node;
        if (!within(node, zoomed) || node.width / zoomed.width * room < 20)
            zoom(node.width / root.width * room < 20 ? node : root);
        select(node);
        host.found((hitAt + 1) + " of " + hits.length + "  \u00b7  " +
            flame_amount(node.value, unit) + "  \u00b7  " +
            flame_share(node.width, root.width), true);
    }

    function select(node) {
        for (const old of group.querySelectorAll(".chosen"))
            old.classList.remove("chosen");
        if (node && node.drawn && node.drawn.parentNode)
            node.drawn.classList.add("chosen");
    }

    // Arrow keys: to the caller, into the largest callee, to the neighbours; Enter zooms.
    function key(name) {
        const from = chosen || zoomed, up = inverted ? "ArrowUp" : "ArrowDown";
        const beside = nodes.filter(n => n.depth === from.depth && n.drawn);
        let to = null;
        if (name === "Enter")
            zoom(from === zoomed ? root : from);
        else if (name === up)
            to = from.parent;
        else if (name === "ArrowUp" || name === "ArrowDown")
            to = nodes.find(n => n.parent === from && n.drawn);
        else if (name === "ArrowLeft" || name === "ArrowRight")
            to = beside[beside.indexOf(from) + (name === "ArrowLeft" ? -1 : 1)];
        else
            return false;
        if (to && to.drawn) {
            chosen = to;
            select(to);
            const box = to.drawn.firstChild;
            to.drawn.scrollIntoView({block: "nearest"});
            show(to, +box.getAttribute("x"), +box.getAttribute("y") + 8);
        }
        return true;
    }

    function resize() {
        const height = host.top + (deepest + 1) * ROW + host.side;
        width = host.width();
        host.sized(height);
        draw();
    }

    group.addEventListener("click", event => {
        const node = owner(event);
        if (node)
            zoom(node === zoomed ? root : node);
    });
    group.addEventListener("mousemove", event => {
        const node = owner(event), at = point(event);
        if (node)
            show(node, at.x, at.y);
    });
    group.addEventListener("mouseleave", () => tip.style.display = "none");
    load(nodes);
    return {
        tip: tip, search: search, step: step, key: key, resize: resize,
        searching: () => pattern !== null,
        zoom: node => node === zoomed || zoom(node),
        whole: () => zoom(root),
        load: others => {
            load(others);
            resize();
        },
        turn: on => {
            inverted = on === undefined ? !inverted : on;
            draw();
        }
    };
}

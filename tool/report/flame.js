// SPDX-License-Identifier: MIT
// What makes the flame graph answer: zoom, search, tooltips, the width of the window. flame.c puts
// it into each picture; the data beside it is described at flame_datum.
(function () {
    "use strict";
    const NS = "http://www.w3.org/2000/svg", ROW = 18, TOP = 84, SIDE = 12, CHARACTER = 6.63;
    const INLINED = 1, GUESS = 2, UNNAMED = 4;
    const svg = document.documentElement, group = document.getElementById("boxes");
    const data = JSON.parse(document.getElementById("data").textContent);
    const frames = data.frames, compared = data.compared;

    // Nodes in the order of the file: a parent comes before its children.
    const nodes = [];
    let deepest = 0;
    {
        const path = [];
        for (const word of data.nodes.trim().split(/\s+/)) {
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
            deepest = Math.max(deepest, node.depth);
            nodes.push(node);
        }
    }
    const root = nodes[0];
    let zoomed = root, pattern = null, hits = [], hitAt = -1, inverted = data.inverted;
    let width = svg.viewBox.baseVal.width, height = svg.viewBox.baseVal.height;

    function element(name, attributes, parent, text) {
        const made = document.createElementNS(NS, name);
        for (const key in attributes)
            made.setAttribute(key, attributes[key]);
        if (text !== undefined)
            made.textContent = text;
        if (parent)
            parent.appendChild(made);
        return made;
    }

    // "1.31 GiB", "412 M", "3.20 s": as in the reports.
    function amount(value, unit) {
        const sign = value < 0 ? "-" : "";
        let left = Math.abs(value), units = ["", " K", " M", " G", " T"], step = 1000, at = 0;
        if (unit === "bytes") {
            units = [" B", " KiB", " MiB", " GiB", " TiB", " PiB"];
            step = 1024;
        } else if (unit === "nanoseconds") {
            units = [" ns", " \u00b5s", " ms", " s"];
        } else if (unit === "microseconds") {
            units = [" \u00b5s", " ms", " s"];
        }
        while (left >= 999.5 && at + 1 < units.length) {
            left /= step;
            at++;
        }
        const digits = at === 0 ? 0 : left < 9.995 ? 2 : left < 99.95 ? 1 : 0;
        return sign + left.toFixed(digits) + units[at];
    }

    function share(part, whole) {
        const percent = whole > 0 ? 100 * part / whole : 0;
        return (percent >= 9.95 || percent === 0 ? percent.toFixed(percent < 99.95 ? 1 : 0)
                : percent < 0.01 ? "<0.01" : percent.toFixed(2)) + " %";
    }

    // Template arguments go first, then parameters, then qualifiers, then the end.
    function fit(name, columns) {
        if (name.length <= columns)
            return name;
        name = fold(fold(name, "<", ">", columns), "(", ")", columns);
        if (Array.from(name).length <= columns)
            return name;
        name = name.replace(/(.)\(\u2026\).*/, "$1");
        while (name.length > columns && /::./.test(name))
            name = name.slice(name.indexOf("::") + 2);
        const text = Array.from(name);
        return text.length <= columns ? name : text.slice(0, columns - 1).join("") + "\u2026";
    }

    function fold(name, open, close, columns) {
        if (name.length <= columns)
            return name;
        let result = "", depth = 0;
        for (let i = 0; i < name.length; i++) {
            const c = name[i];
            const plain = /operator.?$/.test(name.slice(Math.max(0, i - 9), i)) ||
                          (c === ">" && name[i - 1] === "-");
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
        reset.style.display = zoomed === root ? "none" : "";
        select(hitAt >= 0 ? hits[hitAt] : null);
    }

    function box(node, x, w, above) {
        const y = TOP + (inverted ? node.depth : deepest - node.depth) * ROW;
        const flags = node.frame[3], inlined = flags & INLINED ? 1 : 0;
        let kind = compared ? (node.level < 0 ? "l" : "g") + Math.abs(node.level) : node.frame[4];
        if (pattern && node.hit)
            kind = "hit";
        let classes = above || (pattern && !node.hit) ? "out" : "";
        if (flags & (GUESS | UNNAMED))
            classes += " dim";
        const made = element("g", {"class": classes});
        made.node = node;
        node.drawn = made;
        element("rect", {
            "class": kind, x: x.toFixed(2), y: y - (inlined && inverted ? 1 : 0),
            width: Math.max(w - (w > 2 ? 0.6 : 0), 0.1).toFixed(2), height: ROW - 1 + inlined
        }, made);
        const gone = compared ? (node.width - node.value) / node.width * w : 0;
        if (gone >= 0.5)
            element("rect", {
                fill: "url(#gone)", x: (x + w - gone).toFixed(2), y: y,
                width: Math.max(gone - 0.6, 0.1).toFixed(2), height: ROW - 1
            }, made);
        const columns = Math.floor((w - 6) / CHARACTER), name = columns < 1 ? "" : label(node);
        const text = columns < 5 && name.length > columns ? "" : fit(name, columns);
        if (text)
            element("text", {"class": "tx", x: (x + 3).toFixed(1), y: y + 13}, made, text);
        return made;
    }

    // The tooltip.
    const tip = element("g", {"class": "ui", "pointer-events": "none"}, svg);
    tip.style.display = "none";

    function told(node) {
        const unit = data.unit, lines = [label(node)];
        const module = node.frame[2] >= 0 ? data.modules[node.frame[2]] : "";
        const place = [node.frame[1], module].filter(t => t).join("  \u00b7  ");
        if (place)
            lines.push(place);
        let numbers = amount(node.value, unit) + "  \u00b7  " +
                      share(compared ? node.width : node.value, root.width) + " of all";
        if (zoomed !== root && within(node, zoomed))
            numbers += "  \u00b7  " + share(node.width, zoomed.width) + " of the zoomed";
        lines.push(numbers);
        if (node.objects > 0 && unit === "bytes")
            lines.push(amount(node.objects, "count") + " objects of " +
                       amount(node.value / node.objects, unit) + " on average");
        if (compared) {
            const change = node.value - node.base, sign = change > 0 ? "+" : change < 0 ? "\u2212" : "";
            lines.push("was " + amount(node.base, unit) + "  \u00b7  " + sign +
                       amount(Math.abs(change), unit) +
                       (node.base === 0 ? "  \u00b7  new" : node.value === 0 ? "  \u00b7  gone" :
                        "  (" + sign + share(Math.abs(change), node.base) + ")") +
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

    function show(node, event) {
        tip.replaceChildren();
        const back = element("rect", {"class": "tip", rx: 5}, tip);
        let wide = 0, y = 19;
        told(node).forEach((line, i) => {
            const text = element("text", {
                "class": i === 0 ? "tx strong" : "sub", x: 10, y: y
            }, tip, line.length > 150 ? fit(line, 150) : line);
            tip.style.display = "";
            wide = Math.max(wide, text.getComputedTextLength());
            y += 17;
        });
        back.setAttribute("width", wide + 20);
        back.setAttribute("height", y - 6);
        const at = point(event);
        const x = Math.max(4, Math.min(at.x + 14, width - wide - 24));
        const below = at.y + 18, fits = below + y < height;
        tip.setAttribute("transform", "translate(" + x + "," +
                         (fits ? below : Math.max(2, at.y - y - 6)) + ")");
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

    // Zoom.
    function zoom(node) {
        zoomed = node;
        tip.style.display = "none";
        draw();
    }

    // Search: boxes that fit; the share counts a stack once, however often it fits.
    function search(text) {
        let expression = null;
        field.classList.remove("wrong");
        if (text !== "") {
            try {
                expression = new RegExp(text, /[A-Z]/.test(text) ? "" : "i");
            } catch (error) {
                field.classList.add("wrong");
                found.textContent = "not a regular expression";
                return;
            }
        }
        pattern = expression;
        const fits = frames.map((f, i) => i > 1 && expression !== null &&
            (expression.test(f[0]) || expression.test(f[1]) ||
             (f[2] >= 0 && expression.test(data.modules[f[2]]))));
        const known = new Map(frames.map((f, i) => [f, fits[i]]));
        let value = 0, unseen = 0; // unseen: in boxes that were too small, and might fit
        hits = [];
        hitAt = -1;
        for (const node of nodes) {
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
        found.textContent = expression === null ? "" : "matched " +
            (unseen > root.width / 2000 ? "at least " : "") + share(value, root.width) +
            "  \u00b7  " + amount(value, data.unit) + (hits.length > 0 ? "  \u00b7  n next" : "");
        draw();
    }

    function step(by) {
        if (hits.length === 0)
            return;
        hitAt = (hitAt + by + hits.length) % hits.length;
        const node = hits[hitAt];
        if (!within(node, zoomed) || node.width / zoomed.width * (width - 2 * SIDE) < 20)
            zoom(node.width / root.width * (width - 2 * SIDE) < 20 ? node : root);
        select(node);
        found.textContent = (hitAt + 1) + " of " + hits.length + "  \u00b7  " +
            amount(node.value, data.unit) + "  \u00b7  " + share(node.width, root.width);
    }

    function select(node) {
        for (const old of group.querySelectorAll(".chosen"))
            old.classList.remove("chosen");
        if (node && node.drawn && node.drawn.parentNode)
            node.drawn.classList.add("chosen");
    }

    // The controls, on the right of the title.
    const style = element("style", {}, svg);
    style.textContent = ".hit{fill:#d596e6}.chosen rect{stroke:#d6336c;stroke-width:2}" +
        ".tip{fill:#fffffff5;stroke:#c3c8cf}.strong{font-weight:600 !important}" +
        "input{font:12px system-ui,sans-serif;box-sizing:border-box;width:100%;height:26px;" +
        "padding:2px 8px;border:1px solid #c3c8cf;border-radius:5px;background:#fff;color:#17202a}" +
        "input.wrong{border-color:#d6336c}.link{cursor:pointer}.link text{fill:#2563b8}" +
        "#boxes g:hover rect{filter:brightness(.94)}" +
        "@media (prefers-color-scheme:dark){.hit{fill:#8f49a6}.tip{fill:#22262cf5;stroke:#4a505a}" +
        "input{background:#22262c;color:#e9ebee;border-color:#4a505a}.link text{fill:#8ab4f8}" +
        "#boxes g:hover rect{filter:brightness(1.2)}}";
    const head = document.getElementById("head");
    const holder = element("foreignObject", {y: 12, width: 260, height: 28}, head);
    const field = document.createElementNS("http://www.w3.org/1999/xhtml", "input");
    field.setAttribute("placeholder", "Search ( / ), regular expression");
    field.setAttribute("id", "search");
    field.setAttribute("spellcheck", "false");
    holder.appendChild(field);
    const bar = element("g", {"class": "ui"}, head);
    const found = element("text", {id: "found", "class": "sub", "text-anchor": "end"}, bar, "");
    const reset = element("g", {id: "reset", "class": "ui link"}, head);
    element("text", {"text-anchor": "end"}, reset, "\u2190 whole graph (Esc)");
    reset.style.display = "none";

    function place() {
        holder.setAttribute("x", width - SIDE - 260);
        found.setAttribute("x", width - SIDE);
        found.setAttribute("y", 54);
        reset.firstChild.setAttribute("x", width - SIDE - 274);
        reset.firstChild.setAttribute("y", 29);
    }

    // Opened by itself, the picture is as wide as the window.
    function resize() {
        if (window.parent === window && window.innerWidth > 0) {
            width = Math.max(500, window.innerWidth - 16);
            svg.setAttribute("width", width);
            svg.setAttribute("viewBox", "0 0 " + width + " " + height);
        }
        place();
        draw();
    }

    field.addEventListener("input", () => search(field.value));
    group.addEventListener("click", event => {
        const node = owner(event);
        if (node)
            zoom(node === zoomed ? root : node);
    });
    reset.addEventListener("click", () => zoom(root));
    group.addEventListener("mousemove", event => {
        const node = owner(event);
        if (node)
            show(node, event);
    });
    group.addEventListener("mouseleave", () => tip.style.display = "none");
    window.addEventListener("resize", resize);
    window.addEventListener("keydown", event => {
        const typing = document.activeElement === field;
        if (event.key === "Escape") {
            if (typing || pattern) {
                field.value = "";
                field.blur();
                search("");
            } else {
                zoom(root);
            }
        } else if (typing && event.key === "Enter") {
            field.blur();
            step(1);
        } else if (!typing && (event.key === "/" || (event.key === "f" && event.ctrlKey))) {
            event.preventDefault();
            field.focus();
            field.select();
        } else if (!typing && event.key === "n") {
            step(1);
        } else if (!typing && event.key === "N") {
            step(-1);
        } else if (!typing && event.key === "i") {
            inverted = !inverted;
            draw();
        }
    });
    // The head stays in sight; roots at the bottom come into it first.
    function scroll() {
        head.setAttribute("transform", "translate(0," + Math.max(0, window.scrollY) + ")");
    }

    window.addEventListener("scroll", scroll);
    svg.appendChild(head);
    svg.appendChild(tip);
    resize();
    if (!inverted && window.parent === window && height > window.innerHeight)
        window.scrollTo(0, height);
})();

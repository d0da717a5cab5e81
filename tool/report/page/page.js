// SPDX-License-Identifier: MIT
// What makes a page answer: metrics, the flame graph, the table, search, keys, themes. html.c has
// written the page and the data; what is shown is in the address behind #, so that a link or the
// way back leads there again.
(function () {
    "use strict";
    const data = JSON.parse(document.getElementById("data").textContent);
    const frames = data.frames, ROWS = 100, UNNAMED = 6;
    const at = id => document.getElementById(id);
    const stage = at("stage"), svg = at("graph"), field = at("search"), body = at("table").tBodies[0];
    const cards = [...at("metrics").children], count = n => n.toLocaleString("en");

    // What is shown. `zoom` is a node's number.
    const first = {
        metric: data.metrics[0].key, query: "", sort: "", up: "", leaf: data.reversed ? "1" : "",
        zoom: ""
    };
    let state = Object.assign({}, first), written = null; // what of it is in the address
    let shown = null, graph = null, nodes = null, rows = ROWS;

    function element(name, attributes, parent, text) {
        return flame_fill(document.createElement(name), attributes, parent, text);
    }

    // The address.
    function write(replace) {
        const words = Object.keys(state).filter(key => state[key] !== first[key])
            .map(key => key + "=" + encodeURIComponent(state[key])).join("&");
        if (words === location.hash.slice(1))
            return;
        written = words;
        if (replace)
            location.replace("#" + words);
        else
            location.hash = words;
    }

    function read() {
        const next = Object.assign({}, first);
        for (const word of location.hash.slice(1).split("&")) {
            const key = word.slice(0, word.indexOf("="));
            try {
                if (key in next)
                    next[key] = decodeURIComponent(word.slice(key.length + 1));
            } catch (error) {
                continue; // cut in the middle of a character: as if it were not there
            }
        }
        if (!data.metrics.some(m => m.key === next.metric))
            next.metric = first.metric;
        state = next;
        written = location.hash.slice(1);
        show();
    }

    // Everything as the state says; what is already so stays.
    function show() {
        const metric = data.metrics.find(m => m.key === state.metric);
        const what = metric.key + state.leaf;
        cards.forEach((card, i) => card.setAttribute("aria-pressed", data.metrics[i] === metric));
        if (field.value !== state.query)
            field.value = state.query;
        at("flame-metric").textContent = metric.title + (data.two ? ", compared" : "");
        at("top-metric").textContent = metric.title;
        if (shown !== what)
            draw(metric);
        shown = what;
        at("turn").setAttribute("aria-pressed", state.up === "1");
        at("leaf").setAttribute("aria-pressed", state.leaf === "1");
        if (graph) {
            graph.turn(state.up !== "1");
            stage.scrollTop = state.up === "1" ? stage.scrollHeight : stage.scrollTop;
            graph.search(state.query);
            graph.zoom(nodes[+state.zoom] || nodes[0]);
        }
        table(metric);
    }

    // The flame graph.
    function draw(metric) {
        const whole = flame_nodes(metric.nodes, frames, metric.compared);
        const leaf = state.leaf === "1" && !metric.compared;
        nodes = leaf ? flame_reversed(whole) : whole;
        at("leaf").hidden = metric.compared;
        const boxes = svg.querySelector("#boxes");
        boxes.replaceWith(boxes.cloneNode(false));
        for (const old of svg.querySelectorAll(":scope > g.ui"))
            old.remove();
        graph = null;
        stage.hidden = at("flame-tools").hidden = nodes[0].width <= 0;
        at("pruned").textContent = nodes[0].width <= 0 ? "There are no values to draw." :
            pruned(whole);
        if (nodes[0].width <= 0)
            return;
        graph = flame(svg, nodes, {
            unit: metric.unit, compared: metric.compared, modules: data.modules,
            inverted: state.up !== "1", top: 4, side: 4,
            width: () => Math.max(280, stage.clientWidth),
            sized: height => {
                const wide = Math.max(280, stage.clientWidth);
                svg.setAttribute("width", wide);
                svg.setAttribute("height", height);
                svg.setAttribute("viewBox", "0 0 " + wide + " " + height);
            },
            found: (text, right) => {
                field.classList.toggle("wrong", !right);
                at("found").textContent = text;
            },
            zoomed: (all, node) => {
                at("whole").hidden = all;
                const number = all ? "" : String(nodes.indexOf(node));
                if (number !== state.zoom) {
                    state.zoom = number;
                    write(false);
                }
            }
        });
        graph.resize();
        legend(metric.compared);
    }

    function pruned(whole) {
        const merged = whole.reduce((sum, node) => sum + (node.more || 0), 0);
        return merged === 0 ? "" : count(merged) + " stacks and boxes that are too small to be drawn " +
            "one by one are merged with their neighbours or cut, to keep this file small; " +
            "memoir export " + data.name + " -o flame.svg has more of them.";
    }

    function legend(compared) {
        const words = compared ? [["l4", "less"], ["g0", "the same, or within the error of sampling"],
                                  ["g4", "more"]]
            : data.modules.slice(0, 7).map((name, i) => ["c" + i + "1", name]);
        at("legend").replaceChildren();
        for (const [kind, name] of words) {
            if (name === "")
                continue;
            const entry = element("span", {}, at("legend"));
            const box = flame_element("svg", {width: 12, height: 12}, entry);
            flame_element("rect", {"class": kind, width: 12, height: 12}, box);
            entry.append(name.length > 48 ? name.slice(0, 47) + "\u2026" : name);
        }
    }

    // The table. A column: name, class, value to sort by, what a cell is.
    const heat = share => share >= 0.2 ? " heat3" : share < 0.01 ? " heat0" : "";

    function cell(row, kind, text) {
        return element("td", {"class": kind}, row, text);
    }

    function site(row, frame, was) {
        const td = cell(row, "site" + (frame[3] & UNNAMED ? " guess" : ""));
        const button = element("button", {type: "button", title: "find it in the flame graph"}, td);
        element("span", {"class": "fn"}, button, frame[0]);
        const moved = was && was[1] !== frame[1] ? was[1] + " \u2192 " : "";
        const module = frame[2] >= 0 ? data.modules[frame[2]] : "";
        const place = frame[1] || (frame[3] & UNNAMED ? "" : module);
        if (place)
            element("span", {"class": "at"}, td, moved + place);
        button.addEventListener("click", () => {
            state.query = "^" + frame[0].replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";
            write(false);
            show();
            at("flame").scrollIntoView({block: "nearest"});
        });
    }

    function spark(row, values) {
        const td = cell(row, "more"), max = Math.max(...values);
        if (!(max > 0))
            return;
        const path = values.map((v, i) => (i * 56 / (values.length - 1) + 1).toFixed(1) + "," +
                                (15 - 13 * Math.max(0, v) / max).toFixed(1)).join(" ");
        const picture = flame_element("svg", {width: 58, height: 16, role: "img"}, td);
        flame_element("polyline", {"class": "spark", points: path}, picture);
    }

    const plain = [
        ["self", "num", r => r[1], (row, r, m) => {
            const td = cell(row, "num bar" + heat(r[1] / m.total), flame_amount(r[1], m.unit));
            td.style.setProperty("--part", Math.max(0, 100 * r[1] / m.total).toFixed(1) + "%");
            if (r[4] > 20)
                element("span", {"class": "err"}, td, " \u00b1" + Math.round(r[4] / 10) + "\u00a0%");
        }],
        ["", "num share", null, (row, r, m) => cell(row, "num share", flame_share(r[1], m.total))],
        ["total", "num", r => r[2], (row, r, m) => cell(row, "num", flame_amount(r[2], m.unit))],
        ["", "num share", null, (row, r, m) => cell(row, "num share", flame_share(r[2], m.total))],
        ["objects", "num more", r => r[3],
         (row, r) => cell(row, "num more", r[3] ? flame_amount(r[3], "count") : "")],
        ["average", "num more", r => r[3] ? r[1] / r[3] : 0,
         (row, r, m) => cell(row, "num more", r[3] ? flame_amount(Math.round(r[1] / r[3]), m.unit)
                                                   : "")],
        ["trend", "more", r => r.length > 6 ? r[r.length - 1] - r[5] : 0,
         (row, r) => spark(row, r.slice(5))],
        ["site", "site", r => frames[r[0]][0], (row, r) => site(row, frames[r[0]])]
    ];
    const marks = {more: "\u25b2", less: "\u25bc", "new": "\u25cf", gone: "\u25cb"};
    const two = [
        ["before", "num more", r => r[2],
         (row, r, m) => cell(row, "num more", r[2] ? flame_amount(r[2], m.unit) : "\u2013")],
        ["after", "num", r => r[3],
         (row, r, m) => cell(row, "num", r[3] ? flame_amount(r[3], m.unit) : "\u2013")],
        ["change", "num", r => r[3] - r[2], (row, r, m) => cell(row, "num change",
            (r[3] > r[2] ? "+" : "") + flame_amount(r[3] - r[2], m.unit))],
        ["", "num share", r => r[2] ? r[3] / r[2] : Infinity, (row, r) => cell(row, "num share",
            r[2] === 0 ? "new" : r[3] === 0 ? "gone" :
            (r[3] > r[2] ? "+" : "") + Math.round(100 * (r[3] - r[2]) / r[2]) + " %")],
        ["", "", null, (row, r) => {
            const td = cell(row, "change", marks[r[5]] || "\u00b7");
            td.title = r[5] === "noise" ? "within the error of sampling" : r[5];
        }],
        ["site", "site", r => frames[r[0]][0], (row, r) => site(row, frames[r[0]], frames[r[1]])]
    ];

    function columns(metric) {
        if (data.two)
            return two;
        return plain.filter(c => (c[0] !== "trend" || metric.rows.some(r => r.length > 6)) &&
                            (c[0] !== "objects" || metric.rows.some(r => r[3] !== 0)) &&
                            (c[0] !== "average" || (metric.unit === "bytes" &&
                                                    metric.rows.some(r => r[3] !== 0))));
    }

    // state.sort is a column, and "-" if it is turned round: numbers begin with the largest, names
    // with a. "" is as the rows are.
    function sorted(metric, used) {
        const name = state.sort.replace("-", ""), by = used.find(c => c[0] === name && c[2]);
        if (!name || !by)
            return metric.rows;
        const sign = (name === "site") !== state.sort.endsWith("-") ? 1 : -1;
        const size = name === "change" ? r => Math.abs(by[2](r)) : by[2];
        return [...metric.rows].sort((a, b) => {
            const x = size(a), y = size(b);
            return (x < y ? -1 : x > y ? 1 : 0) * sign;
        });
    }

    function fits(expression, frame) {
        return expression.test(frame[0]) || expression.test(frame[1]) ||
               (frame[2] >= 0 && expression.test(data.modules[frame[2]]));
    }

    function table(metric) {
        const used = columns(metric), head = at("table").tHead.rows[0];
        const by = state.sort.replace("-", "") || (data.two ? "" : "self");
        head.replaceChildren();
        for (const column of used) {
            const th = element("th", {scope: "col", "class": column[1]}, head);
            if (!column[0] || !column[2]) {
                th.textContent = column[0];
                continue;
            }
            const word = {objects: metric.things, site: metric.by}[column[0]] || column[0];
            const here = column[0] === by, turned = here && state.sort.endsWith("-");
            const arrow = !here ? "" : (column[0] === "site") !== turned ? " \u25b4" : " \u25be";
            const button = element("button", {type: "button"}, th, word + arrow);
            if (here)
                th.setAttribute("aria-sort", arrow === " \u25b4" ? "ascending" : "descending");
            button.addEventListener("click", () => {
                state.sort = here && !turned ? column[0] + "-" : column[0];
                write(false);
                table(metric);
                at("table").tHead.rows[0].cells[used.indexOf(column)].firstChild.focus();
            });
        }
        let list = sorted(metric, used), expression = null;
        try {
            expression = state.query ? new RegExp(state.query, /[A-Z]/.test(state.query) ? "" : "i")
                                     : null;
        } catch (error) {
            expression = null; // the field says so
        }
        if (expression)
            list = list.filter(r => fits(expression, frames[r[0]]));
        // Largest self first: those without any come when they are asked for.
        const zeros = data.two || expression || by !== "self" || state.sort.endsWith("-") ? -1
                    : list.findIndex(r => r[1] === 0);
        const shown = rows === Infinity || zeros < 0 ? rows : Math.min(rows, zeros);
        body.replaceChildren();
        for (const r of list.slice(0, shown)) {
            const row = element("tr", data.two ? {"class": r[5]} : {}, body);
            for (const column of used)
                column[3](row, r, metric);
        }
        rest(metric, list, shown);
    }

    function rest(metric, list, shown) {
        const line = at("rest"), more = list.length - shown;
        line.replaceChildren();
        if (more > 0) {
            const button = element("button", {type: "button"}, line, count(more) + " more");
            button.addEventListener("click", () => {
                rows = Infinity;
                table(metric);
            });
        }
        if (metric.count > metric.rows.length)
            element("span", {}, line, " " + count(metric.count - metric.rows.length) +
                    " smaller sites are left out, to keep this file small.");
        if (state.query && list.length === 0)
            element("span", {}, line, "No site fits.");
    }

    // Plots over time: what the curves have where the pointer is.
    function reading(svg, scale) {
        const number = name => parseFloat(scale.dataset[name]);
        const left = number("left"), right = number("right"), bottom = number("bottom");
        const curves = ["live", "was", "rss"].map(name => {
            const path = svg.querySelector("path." + name);
            return path ? path.getAttribute("d").slice(1).split("L").map(p => p.split(",").map(Number))
                        : [];
        });
        const line = flame_element("line", {
            "class": "mark", y1: number("top"), y2: bottom, "pointer-events": "none"
        }, svg);
        const text = flame_element("text", {"class": "hd halo", y: number("top") - 4}, svg);
        const hide = on => line.style.display = text.style.display = on ? "none" : "";
        hide(true);
        svg.addEventListener("mouseleave", () => hide(true));
        svg.addEventListener("mousemove", event => {
            const at = new DOMPoint(event.clientX, event.clientY)
                .matrixTransform(svg.getScreenCTM().inverse());
            const inside = at.x >= left && at.x <= right && at.y <= bottom + 4;
            hide(!inside);
            if (!inside)
                return;
            const words = curves.map((points, i) => {
                // The highest that the pointer touches, else what was there before.
                const near = points.filter(p => Math.abs(p[0] - at.x) <= 2)
                    .sort((a, b) => a[1] - b[1])[0] || points.filter(p => p[0] <= at.x).pop();
                const value = near ? (bottom - near[1]) / (bottom - number("top")) * number("most") : 0;
                return near ? ["heap ", "before ", "RSS "][i] + flame_amount(value, "bytes") : "";
            });
            const time = (at.x - left) / (right - left) * number("last");
            text.textContent = [flame_amount(time, "nanoseconds"), ...words].filter(w => w)
                .join("  \u00b7  ");
            const wide = text.getComputedTextLength();
            text.setAttribute("x", Math.max(left, Math.min(at.x + 5, right - wide)));
            line.setAttribute("x1", at.x);
            line.setAttribute("x2", at.x);
        });
    }

    // Themes: the system's, until another is chosen.
    function theme() {
        const dark = document.documentElement.dataset.theme ||
                     (matchMedia("(prefers-color-scheme:dark)").matches ? "dark" : "light");
        document.documentElement.dataset.theme = dark === "dark" ? "light" : "dark";
    }

    const keys = [["/", "search, in all that a frame has"], ["n  N", "next hit, the one before"],
                  ["Esc", "end the search, then the whole graph"], ["1 \u2026 9", "metric"],
                  ["\u2190 \u2191 \u2192 \u2193", "from box to box"], ["Enter", "zoom into it"],
                  ["i", "roots on top or at the bottom"], ["l", "merged from the leaf, or the root"],
                  ["t", "light or dark"], ["?", "this list"]];

    function help() {
        const box = at("keys");
        if (box.open) {
            box.close();
            return;
        }
        box.replaceChildren();
        element("b", {}, box, "Keys");
        const list = element("dl", {}, box);
        for (const [key, text] of keys) {
            element("dt", {}, list, key);
            element("dd", {}, list, text);
        }
        element("button", {type: "button"}, box, "Close").addEventListener("click",
                                                                          () => box.close());
        box.showModal();
    }

    function toggle(name) {
        state[name] = state[name] === "1" ? "" : "1";
        if (name === "leaf")
            state.zoom = "";
        write(false);
        show();
    }

    function choose(i) {
        if (i >= data.metrics.length)
            return;
        state.metric = data.metrics[i].key;
        state.zoom = "";
        write(false);
        show();
    }

    function escape() {
        if (state.query || document.activeElement === field) {
            state.query = "";
            field.blur();
            write(false);
            show();
        } else if (graph) {
            graph.whole();
        }
    }

    const actions = {
        "/": () => {
            field.focus();
            field.select();
        },
        n: () => graph && graph.step(1), N: () => graph && graph.step(-1),
        i: () => toggle("up"), l: () => at("leaf").hidden || toggle("leaf"), t: theme, "?": help
    };

    cards.forEach((card, i) => card.addEventListener("click", () => choose(i)));
    at("turn").addEventListener("click", () => toggle("up"));
    at("leaf").addEventListener("click", () => toggle("leaf"));
    at("whole").addEventListener("click", () => graph.whole());
    at("theme").addEventListener("click", theme);
    at("help").addEventListener("click", help);
    field.addEventListener("input", () => {
        state.query = field.value;
        write(true);
        show();
    });
    window.addEventListener("keydown", event => {
        const typing = document.activeElement === field, name = event.key;
        if (event.altKey || event.metaKey || event.ctrlKey || at("keys").open)
            return;
        if (name === "Escape") {
            escape();
        } else if (typing && name === "Enter") {
            field.blur();
            actions.n();
        } else if (typing) {
            return;
        } else if (actions[name]) {
            event.preventDefault();
            actions[name]();
        } else if (name >= "1" && name <= "9") {
            choose(+name - 1);
        } else if (graph && document.activeElement === stage && graph.key(name)) {
            event.preventDefault();
        }
    });
    window.addEventListener("hashchange", () => location.hash.slice(1) === written || read());
    window.addEventListener("resize", () => graph && graph.resize());
    for (const scale of document.querySelectorAll(".plot .scale"))
        reading(scale.ownerSVGElement, scale);
    at("bar").hidden = false;
    read();
})();

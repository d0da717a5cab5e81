// SPDX-License-Identifier: MIT
// What is around the flame graph in a picture of its own: the search field on the right of the
// title, keys, the width of the window.
(function () {
    "use strict";
    const svg = document.documentElement, head = document.getElementById("head");
    const data = JSON.parse(document.getElementById("data").textContent);
    let width = svg.viewBox.baseVal.width, height = svg.viewBox.baseVal.height;
    const SIDE = 12;

    const graph = flame(svg, flame_nodes(data.nodes, data.frames, data.compared), {
        unit: data.unit, compared: data.compared, modules: data.modules, inverted: data.inverted,
        top: 84, side: SIDE,
        width: () => width,
        sized: () => {},
        found: (text, right) => {
            field.classList.toggle("wrong", !right);
            found.textContent = text;
        },
        zoomed: whole => reset.style.display = whole ? "none" : ""
    });

    const style = flame_element("style", {}, svg);
    style.textContent = ".hit{fill:#d596e6}.chosen rect{stroke:#d6336c;stroke-width:2}" +
        ".tip{fill:#fffffff5;stroke:#c3c8cf}.strong{font-weight:600 !important}" +
        "input{font:12px system-ui,sans-serif;box-sizing:border-box;width:100%;height:26px;" +
        "padding:2px 8px;border:1px solid #c3c8cf;border-radius:5px;background:#fff;color:#17202a}" +
        "input.wrong{border-color:#d6336c}.link{cursor:pointer}.link text{fill:#2563b8}" +
        "#boxes g:hover rect{filter:brightness(.94)}" +
        "@media (prefers-color-scheme:dark){.hit{fill:#8f49a6}.tip{fill:#22262cf5;stroke:#4a505a}" +
        "input{background:#22262c;color:#e9ebee;border-color:#4a505a}.link text{fill:#8ab4f8}" +
        "#boxes g:hover rect{filter:brightness(1.2)}}";
    const holder = flame_element("foreignObject", {y: 12, width: 260, height: 28}, head);
    const field = document.createElementNS("http://www.w3.org/1999/xhtml", "input");
    field.setAttribute("placeholder", "Search ( / ), regular expression");
    field.setAttribute("id", "search");
    field.setAttribute("spellcheck", "false");
    holder.appendChild(field);
    const bar = flame_element("g", {"class": "ui"}, head);
    const found = flame_element("text",
        {id: "found", "class": "sub", "text-anchor": "end"}, bar, "");
    const reset = flame_element("g", {id: "reset", "class": "ui link"}, head);
    flame_element("text", {"text-anchor": "end"}, reset, "\u2190 whole graph (Esc)");
    reset.style.display = "none";

    // Opened by itself, the picture is as wide as the window.
    function resize() {
        if (window.parent === window && window.innerWidth > 0) {
            width = Math.max(500, window.innerWidth - 16);
            svg.setAttribute("width", width);
            svg.setAttribute("viewBox", "0 0 " + width + " " + height);
        }
        holder.setAttribute("x", width - SIDE - 260);
        found.setAttribute("x", width - SIDE);
        found.setAttribute("y", 54);
        reset.firstChild.setAttribute("x", width - SIDE - 274);
        reset.firstChild.setAttribute("y", 29);
        graph.resize();
    }

    field.addEventListener("input", () => graph.search(field.value));
    reset.addEventListener("click", () => graph.whole());
    window.addEventListener("resize", resize);
    window.addEventListener("keydown", event => {
        const typing = document.activeElement === field;
        if (event.key === "Escape") {
            if (typing || graph.searching()) {
                field.value = "";
                field.blur();
                graph.search("");
            } else {
                graph.whole();
            }
        } else if (typing && event.key === "Enter") {
            field.blur();
            graph.step(1);
        } else if (!typing && (event.key === "/" || (event.key === "f" && event.ctrlKey))) {
            event.preventDefault();
            field.focus();
            field.select();
        } else if (!typing && event.key === "n") {
            graph.step(1);
        } else if (!typing && event.key === "N") {
            graph.step(-1);
        } else if (!typing && event.key === "i") {
            graph.turn();
        } else if (!typing && graph.key(event.key)) {
            event.preventDefault();
        }
    });
    // The head stays in sight; roots at the bottom come into it first.
    function scroll() {
        head.setAttribute("transform", "translate(0," + Math.max(0, window.scrollY) + ")");
    }

    window.addEventListener("scroll", scroll);
    svg.appendChild(head);
    svg.appendChild(graph.tip);
    resize();
    if (!data.inverted && window.parent === window && height > window.innerHeight)
        window.scrollTo(0, height);
})();

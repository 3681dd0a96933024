// Sentences as points on a plane, encoder by encoder (experiments.widgets). It loads nothing.
"use strict";

sentlabWidgets.map ??= (() => {
  const { make } = sentlabWidgets;
  const COLOURS = ["#0072b2", "#d55e00", "#007f5f", "#a6559d", "#8a6d00"]; // as in sentlab.plots
  const REACH = 24; // pixels from a point within which the pointer means it
  const MOVING = 800; // milliseconds

  // A topic's colour and shape: five colours as circles, then as triangles.
  function marker(topic, size) {
    const s = size * 1.2;
    const look = { fill: COLOURS[topic % COLOURS.length] };
    return topic < COLOURS.length
      ? make("circle", { ...look, r: size })
      : make("path", { ...look, d: `M0,${-s} L${s},${s * 0.8} L${-s},${s * 0.8} Z` });
  }

  function icon(topic) {
    return make("svg", { class: "sl-icon", viewBox: "-8 -8 16 16", "aria-hidden": "true" }, marker(topic, 6));
  }

  return (root, data) => {
    const { texts, topic, scene, rows } = data;
    const all = texts.map((_, i) => i);
    const quoted = (i) => `“${texts[i]}”`;
    const same = (i, j) => scene[i] === scene[j];
    let row = rows[0];
    let plane = "UMAP";
    let near = -1; // the point that the pointer or the keys are at
    let pinned = -1;
    let picked = -1; // a topic
    let at = all.map(() => [0, 0]); // where the points are now, in pixels
    let frame = 0;

    // --- what stands on the page
    const select = make("select", { "aria-label": "method" });
    rows.forEach((each, i) => select.append(make("option", { value: i }, each.label)));
    const step = (sign, says) => make("button", { type: "button", "aria-label": says, title: says }, sign);
    const back = step("‹", "the method before");
    const on = step("›", "the next method");
    const planes = ["UMAP", "PCA"].map((name) => {
      const button = make("button", { type: "button", "aria-pressed": name === plane }, name);
      button.addEventListener("click", () => {
        plane = name;
        planes.forEach((other) => other.setAttribute("aria-pressed", other === button));
        move();
      });
      return button;
    });
    const find = make("input", { type: "search", placeholder: "find a word", "aria-label": "find sentences with a word" });
    const join = make("input", { type: "checkbox" });
    const count = make("span", { class: "sl-count", role: "status" });
    const controls = make(
      "div", { class: "sl-controls" },
      make("span", { class: "sl-set" }, back, select, on),
      make("span", { class: "sl-set", role: "group", "aria-label": "projection" }, ...planes),
      make("label", { class: "sl-join" }, join, "join wordings"),
      make("span", { class: "sl-set sl-find" }, find, count),
    );

    const joins = make("path", { class: "sl-joins" });
    const lines = make("g");
    const points = make("g", { class: "sl-points" });
    const rings = make("g");
    const svg = make(
      "svg", { tabindex: 0, role: "application" }, joins, lines, points, rings,
    );
    const tip = make("div", { class: "sl-tip", role: "status", hidden: "" });
    const map = make("div", { class: "sl-map" }, svg, tip);
    const dots = all.map((i) => points.appendChild(marker(topic[i], 5)));

    const legend = make("div", { class: "sl-legend", role: "group", "aria-label": "topics: show one alone" });
    data.topics.forEach((name, number) => {
      const button = make("button", { type: "button", "aria-pressed": "false" }, icon(number), name);
      button.addEventListener("click", () => {
        picked = picked === number ? -1 : number;
        [...legend.children].forEach((other, i) => other.setAttribute("aria-pressed", i === picked));
        dim();
      });
      legend.append(button);
    });
    const numbers = make("p", { class: "sl-numbers", role: "status" });
    const below = make("div", { class: "sl-neighbours" });
    root.append(controls, map, legend, numbers, below);

    // --- where the points are
    function aims() {
      const [x, y] = row.planes[plane];
      const { width, height } = map.getBoundingClientRect();
      const ends = [x, y].map((values) => [Math.min(...values), Math.max(...values)]);
      const room = [width, height].map((length) => length - 36);
      const scale = Math.min(...ends.map(([low, high], k) => room[k] / (high - low || 1))); // one for both axes
      const middle = ends.map(([low, high]) => (low + high) / 2);
      return all.map((i) => [width / 2 + (x[i] - middle[0]) * scale, height / 2 - (y[i] - middle[1]) * scale]);
    }

    function move(at_once = false) {
      const from = at;
      const to = aims();
      const began = performance.now();
      const still = at_once || matchMedia("(prefers-reduced-motion: reduce)").matches;
      const go = (now) => {
        const t = still ? 1 : Math.min(1, Math.max(0, (now - began) / MOVING));
        const eased = t * t * (3 - 2 * t);
        at = all.map((i) => from[i].map((value, k) => value + (to[i][k] - value) * eased));
        draw();
        if (t < 1) frame = requestAnimationFrame(go);
      };
      cancelAnimationFrame(frame);
      go(began);
      tell();
      mark();
    }

    function draw() {
      dots.forEach((dot, i) => dot.setAttribute("transform", `translate(${at[i][0].toFixed(1)},${at[i][1].toFixed(1)})`));
      const path = (i, j) => `M${at[i].join()}L${at[j].join()}`;
      const pairs = all.slice(1).filter((i) => same(i, i - 1)); // the wordings of a scene follow each other
      joins.setAttribute("d", join.checked ? pairs.map((i) => path(i - 1, i)).join("") : "");
      lines.replaceChildren();
      rings.replaceChildren();
      const ring = (i, r, kind) => rings.append(make("circle", { cx: at[i][0], cy: at[i][1], r, class: kind }));
      if (pinned >= 0) {
        for (const { [pinned]: other } of row.neighbours) {
          const kind = same(pinned, other) ? "sl-same" : "sl-other";
          lines.append(make("path", { d: path(pinned, other), class: kind }));
          ring(other, 9, kind);
        }
        ring(pinned, 11, "sl-pinned");
      }
      if (near >= 0) ring(near, 9, "sl-near");
      place();
    }

    // --- what is said
    function place() {
      tip.hidden = near < 0;
      if (near < 0) return;
      const [x, y] = at[near];
      const across = Math.min(Math.max(0, x - tip.offsetWidth / 2), map.clientWidth - tip.offsetWidth);
      const above = y - tip.offsetHeight - 14;
      tip.style.transform = `translate(${across}px,${above < 0 ? y + 14 : above}px)`;
    }

    function look(i) {
      if (i === near) return;
      near = i;
      if (i >= 0) tip.replaceChildren(texts[i], make("small", {}, icon(topic[i]), data.topics[topic[i]]));
      draw();
    }

    function tell() {
      svg.setAttribute(
        "aria-label",
        `${texts.length} sentences as ${row.label} lays them out, ${plane}. ` +
          "Arrow keys walk from sentence to sentence, Enter lists the neighbours of one, Escape ends that.",
      );
      const found = row.numbers;
      const percent = (name) => `${found[name].toFixed(0)} %`;
      const k = row.neighbours.length;
      numbers.replaceChildren(
        make("b", {}, row.label),
        `: ${percent("same scene")} of the ${data.wordings - 1} nearest say the same, ${percent("same topic")} of the ` +
          `${k} nearest others share the topic. Of the ${k} nearest, UMAP's picture keeps ${percent("kept by UMAP")} ` +
          `and PCA's ${percent("kept by PCA")}; PCA's holds ${(100 * row.share).toFixed(0)} % of the variance.`,
      );
    }

    function dim() {
      const word = find.value.trim().toLowerCase();
      const hit = all.map((i) => texts[i].toLowerCase().includes(word) && (picked < 0 || topic[i] === picked));
      dots.forEach((dot, i) => dot.classList.toggle("sl-dim", !hit[i]));
      count.textContent = word ? `${hit.filter(Boolean).length} found` : "";
      return all.filter((i) => hit[i]);
    }

    // --- the neighbours of the pinned sentence
    function pin(i) {
      pinned = i;
      list();
      draw();
    }

    function sentence(i) {
      const button = make("button", { type: "button", class: "sl-sentence" }, texts[i]);
      button.addEventListener("click", () => pin(i));
      return button;
    }

    function card(each) {
      const found = each.neighbours.map((rank) => rank[pinned]);
      const number = found.filter((i) => same(pinned, i)).length;
      const choose = make("button", { type: "button" }, each.label);
      choose.addEventListener("click", () => choosing(rows.indexOf(each)));
      const caption = make("caption", {}, choose, ` ${number} of ${data.wordings - 1} wordings`);
      const head = make("tr", {}, ...["same scene", "topic", "neighbour", "cosine"].map((name) => make("th", { scope: "col" }, name)));
      const lines = found.map((i, rank) => {
        const alike = same(pinned, i);
        const sign = make("td", {}, alike ? make("span", { role: "img", "aria-label": "another wording" }, "✓") : "");
        const about = make("td", {}, icon(topic[i]), make("span", { class: "sl-hidden" }, data.topics[topic[i]]));
        const cosine = make("td", {}, each.cosines[rank][pinned].toFixed(2));
        return make("tr", { class: alike ? "sl-same" : "" }, sign, about, make("td", {}, sentence(i)), cosine);
      });
      return make("table", {}, caption, make("thead", {}, head), make("tbody", {}, ...lines));
    }

    function list() {
      below.replaceChildren();
      if (pinned < 0) return;
      const close = make("button", { type: "button", class: "sl-close", "aria-label": "unpin the sentence" }, "×");
      close.addEventListener("click", () => pin(-1));
      const others = all.filter((i) => i !== pinned && same(i, pinned));
      below.append(
        make("div", { class: "sl-head" }, make("p", {}, icon(topic[pinned]), make("b", {}, quoted(pinned))), close),
        make("p", {}, `✓ other wordings: ${others.map(quoted).join(", ")}. The nearest neighbours under each method:`),
        make("div", { class: "sl-cards" }, ...rows.map(card)),
      );
      mark();
    }

    function mark() {
      below.querySelectorAll("table").forEach((table, i) => table.toggleAttribute("data-now", rows[i] === row));
    }

    function choosing(i) {
      row = rows[(i + rows.length) % rows.length];
      select.value = rows.indexOf(row);
      move();
    }

    // --- what the reader does
    function under(event) {
      const box = svg.getBoundingClientRect();
      const far = ([x, y]) => Math.hypot(x - (event.clientX - box.left), y - (event.clientY - box.top));
      const best = all.reduce((a, b) => (far(at[b]) < far(at[a]) ? b : a));
      return far(at[best]) <= REACH ? best : -1;
    }

    function walk(dx, dy) {
      const [x, y] = at[near];
      const cost = ([a, b]) => {
        const along = (a - x) * dx + (b - y) * dy;
        return along > 0.5 ? along + 2 * Math.abs((a - x) * dy + (b - y) * dx) : Infinity;
      };
      const best = all.reduce((a, b) => (cost(at[b]) < cost(at[a]) ? b : a));
      if (cost(at[best]) < Infinity) look(best);
    }

    const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    svg.addEventListener("pointermove", (event) => look(under(event)));
    svg.addEventListener("pointerleave", () => look(-1));
    svg.addEventListener("click", (event) => pin(under(event)));
    svg.addEventListener("focus", () => svg.matches(":focus-visible") && look(Math.max(0, pinned)));
    svg.addEventListener("blur", () => look(-1));
    svg.addEventListener("keydown", (event) => {
      if (event.key === "Escape") near >= 0 ? look(-1) : pin(-1);
      else if (event.key in WAYS) near < 0 ? look(Math.max(0, pinned)) : walk(...WAYS[event.key]);
      else if (["Enter", " "].includes(event.key) && near >= 0) pin(near);
      else return;
      event.preventDefault();
      event.stopPropagation(); // nor does a page or a notebook take it for a command
    });
    select.addEventListener("change", () => choosing(Number(select.value)));
    back.addEventListener("click", () => choosing(rows.indexOf(row) - 1));
    on.addEventListener("click", () => choosing(rows.indexOf(row) + 1));
    join.addEventListener("change", draw);
    find.addEventListener("input", dim);
    find.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key !== "Enter") return;
      const hits = dim();
      if (hits.length) pin(hits.find((i) => i > pinned) ?? hits[0]); // Enter again: the next one
    });
    new ResizeObserver(() => move(true)).observe(map);
  };
})();

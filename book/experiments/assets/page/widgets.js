// What readers can try on a page: all encoders run here, in a worker, without a network.
// Text that a reader types only ever becomes a text node.
"use strict";

const sentlabWidgets = (() => {
  const { cosine } = sentlabEncoder({});
  const SVG = "http://www.w3.org/2000/svg";
  const DRAWN = new Set(["svg", "g", "rect", "line", "circle", "text", "path"]);
  const WAIT = 120; // milliseconds after the last key

  /** An element with attributes; children that are strings are text. */
  function make(name, attributes = {}, ...children) {
    const node = DRAWN.has(name) ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  const labelled = (label, node) => make("label", {}, label, " ", node);
  const shown = (number) => number.toFixed(2).replace("-", "−");

  /** A range with its value beside it. */
  function slider(label, { min, max, step, value }, change, told = String) {
    const input = make("input", { type: "range", min, max, step, value, "aria-label": label });
    const output = make("output", { class: "sw-number" }, told(value));
    input.addEventListener("input", () => {
      output.textContent = told(Number(input.value));
      change(Number(input.value));
    });
    return { node: make("label", {}, label, input, output), input };
  }

  /** Runs what may fail, and tells the reader on the page if it does. */
  function telling(root, act) {
    const problem = make("p", { role: "alert", hidden: "" });
    root.append(problem);
    return async () => {
      try {
        problem.hidden = true;
        await act();
      } catch (error) {
        problem.textContent = error.message;
        problem.hidden = false;
      }
    };
  }

  /** Calls a function once, a moment after the last of many calls. */
  function later(act) {
    let timer = 0;
    return () => {
      clearTimeout(timer);
      timer = setTimeout(act, WAIT);
    };
  }

  // ---- one worker for the page, with every encoder that the page holds ------------------------------------------------

  let worker = null;
  const waiting = new Map();
  const loaded = new Set();

  const files = new Map();

  /** Fetch an encoder that is in a script beside the page, or where JupyterLab serves files. */
  function fetched(name, file) {
    const load = (source) => new Promise((resolve, reject) => {
      const script = make("script", { src: source });
      script.onload = () => resolve();
      script.onerror = () => reject(new Error(`${file} is not there: build the book, or run the cell above again`));
      document.head.append(script);
    });
    if (!files.has(name)) {
      const coming = load(file).catch(() => load(`/files/${file}`));
      files.set(name, coming);
      coming.catch(() => files.delete(name)); // so that the next question tries again
    }
    return files.get(name);
  }

  /** Ask the worker about a row's encoder, which is handed over before its first question. */
  async function ask({ encoder: name, file }, question) {
    if (file && !globalThis.sentlabEncoders?.[name]) await fetched(name, file);
    if (!worker) {
      const source = `"use strict";(${sentlabEncoder})(self).serve(self)`;
      worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
      worker.onmessage = ({ data: { id, result, error } }) => {
        const [resolve, reject] = waiting.get(id);
        waiting.delete(id);
        if (error) reject(new Error(error));
        else resolve(result);
      };
    }
    if (!loaded.has(name)) {
      loaded.add(name);
      post(name, { load: globalThis.sentlabEncoders[name] });
    }
    return post(name, question);
  }

  let number = 0;
  function post(name, question) {
    return new Promise((resolve, reject) => {
      waiting.set(++number, [resolve, reject]);
      worker.postMessage({ id: number, name, ...question });
    });
  }

  // ---- two sentences ----------------------------------------------------------------------------------------------------

  const EMPTY = "–"; // where a sentence has no words

  /** data: rows [{label, encoder, pooling, file, value}], pairs [{label, first, second}]; values are of the first pair. */
  function compare(root, { rows, pairs }) {
    const first = make("input", { type: "text", "aria-label": "first sentence", value: pairs[0].first });
    const second = make("input", { type: "text", "aria-label": "second sentence", value: pairs[0].second });
    const choose = make("select", { class: "sw-wide", "aria-label": "example" });
    pairs.forEach((pair, i) => choose.append(make("option", { value: i }, pair.label)));
    const bars = make("div", { class: "sw-bars", "aria-live": "polite" });
    const cells = rows.map(({ label, value }) => {
      const cell = { fill: make("i"), value: make("span", { class: "sw-number" }) };
      bars.append(make("span", {}, label), make("span", { class: "sw-bar" }, cell.fill), cell.value);
      fill(cell, value);
      return cell;
    });

    function fill(cell, value) {
      cell.fill.style.width = `${100 * Math.max(0, value)}%`;
      cell.value.textContent = Number.isFinite(value) ? shown(value) : EMPTY;
    }

    let asked = 0;
    const update = telling(root, async () => {
      const mine = ++asked;
      const texts = [first.value, second.value];
      const empty = texts.some((text) => !text.trim());
      await Promise.all(rows.map(async (row, i) => {
        const asking = empty ? [] : ask(row, { texts, pooling: row.pooling });
        const [u, v] = await Promise.resolve(asking).catch((error) => {
          fill(cells[i], NaN); // and not the number of other sentences
          throw error;
        });
        if (mine === asked) fill(cells[i], empty ? NaN : cosine(u, v)); // no other key was pressed
      }));
      if (mine === asked) root.dataset.done = asked;
    });
    choose.addEventListener("change", () => {
      const pair = pairs[Number(choose.value)];
      [first.value, second.value] = [pair.first, pair.second];
      update();
    });
    [first, second].forEach((input) => input.addEventListener("input", later(update)));
    root.append(labelled("Example", choose), labelled("First sentence", first), labelled("Second sentence", second), bars);
    root.append(make("p", { class: "sw-muted" }, "Cosine of the two vectors; 1 is the same direction."));
    root.dataset.done = asked; // an encoder loads when a reader changes something
  }

  // ---- spans --------------------------------------------------------------------------------------------------------------

  /** What SPAN_WORD of `sentlab.text.words` matches; what is left are single marks, with all that belongs to them. */
  function spanWord() {
    const sa = "\\u0e01-\\u0e3a\\u0e40-\\u0e4e\\u0e81-\\u0ebd\\u0ec0-\\u0ece\\u0edc-\\u0edf\\u1000-\\u103f\\u1050-\\u108f\\u109a-\\u109f" +
      "\\u1780-\\u17d3\\u17d7\\u17dc\\u17dd\\u1950-\\u19c9\\u19de-\\u19df\\u1a20-\\u1a7c\\u1aa0-\\u1aad\\ua9e0-\\ua9ef\\ua9fa-\\ua9fe" +
      "\\uaa60-\\uaac2\\uaadb-\\uaadf\\u{11700}-\\u{1172b}\\u{1173a}\\u{1173b}\\u{1173f}-\\u{11746}"; // Thai, Lao, Khmer, Burmese
    const kana = "\\p{sc=Kana}\\u3031-\\u3035\\u309b\\u309c\\u30a0\\u30fc\\uff70";
    const unspaced = `\\p{sc=Han}\\p{sc=Hiragana}${kana}${sa}`;
    const word = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}";
    const format = "\\xad\\u061c\\u180e\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u206f\\ufeff\\ufff9-\\ufffb" +
      "\\u{13430}-\\u{1343f}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0001}";
    const run = `[[${word}\\p{N}]--[\\p{M}${unspaced}]][[${word}\\p{N}${format}\\u200b]--[${unspaced}]]*`;
    // Without spaces, up to the next of Unicode's word boundaries: marks stay with their character, Katakana together.
    const mark = "\\p{M}\\u200c\\u200d\\uff9e\\uff9f";
    const iterated = "\\u3005\\u303b\\u{16fe3}";
    const letter = `[[${word}]--[${kana}${sa}${mark}\\p{sc=Hiragana}\\p{Pc}\\p{Ideographic}]]`;
    const katakana = `[${kana}][[[${kana}]&&[${word}]]${mark}]*`;
    const tail = `(?:\\p{Pc}[\\p{Pc}${mark}]*(?:${letter}[${letter}${mark}]*|${katakana})?)*`;
    const hanging = `[[${mark}]&&[${sa}]][${mark}]*`; // a vowel sign or a tone without its letter
    const letters = `[${letter}${mark}]*${tail}`;
    const behind = `(?<=[${letter}\\p{Pc}\\u02c2-\\u02ff][${mark}${format}\\p{Grapheme_Extend}]*)${hanging}(?:(?<=\\p{Pc}[${mark}]*)${katakana}${tail}|${letters})`;
    const first = `(?<=^[${mark}${format}\\p{Grapheme_Extend}]*)${hanging}(?:${katakana}${tail}|${letter}${letters}|${tail}[${unspaced}]?[${mark}]*)`;
    const chain = `${katakana}${tail}|[${iterated}]${letters}|${first}|${behind}|[${unspaced}][${mark}]*`;
    const odd = "[\\u02c2-\\u02ff\\u055a-\\u055e\\u058a\\u05f3\\u0600-\\u0605\\u066b\\u06dd\\u070f\\u202f\\ua708-\\ua721\\ua789\\ua78a]";
    const more = `[${format}\\p{Grapheme_Extend}\\p{EMod}]|(?<=[${kana}][${mark}]*)[[${kana}]--[${word}]]|(?<=[${letter}\\p{Pc}][${mark}]*)(?:${odd}|['‘’.:·][${mark}${format}]*${letter})`;
    return new RegExp(`${run}(?:['’]${run})*|(?=(${chain}))\\1(?!${more})`, "yv");
  }

  let pattern = null;

  /** Words of a text as [start, end), those of `sentlab.text.words.word_places`. */
  function wordsOf(text) {
    pattern ??= spanWord();
    const graphemes = new Intl.Segmenter().segment(text);
    const found = [];
    for (let start = 0, end = 0; start < text.length; start = end) {
      pattern.lastIndex = start;
      const { index, segment } = graphemes.containing(start);
      end = pattern.test(text) ? pattern.lastIndex : index + segment.length;
      if (/[\t-\r\x1c-\x20\x85\p{Z}]/u.test(text[start])) end = start + 1;
      else found.push([start, start + text.slice(start, end).replace(/[\t-\r\x1c-\x20\x85\p{Z}]+$/u, "").length]);
    }
    return found;
  }

  /** The sum of the vectors of each word's pieces: Float64Array (W, D), for the words that have pieces. */
  function wordSums({ vectors, places }, words) {
    const width = vectors.length / places.length;
    const kept = words.filter(([start, end]) => places.some(([from]) => from >= start && from < end)).map((word) => [...word]);
    const sums = new Float64Array(kept.length * width);
    places.forEach(([from, to], t) => {
      const word = kept.findLastIndex(([start]) => from >= start);
      kept[word][1] = Math.max(kept[word][1], to); // a typed [MASK] is one token
      for (let i = 0; i < width; i++) sums[word * width + i] += vectors[t * width + i];
    });
    return { sums, kept, width };
  }

  /** Cosine of a query with every span of up to `longest` words: scores[start][size - 1]. */
  function spanScores(query, sums, width, longest) {
    const count = sums.length / width;
    return Array.from({ length: count }, (_, start) => {
      const sum = new Float64Array(width);
      return Array.from({ length: Math.min(longest, count - start) }, (_, size) => {
        for (let i = 0; i < width; i++) sum[i] += sums[(start + size) * width + i];
        return cosine(query, sum);
      });
    });
  }

  /** A colour from dark blue over green to yellow, of a share from 0 to 1. */
  function colour(share) {
    const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
    const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    const mixed = stops[low].map((value, i) => Math.round(value + (place - low) * (stops[low + 1][i] - value)));
    return `rgb(${mixed.join(",")})`;
  }

  /** data: rows [{label, encoder, file}], passage, phrase, longest. */
  function spans(root, { rows, passage, phrase, longest }) {
    const text = make("textarea", { rows: 4, "aria-label": "passage" });
    text.value = passage;
    const wanted = make("input", { type: "text", "aria-label": "phrase", value: phrase });
    const choose = make("select", { "aria-label": "encoder" });
    rows.forEach(({ label }, i) => choose.append(make("option", { value: i }, label)));
    const range = slider("Longest span", { min: 1, max: longest, step: 1, value: Math.min(10, longest) }, () => update());
    const lit = make("p", { class: "sw-passage" });
    const told = make("p", { class: "sw-muted", "aria-live": "polite" });
    const map = make("svg", { tabindex: 0, role: "application", "aria-label": "all spans; arrow keys walk" });
    let held = null;
    let here = [0, 0];
    let asked = 0;

    function point(start, size, tell = true) {
      if (!held.scores.length) return;
      here = [Math.min(Math.max(start, 0), held.scores.length - 1), 0];
      here[1] = Math.min(Math.max(size, 0), held.scores[here[0]].length - 1);
      map.querySelectorAll(".sw-here").forEach((cell) => cell.classList.remove("sw-here"));
      map.querySelector(`[data-at="${here.join()}"]`).classList.add("sw-here");
      const from = held.kept[here[0]][0];
      const to = held.kept[here[0] + here[1]][1];
      lit.replaceChildren(held.text.slice(0, from), make("mark", {}, held.text.slice(from, to)), held.text.slice(to));
      if (tell) told.textContent = `“${held.text.slice(from, to)}”: ${shown(held.scores[here[0]][here[1]])}`;
    }

    function draw() {
      const { scores } = held;
      const all = scores.flat();
      const [low, high] = [Math.min(...all), Math.max(...all)];
      const rowsShown = Math.max(0, ...scores.map((row) => row.length));
      const size = 14;
      map.setAttribute("viewBox", `0 0 ${Math.max(1, scores.length) * size} ${Math.max(1, rowsShown) * size}`);
      map.style.maxWidth = `${scores.length * 22}px`;
      map.replaceChildren();
      scores.forEach((row, start) => row.forEach((score, more) => {
        const fill = colour(high > low ? (score - low) / (high - low) : 1);
        const box = { x: start * size, y: more * size, width: size - 1, height: size - 1, fill };
        map.append(make("rect", { class: "sw-cell", "data-at": `${start},${more}`, ...box }));
      }));
      const start = scores.findIndex((row) => row.includes(high));
      if (start < 0) return;
      const more = scores[start].indexOf(high);
      map.querySelector(`[data-at="${start},${more}"]`).classList.add("sw-best");
      point(start, more);
    }

    const update = telling(root, async () => {
      const mine = ++asked;
      const row = rows[Number(choose.value)];
      const content = text.value;
      const [tokens, query] = await Promise.all(
        [content, wanted.value].map((tokenized) => ask(row, { tokens: tokenized }))
      );
      if (mine !== asked) return;
      if (!tokens.places.length || !query.places.length) {
        held = null;
        map.replaceChildren();
        lit.textContent = content;
        told.textContent = EMPTY;
        root.dataset.done = mine;
        return;
      }
      const { sums, kept, width } = wordSums(tokens, wordsOf(content));
      const vector = new Float64Array(width);
      query.vectors.forEach((value, i) => { vector[i % width] += value; });
      held = { text: content, kept, scores: spanScores(vector, sums, width, Number(range.input.value)) };
      draw();
      root.dataset.done = mine;
    });
    map.addEventListener("pointermove", ({ target }) => {
      if (target.dataset.at) point(...target.dataset.at.split(",").map(Number));
    });
    map.addEventListener("pointerdown", ({ target }) => {
      if (target.dataset.at) point(...target.dataset.at.split(",").map(Number));
    });
    map.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      if (!moves[event.key] || !held) return;
      event.preventDefault();
      point(here[0] + moves[event.key][0], here[1] + moves[event.key][1]);
    });
    choose.addEventListener("change", update);
    [text, wanted].forEach((input) => input.addEventListener("input", later(update)));
    const controls = make("div", { class: "sw-row" }, labelled("Encoder", choose), range.node);
    root.append(labelled("Phrase", wanted), labelled("Passage", text), controls, lit, told, map);
    const how = "A column per first word, a row per length, from one word at the top. Brighter is more similar.";
    root.append(make("p", { class: "sw-muted" }, how));
    update();
  }

  // ---- the bootstrap ------------------------------------------------------------------------------------------------------

  /** Ranks from 1, ties sharing their mean. */
  function ranks(values) {
    const order = [...values.keys()].sort((a, b) => values[a] - values[b]);
    const found = new Float64Array(values.length);
    for (let i = 0; i < order.length; ) {
      let j = i;
      while (j < order.length && values[order[j]] === values[order[i]]) j++;
      for (let k = i; k < j; k++) found[order[k]] = (i + j + 1) / 2;
      i = j;
    }
    return found;
  }

  function spearman(x, y) {
    const [a, b] = [ranks(x), ranks(y)];
    const mean = (a.length + 1) / 2;
    let ab = 0, aa = 0, bb = 0;
    for (let i = 0; i < a.length; i++) {
      ab += (a[i] - mean) * (b[i] - mean);
      aa += (a[i] - mean) ** 2;
      bb += (b[i] - mean) ** 2;
    }
    return aa && bb ? ab / Math.sqrt(aa * bb) : 0;
  }

  const RESAMPLES = 200;

  /** data: gold [n], rows [{label, cosines [n]}]. */
  function bootstrap(root, { gold, rows }) {
    const out = make("div", {});
    const sizes = { min: 30, max: gold.length, step: 10, value: Math.min(200, gold.length) };
    const range = slider("Pairs", sizes, () => update());
    const again = make("button", { type: "button" }, "Draw other pairs");
    let pool = [];
    const choose = () => { pool = [...gold.keys()].map((i) => [Math.random(), i]).sort((a, b) => a[0] - b[0]).map((own) => own[1]); };
    const interval = (values) => {
      const sorted = Float64Array.from(values).sort();
      return [sorted[Math.floor(0.025 * RESAMPLES)], sorted[Math.ceil(0.975 * RESAMPLES) - 1]];
    };

    function update() {
      const chosen = pool.slice(0, Number(range.input.value));
      const score = (row, items) => 100 * spearman(items.map((i) => row.cosines[i]), items.map((i) => gold[i]));
      const whole = rows.map((row) => score(row, chosen));
      const drawn = rows.map(() => []);
      for (let r = 0; r < RESAMPLES; r++) {
        const items = chosen.map(() => chosen[Math.floor(Math.random() * chosen.length)]);
        rows.forEach((row, i) => drawn[i].push(score(row, items)));
      }
      const lines = rows.map((row, i) => ({ label: row.label, value: whole[i], ends: interval(drawn[i]) }));
      for (let i = 1; i < rows.length; i++) {
        const ends = interval(drawn[i].map((value, r) => value - drawn[0][r]));
        lines.push({ label: `${rows[i].label} − ${rows[0].label}`, value: whole[i] - whole[0], ends, difference: true });
      }
      out.replaceChildren(picture(lines));
      root.dataset.done = Number(root.dataset.done || 0) + 1;
    }

    /** Points with intervals: scores on one scale, differences on another that shows 0. */
    function picture(lines) {
      const height = 34;
      const svg = make("svg", { viewBox: `0 0 340 ${lines.length * height}`, role: "img", "aria-label": "scores and differences with 95% intervals" });
      for (const kind of [false, true]) {
        const own = lines.filter((line) => Boolean(line.difference) === kind);
        const numbers = own.flatMap((line) => [...line.ends, line.value]).concat(kind ? [0] : []);
        const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
        const x = (value) => 10 + (320 * (value - low)) / (high - low || 1);
        for (const line of own) {
          const y = lines.indexOf(line) * height + 24;
          const sure = line.difference && (line.ends[0] > 0 || line.ends[1] < 0);
          const look = { stroke: sure ? "#d55e00" : "var(--sw-accent)", "stroke-width": 3 };
          const tenths = (number) => number.toFixed(1).replace("-", "−");
          const ends = line.ends.map(tenths).join(" to ");
          if (kind) svg.append(make("line", { x1: x(0), x2: x(0), y1: y - 6, y2: y + 6, stroke: "currentColor" }));
          svg.append(
            make("text", { x: 10, y: y - 9 }, `${line.label}: ${tenths(line.value)} (${ends})`),
            make("line", { x1: x(line.ends[0]), x2: x(line.ends[1]), y1: y, y2: y, ...look }),
            make("circle", { cx: x(line.value), cy: y, r: 4.5, fill: look.stroke })
          );
        }
      }
      return svg;
    }

    again.addEventListener("click", () => { choose(); update(); });
    root.append(make("div", { class: "sw-row" }, range.node, again), out);
    const how = `Spearman × 100 with 95% intervals from ${RESAMPLES} resamples. Scores share one scale, and differences another, whose upright mark is 0. Orange: the interval of a difference leaves out 0.`;
    root.append(make("p", { class: "sw-muted" }, how));
    choose();
    update();
  }

  // ---- dropout ------------------------------------------------------------------------------------------------------------

  const COPIES = 24;

  /** data: encoder, pooling, sentence, others [text]. */
  function dropout(root, { encoder, pooling, sentence, others }) {
    const own = make("input", { type: "text", "aria-label": "sentence", value: sentence });
    const range = slider("Dropout p", { min: 0, max: 0.3, step: 0.01, value: 0.1 }, later(() => update()), (p) => p.toFixed(2));
    const out = make("div", {});
    const told = make("p", { "aria-live": "polite" });
    let asked = 0;
    const update = telling(root, async () => {
      const mine = ++asked;
      const p = Number(range.input.value);
      const [plain, far, noisy] = await Promise.all([
        ask({ encoder }, { texts: [own.value], pooling }),
        ask({ encoder }, { texts: others, pooling }),
        ask({ encoder }, { texts: Array(COPIES).fill(own.value), pooling, p }),
      ]);
      if (mine !== asked) return;
      root.dataset.done = mine;
      if (!own.value.trim()) {
        out.replaceChildren();
        told.textContent = EMPTY;
        return;
      }
      const copies = noisy.map((vector) => cosine(plain[0], vector));
      const rest = far.map((vector) => cosine(plain[0], vector));
      out.replaceChildren(dots([["the same sentence, with dropout", copies, "#d55e00"], ["other sentences, without", rest, "var(--sw-accent)"]]));
      const middle = copies.slice().sort((a, b) => a - b)[COPIES / 2];
      const nearer = rest.filter((value) => value > middle).length;
      told.textContent = `The median copy has ${shown(middle)}. Nearer to the sentence than that: ${nearer} of ${rest.length} other sentences.`;
    });

    function dots(lines) {
      const height = 46;
      const svg = make("svg", { viewBox: `0 0 340 ${lines.length * height + 16}`, role: "img", "aria-label": "cosines with the sentence's vector" });
      const low = -0.2;
      const x = (value) => 10 + (320 * (Math.max(value, low) - low)) / (1 - low);
      lines.forEach(([label, values, fill], i) => {
        svg.append(make("text", { x: 10, y: i * height + 14 }, label));
        values.forEach((value) => svg.append(make("circle", { cx: x(value), cy: i * height + 30, r: 5, fill, "fill-opacity": 0.55 })));
      });
      const bottom = lines.length * height;
      svg.append(make("line", { x1: 10, x2: 330, y1: bottom, y2: bottom, stroke: "currentColor" }));
      [0, 0.5, 1].forEach((value, i) =>
        svg.append(make("text", { x: x(value), y: bottom + 13, "text-anchor": ["middle", "middle", "end"][i] }, shown(value))));
      return svg;
    }

    own.addEventListener("input", later(update));
    root.append(labelled("Sentence", own), make("div", { class: "sw-row" }, range.node), out, told);
    root.append(make("p", { class: "sw-muted" }, "Axis: cosine with the sentence's vector without dropout."));
    update();
  }

  // ---- PaSeR's decoder ----------------------------------------------------------------------------------------------------

  /** data: rows [{label, encoder, file}], one a checkpoint; sentence, chosen [word numbers]. */
  function decoder(root, { rows, sentence, chosen }) {
    const own = make("input", { type: "text", "aria-label": "sentence", value: sentence });
    const buttons = make("p", { class: "sw-words", role: "group", "aria-label": "words to mask" });
    const told = make("div", { "aria-live": "polite" });
    const sizes = { min: 0, max: rows.length - 1, step: 1, value: rows.length - 1 };
    const range = slider("Steps of training", sizes, () => update(), (i) => rows[i].label);
    let pressed = new Set(chosen);
    let asked = 0;

    /** Runs of pressed words as [start, end) of the text. */
    function phrases(words) {
      const found = [];
      words.forEach(([start, end], i) => {
        if (!pressed.has(i)) return;
        if (pressed.has(i - 1)) found[found.length - 1][1] = end;
        else found.push([start, end]);
      });
      return found;
    }

    function press() {
      buttons.replaceChildren(...wordsOf(own.value).map(([start, end], i) => {
        const button = make("button", { type: "button", "aria-pressed": pressed.has(i) }, own.value.slice(start, end));
        button.addEventListener("click", () => {
          if (!pressed.delete(i)) pressed.add(i);
          button.setAttribute("aria-pressed", pressed.has(i));
          update();
        });
        return button;
      }));
    }

    const update = telling(root, async () => {
      const mine = ++asked;
      const text = own.value;
      const wanted = phrases(wordsOf(text));
      const answers = await ask(rows[Number(range.input.value)], { read: text, phrases: wanted });
      if (mine !== asked) return;
      told.replaceChildren(...wanted.map(([start, end], i) => answer(text.slice(start, end), answers[i])));
      if (!wanted.length) told.append(make("p", { class: "sw-muted" }, text.trim() ? "Choose a word to mask." : EMPTY));
      root.dataset.done = mine;
    });

    /** A masked phrase and what is generated for it, with the best pieces of each place and their probabilities. */
    function answer(masked, places) {
      if (!places.length) return make("p", {}, `“${masked}” is not among the tokens that the encoder reads.`);
      const said = places.map(([[piece]]) => piece).join(" ").replaceAll(" ##", "").trim() || "(nothing)";
      const columns = places.map((best) => make("ol", {}, ...best.map(([piece, share]) =>
        make("li", { style: `--share: ${Math.round(100 * share)}%` }, piece || "(end)", " ", make("span", { class: "sw-number" }, shown(share))))));
      const lead = make("p", {}, `“${masked}” is masked. The decoder generates: `, make("b", { class: "sw-said" }, said));
      return make("div", {}, lead, make("div", { class: "sw-places" }, ...columns));
    }

    own.addEventListener("input", later(() => { pressed = new Set(); press(); update(); }));
    root.append(labelled("Sentence", own), buttons, make("div", { class: "sw-row" }, range.node), told);
    root.append(make("p", { class: "sw-muted" }, "Words side by side are one phrase. A list per place: the five likeliest pieces and their probabilities."));
    press();
    if (rows.some((row) => row.file)) {
      const start = make("button", { type: "button" }, "Generate");
      start.addEventListener("click", update);
      told.append(start);
    } else update();
  }

  return { make, compare, spans, bootstrap, dropout, decoder, wordsOf, wordSums, spanScores, spearman };
})();

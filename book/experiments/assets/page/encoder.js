// A BERT-like encoder in plain JavaScript: WordPiece tokenizer, embeddings, transformer layers, pooling.
// It reads weights that `experiments.widgets` writes, and gives the vectors of `sentlab.Encoder`.
//
// All of it is one function, so that its own text can be made into a Web Worker where files cannot be fetched.
// eslint-env browser, worker
"use strict";

function sentlabEncoder(scope) {
  // ---- text to pieces -------------------------------------------------------------------------------------------

  /** A class of characters: ranges, each the gap behind the one before and how many follow its first, in base 36. */
  function classOf(packed) {
    let last = 0;
    const ranges = packed.split(" ").map((range) => {
      const [gap, more] = range.split("-").map((number) => parseInt(number, 36));
      const first = last + gap;
      last = first + (more || 0);
      return `\\u{${first.toString(16)}}-\\u{${last.toString(16)}}`;
    });
    return new RegExp(`[${ranges.join("")}]`, "u");
  }

  // As BertNormalizer and BertPreTokenizer have them, whose Unicode is older than that of any browser: control and
  // format characters and marks without width, which go; punctuation; and letters that only later Unicode takes apart.
  const DROPPED = classOf(
    "0-8 3-1 2-h 2o-w e gj-33 7o-4 7e-18 2 2-1 2-1 2 1l-5 b-a 2 1b-k h 2u-7 2-5 3-1 2-3 y 2 v-q 2k-a 1n-8 z-3 2-8 " +
    "2-2 2-4 18-2 3s-v 1k 2 5-7 5 4-6 b-1 u 1n 5-3 9 l-1 u-1 1m 5-1 5-1 3-2 4 v-1 4 c-1 1m 5-4 2-1 5 l-1 u 1n 3 2-3 " +
    "9 9 c-1 v 1q d 1f 1q-2 6-2 2-3 8-1 c-1 u 1n 3 7 6-1 l-1 u 1s-3 9 l-1 2v 8-2 2 2j 3-6 d-7 2r 3-5 2-1 c-5 23-1 s " +
    "2 2 1k-d 2-4 2-1 6-a 2-z a 2v-3 2-5 2-1 3-1 q-1 5-2 h-3 e 3-1 7 g jk-2 qb-2 u-2 u-1 v-1 1t-1 2-6 9 3-a a 1a-3 " +
    "4b 3b-2 5-1 a 7-2 64-1 3 1n 2-6 2 2 3-7 7-9 3 1d-d 1v-3 1d 2-4 2 6 15-8 d-1 x-3 3-1 2-2 1l 2-1 4 2-2 1n-7 3-1 " +
    "49-2 2-c 2-6 5 7 4-1 5j-1h 7-3 ek-4 r-4 1e-4 2-9 2p-c 5 4-b 2db-2 3y 2p-v ff-3 30-1 n9x 5-9 x-1 29-1 7l 4 5 q-1 " +
    "4e s-h 1h-7 q-a 1b-2 1d 3-3 3 15 1w-5 3-1 3-1 d 9 1c 1g 2-2 3-1 6-1 2 17-1 9 6n 3 5 aab-4xr f3 ki-f h-f 5s 6y-2 " +
    "2 e8 6b 46-4 1af-2 2-1 6-3 15-2 5 4m-1 10b 1j-e 1l-2 1e-3 3-1 3 1v-2 11-4 2-7 1r d-1 1h-8 c-2 2r-2 3 2-1 4o 4-7 " +
    "m-1 1n 4 12-6 4-4 8v-5 2 5-1 2-1 6n-3 7-1 2-1 s-1 2e-7 3 2-1 2z 2 3-5 2 2u-2 3-3 2-4 gjp-4 1o-6 ux-3 f7v-1 2-3 " +
    "43o-2 a-f 3-6 v-3 45-2 1j0-1i 5-1d 9 f n-4 2-e 2sh-6 gze3 v-2n 3l-6n 1e6p-1ekd 3-1ekd"
  );
  const PUNCTUATION = classOf(
    "x-e b-6 r-5 r-3 z 6 4 b-1 4 4 wr-5 16-1 1g 2 3 3 19-1 l-1 2-1 e 3-1 23-3 2v 18-d 6i-2 1j-e w 7a-1 b ao lg 2j " +
    "b-1 4p-e 2 12-3 20 23-4 5-1 34-5 4s h1-8 48 h9-1 19-1 27-2 20-1 4e-2 2-2 12-a 8q-1 61-1 3l-6 2-5 4t-6 4c-3 1o-4 " +
    "1r-1 1t-7 c n1-n 9-j 2-c 2-b v-1 f-1 hm-3 v1-d 28-1 w-9 b8-l 1s-3 x-1 l8-3 2-1 35 40-1a 2-i cf-2 5-9 3-b h d 2r " +
    "2j mwz-1 7i-2 2s b 38-5 al-3 2f-1 15-2 2 1e-1 1c 2q-c h-1 3h-3 3j-1 h-1 6y g2b-1 5t-9 n-y 2-d 2 5 2-1 46-2 2-5 " +
    "2-3 b-1 4-1 r-2 2 s 2 2-6 bf-2 il 1d bj ko 5k w 7l-8 13 35-6 1v-6 2i-3 x7-6 32-1 2-3 3j-3 1d-1 28-4 4 e 2-2 " +
    "2h-5 30 f1 6z-m 2y-2 6x-2 2lu-4 dtm-1 3q 1u-4 9 g2j 5wo-4"
  );
  const WHOLE = /[\u{105c9}\u{105e4}\u{11383}\u{11385}\u{1138e}\u{11391}\u{113c5}\u{113c7}\u{113c8}\u{11938}\u{16d68}-\u{16d6a}]/u;
  const CHINESE =
    /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/u;
  const MOST_CHARACTERS = 100; // a longer word is unknown

  /** Clean, lower-cased characters without accents, each with its place in the text: [[character, start, end]]. */
  function normalised(text, place) {
    const found = [];
    for (const character of text) {
      const end = place + character.length;
      const parts = WHOLE.test(character) ? character : character.normalize("NFD");
      const kept = [...parts].filter((part) => !DROPPED.test(part)).join("");
      for (const part of kept.toLowerCase()) found.push([/\s/u.test(part) ? " " : part, place, end]);
      place = end;
    }
    return found;
  }

  /** Words and single punctuation marks, each a list of characters. */
  function words(characters) {
    const found = [];
    let word = [];
    const close = () => {
      if (word.length) found.push(word);
      word = [];
    };
    for (const one of characters) {
      if (one[0] === " ") close();
      else if (PUNCTUATION.test(one[0]) || CHINESE.test(one[0])) {
        close();
        found.push([one]);
      } else word.push(one);
    }
    close();
    return found;
  }

  /** The ids of a word's pieces, longest first, with their places: [[id, start, end]]. */
  function pieces(word, vocabulary, unknown) {
    const all = [[unknown, word[0][1], word[word.length - 1][2]]];
    if (word.length > MOST_CHARACTERS) return all;
    const found = [];
    for (let start = 0; start < word.length; ) {
      let end = word.length;
      let id;
      for (; end > start; end--) {
        const piece = (start ? "##" : "") + word.slice(start, end).map((one) => one[0]).join("");
        id = vocabulary.get(piece);
        if (id !== undefined) break;
      }
      if (id === undefined) return all;
      found.push([id, word[start][1], word[end - 1][2]]);
      start = end;
    }
    return found;
  }

  // ---- numbers --------------------------------------------------------------------------------------------------

  /** The bytes of a base64 string. */
  function decoded(text) {
    const raw = atob(text);
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return bytes;
  }

  /** out = x W' + b for T rows: x (T, D), W (O, D), b (O). Four rows of x and two of W at a time keep numbers at hand. */
  function linear(x, rows, weight, bias, out) {
    const outs = bias.length;
    const depth = weight.length / outs;
    for (let t = 0; t < rows; t += 4) {
      const [r0, r1, r2, r3] = [0, 1, 2, 3].map((more) => Math.min(t + more, rows - 1)); // a last row may be done again
      const p0 = r0 * depth, p1 = r1 * depth, p2 = r2 * depth, p3 = r3 * depth;
      for (let o = 0; o < outs; o += 2) {
        const next = Math.min(o + 1, outs - 1);
        const upper = o * depth, lower = next * depth;
        let a0 = bias[o], a1 = a0, a2 = a0, a3 = a0, b0 = bias[next], b1 = b0, b2 = b0, b3 = b0;
        for (let i = 0; i < depth; i++) {
          const v = weight[upper + i], w = weight[lower + i];
          const x0 = x[p0 + i], x1 = x[p1 + i], x2 = x[p2 + i], x3 = x[p3 + i];
          a0 += x0 * v; a1 += x1 * v; a2 += x2 * v; a3 += x3 * v;
          b0 += x0 * w; b1 += x1 * w; b2 += x2 * w; b3 += x3 * w;
        }
        out[r0 * outs + o] = a0; out[r1 * outs + o] = a1; out[r2 * outs + o] = a2; out[r3 * outs + o] = a3;
        out[r0 * outs + next] = b0; out[r1 * outs + next] = b1; out[r2 * outs + next] = b2; out[r3 * outs + next] = b3;
      }
    }
    return out;
  }

  /** x + y, then layer normalisation of each row, in x. */
  function addAndNormalise(x, y, rows, weight, bias, epsilon) {
    const width = weight.length;
    for (let t = 0; t < rows; t++) {
      const start = t * width;
      let mean = 0, square = 0;
      for (let i = start; i < start + width; i++) {
        if (y) x[i] += y[i];
        mean += x[i];
        square += x[i] * x[i];
      }
      mean /= width;
      const scale = 1 / Math.sqrt(Math.max(0, square / width - mean * mean) + epsilon);
      for (let i = 0; i < width; i++) x[start + i] = (x[start + i] - mean) * scale * weight[i] + bias[i];
    }
    return x;
  }

  /** x times the normal distribution function of x, in place; Abramowitz and Stegun, 7.1.26, right to 1.5e-7. */
  function gelu(x) {
    for (let i = 0; i < x.length; i++) {
      const z = Math.abs(x[i]) * Math.SQRT1_2;
      const t = 1 / (1 + 0.3275911 * z);
      const tail =
        t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))) *
        Math.exp(-z * z);
      x[i] *= x[i] > 0 ? 1 - tail / 2 : tail / 2;
    }
    return x;
  }

  /** Numbers in [0, 1), the same ones after the same seed (mulberry32): a page shows the same dropout at each load. */
  const draws = {
    state: 0,
    seed(value) { this.state = value; },
    next() {
      this.state = (this.state + 0x6d2b79f5) | 0;
      let z = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
      z = (z + Math.imul(z ^ (z >>> 7), 61 | z)) ^ z;
      return ((z ^ (z >>> 14)) >>> 0) / 4294967296;
    },
  };

  /** Dropout: zero a share p of the numbers, and make up for it in the others; without p, nothing. */
  function drop(x, p) {
    if (p) for (let i = 0; i < x.length; i++) x[i] = draws.next() < p ? 0 : x[i] / (1 - p);
    return x;
  }

  /** Softmax attention of each head: queries (T, D), keys and values (S, D) -> (T, D); causal: place t sees s <= t. */
  function attention(queries, keys, values, width, heads, out, { p = 0, causal = false } = {}) {
    const rows = queries.length / width;
    const size = width / heads;
    const scale = 1 / Math.sqrt(size);
    const all = new Float64Array(keys.length / width);
    out.fill(0);
    for (let head = 0; head < heads; head++) {
      const offset = head * size;
      for (let t = 0; t < rows; t++) {
        const mine = t * width + offset;
        const seen = causal ? t + 1 : all.length;
        const shares = all.subarray(0, seen);
        let most = -Infinity;
        for (let s = 0; s < seen; s++) {
          const theirs = s * width + offset;
          let dot = 0;
          for (let i = 0; i < size; i++) dot += queries[mine + i] * keys[theirs + i];
          shares[s] = dot * scale;
          if (shares[s] > most) most = shares[s];
        }
        let total = 0;
        for (let s = 0; s < seen; s++) total += shares[s] = Math.exp(shares[s] - most);
        for (let s = 0; s < seen; s++) shares[s] /= total;
        drop(shares, p);
        for (let s = 0; s < seen; s++) {
          const share = shares[s];
          const theirs = s * width + offset;
          for (let i = 0; i < size; i++) out[mine + i] += share * values[theirs + i];
        }
      }
    }
    return out;
  }

  // ---- the encoder ----------------------------------------------------------------------------------------------

  class Encoder {
    /** @param file what the weights' script holds: config, vocabulary, tensors, small, large (see experiments.widgets) */
    constructor(file) {
      this.config = file.config;
      this.pieces = file.vocabulary.split("\n");
      this.vocabulary = new Map(this.pieces.map((piece, id) => [piece, id]));
      const small = new Float32Array(decoded(file.small).buffer);
      const large = new Int8Array(decoded(file.large).buffer);
      this.tensors = {};
      let inSmall = 0, inLarge = 0;
      for (const [name, rows, columns] of file.tensors) {
        if (!columns) this.tensors[name] = Float64Array.from(small.subarray(inSmall, (inSmall += rows)));
        else {
          const scales = small.subarray(inSmall, (inSmall += rows));
          const values = large.subarray(inLarge, (inLarge += rows * columns));
          // rows of embeddings are looked up, and stay as they are; matrices are multiplied with, and are unpacked
          this.tensors[name] = name.startsWith("embeddings") ? { values, scales } : unpacked(values, scales, columns);
        }
      }
    }

    /** Pieces of a text with [CLS] and [SEP]: ids, and the characters [start, end) of each; both are [0, 0] for those. */
    tokenize(text, longest = this.config.max_length) {
      const { cls, sep, unk, added = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] } = this.config;
      const escaped = added.map((token) => token.replace(/[^\p{L}\p{N}]/gu, "\\$&")).sort((a, b) => b.length - a.length);
      let place = 0; // tokens that are typed as such, like [MASK], are every second part
      const inner = text.split(RegExp(`(${escaped.join("|")})`)).flatMap((part, i) => {
        const start = place;
        place += part.length;
        if (i % 2) return [[this.vocabulary.get(part), start, place]];
        return words(normalised(part, start)).flatMap((word) => pieces(word, this.vocabulary, unk));
      });
      const all = [[cls, 0, 0], ...inner.slice(0, longest - 2), [sep, 0, 0]];
      return { ids: all.map((one) => one[0]), places: all.map((one) => [one[1], one[2]]) };
    }

    /** The last hidden states of one text's tokens, Float64Array (T, D); with dropout p as in training. */
    hidden(ids, p = 0) {
      const { width, heads, layers, epsilon } = this.config;
      const rows = ids.length;
      const own = (layer, name) => this.tensors[`layers.${layer}.${name}`];
      const x = drop(this.embedded(ids), p);
      const [q, k, v, mixed] = [0, 1, 2, 3].map(() => new Float64Array(rows * width));
      const inner = layers ? new Float64Array(rows * own(0, "up.bias").length) : null;
      for (let layer = 0; layer < layers; layer++) {
        linear(x, rows, own(layer, "query"), own(layer, "query.bias"), q);
        linear(x, rows, own(layer, "key"), own(layer, "key.bias"), k);
        linear(x, rows, own(layer, "value"), own(layer, "value.bias"), v);
        attention(q, k, v, width, heads, mixed, { p });
        drop(linear(mixed, rows, own(layer, "output"), own(layer, "output.bias"), q), p);
        addAndNormalise(x, q, rows, own(layer, "norm1"), own(layer, "norm1.bias"), epsilon);
        gelu(linear(x, rows, own(layer, "up"), own(layer, "up.bias"), inner));
        drop(linear(inner, rows, own(layer, "down"), own(layer, "down.bias"), q), p);
        addAndNormalise(x, q, rows, own(layer, "norm2"), own(layer, "norm2.bias"), epsilon);
      }
      return x;
    }

    /** Word and position vectors of the tokens, normalised; the token type's vector is within the positions'. */
    embedded(ids) {
      const { width, epsilon } = this.config;
      const { "embeddings.word": word, "embeddings.position": position } = this.tensors;
      const x = new Float64Array(ids.length * width);
      ids.forEach((id, t) => {
        for (let i = 0; i < width; i++) {
          x[t * width + i] =
            word.values[id * width + i] * word.scales[id] + position.values[t * width + i] * position.scales[t];
        }
      });
      const norm = this.tensors["embeddings_norm"];
      return addAndNormalise(x, null, ids.length, norm, this.tensors["embeddings_norm.bias"], epsilon);
    }

    /** One vector per text, Float64Array (D): "cls", or the "mean" over all tokens with [CLS] and [SEP]. */
    encode(text, pooling = this.config.pooling, p = 0) {
      return this.pooled(this.hidden(this.tokenize(text).ids, p), pooling);
    }

    /** The vector of a text from its hidden states. */
    pooled(hidden, pooling = this.config.pooling) {
      const { width } = this.config;
      const rows = pooling === "cls" ? 1 : hidden.length / width;
      const vector = new Float64Array(width);
      for (let i = 0; i < rows * width; i++) vector[i % width] += hidden[i] / rows;
      return vector;
    }

    /** The vectors of a text's tokens without [CLS] and [SEP]: vectors (T, D) and places [[start, end)]. */
    encodeTokens(text) {
      const { ids, places } = this.tokenize(text);
      const { width } = this.config;
      return { vectors: this.hidden(ids).slice(width, -width), places: places.slice(1, -1) };
    }
  }

  /** PaSeR's decoder, which generates masked phrases from two vectors of a sentence (sentlab.methods.PaSeR). */
  class PhraseReader extends Encoder {
    /** [e, e~, m |e - e~|, n |e * e~|], Float64Array (4, D). */
    signal(ids, masked) {
      const { m, n } = this.config.decoder;
      const [e, copy] = [ids, masked].map((tokens) => this.pooled(this.hidden(tokens)));
      const parts = [e, copy, e.map((x, i) => m * Math.abs(x - copy[i])), e.map((x, i) => n * Math.abs(x * copy[i]))];
      return Float64Array.from(parts.flatMap((part) => [...part]));
    }

    /** The decoder's state at the last of some words, Float64Array (D). */
    state(signal, inputs) {
      const { width, decoder: { layers, heads, epsilon } } = this.config;
      const rows = inputs.length;
      const named = (name) => this.tensors[`decoder.${name}`];
      const normal = (x, name) => addAndNormalise(x, null, x.length / width, named(name), named(`${name}.bias`), epsilon);
      const map = (x, name) => {
        const bias = named(`${name}.bias`);
        return linear(x, x.length / width, named(name), bias, new Float64Array((x.length / width) * bias.length));
      };
      const { values, scales } = this.tensors["embeddings.word"];
      let x = new Float64Array(rows * width);
      for (let i = 0; i < x.length; i++) {
        const id = inputs[Math.floor(i / width)];
        x[i] = values[id * width + (i % width)] * scales[id] + named("position")[i];
      }
      const add = (y) => { x = x.map((value, i) => value + y[i]); };
      normal(x, "norm");
      for (let layer = 0; layer < layers; layer++) {
        for (const [kind, norm] of [["own", "norm1"], ["cross", "norm2"]]) {
          const y = normal(x.slice(), `${layer}.${norm}`);
          const from = kind === "own" ? y : signal;
          const [q, k, v] = [[y, "query"], [from, "key"], [from, "value"]].map(([z, name]) => map(z, `${layer}.${kind}.${name}`));
          add(map(attention(q, k, v, width, heads, new Float64Array(x.length), { causal: kind === "own" }), `${layer}.${kind}.output`));
        }
        const inner = gelu(map(normal(x.slice(), `${layer}.norm3`), `${layer}.up`));
        add(linear(inner, rows, named(`${layer}.down`), named(`${layer}.down.bias`), new Float64Array(x.length)));
      }
      return normal(x, "last").slice(-width);
    }

    /** The probability of each piece after a state, by the masked-LM head: Float64Array (V). */
    probabilities(state) {
      const { width, epsilon } = this.config;
      const own = (name) => this.tensors[`head.${name}`];
      const x = gelu(linear(state, 1, own("dense"), own("dense.bias"), new Float64Array(width)));
      addAndNormalise(x, null, 1, own("norm"), own("norm.bias"), epsilon);
      const { values, scales } = this.tensors["embeddings.word"];
      const scores = own("pieces").map((bias, id) => {
        let dot = 0;
        for (let i = 0; i < width; i++) dot += x[i] * values[id * width + i];
        return dot * scales[id] + bias;
      });
      const most = scores.reduce((a, b) => Math.max(a, b));
      const shares = scores.map((score) => Math.exp(score - most));
      const total = shares.reduce((a, b) => a + b);
      return shares.map((share) => share / total);
    }

    /** Mask phrases [start, end) of a text, and generate them greedily: for each, its places' best [[piece, probability]]. */
    read(text, phrases, best = 5) {
      const { cls, sep, mask } = this.config;
      const { ids, places } = this.tokenize(text);
      const inside = ([from, to], [start, end]) => from < to && from < end && to > start;
      const kept = phrases.filter((phrase) => places.some((place) => inside(place, phrase)));
      const masked = ids.map((id, t) => (kept.some((phrase) => inside(places[t], phrase)) ? mask : id));
      const signal = this.signal(ids, masked);
      const said = [cls];
      return phrases.map((phrase) => {
        const found = [];
        const room = this.tensors["decoder.position"].length / this.config.width;
        while (kept.includes(phrase) && said.length <= room) {
          const shares = this.probabilities(this.state(signal, said));
          const order = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, best);
          found.push(order.map((id) => [id === sep ? "" : this.pieces[id], shares[id]]));
          said.push(order[0]);
          if (order[0] === sep) break;
        }
        return found;
      });
    }
  }

  function unpacked(values, scales, columns) {
    const numbers = new Float64Array(values.length);
    for (let i = 0; i < values.length; i++) numbers[i] = values[i] * scales[Math.floor(i / columns)];
    return numbers;
  }

  /** The cosine of two vectors; 0 where one is zero. */
  function cosine(u, v) {
    let dot = 0, uu = 0, vv = 0;
    for (let i = 0; i < u.length; i++) {
      dot += u[i] * v[i];
      uu += u[i] * u[i];
      vv += v[i] * v[i];
    }
    return uu && vv ? dot / Math.sqrt(uu * vv) : 0;
  }

  // ---- as a worker ----------------------------------------------------------------------------------------------

  /** Answer {id, name, load | texts | tokens | read} with {id, result | error}. */
  function serve(port) {
    const encoders = new Map();
    port.onmessage = ({ data: { id, name, load, texts, tokens, read, phrases, pooling, p } }) => {
      try {
        if (load) encoders.set(name, new (load.config.decoder ? PhraseReader : Encoder)(load));
        const encoder = encoders.get(name);
        if (!encoder) throw new Error(`no encoder ${name} was loaded`);
        if (p) draws.seed(1);
        const result = texts ? texts.map((text) => encoder.encode(text, pooling, p))
          : tokens !== undefined ? encoder.encodeTokens(tokens)
          : read !== undefined ? encoder.read(read, phrases) : true;
        port.postMessage({ id, result });
      } catch (error) {
        port.postMessage({ id, error: String(error.message || error) });
      }
    };
  }

  Object.assign(scope, { Encoder, PhraseReader, cosine, serve });
  return scope;
}

if (typeof module !== "undefined") module.exports = sentlabEncoder({});

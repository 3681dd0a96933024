// JupyterLab's MyST knows no bibliography and marks each citation as a mistake. This shows author and year instead.
"use strict";

(() => {
  const UNKNOWN = 'span[title="Citation Not Found"]';
  const STYLE = `
    [data-cited] { color: inherit !important; font-size: 0; }
    [data-cited] > svg { display: none !important; }
    [data-cited]::after { content: attr(data-cited) !important; font-size: var(--jp-content-font-size1); }`;

  // key -> [authors, year], out of BibTeX
  function works(bibliography) {
    const found = {};
    for (const [, key, body] of bibliography.matchAll(/^@\w+\{\s*([^,\s]+)\s*,([^]*?)^\}/gm)) {
      const field = (name) => new RegExp(`^\\s*${name}\\s*=\\s*[{"](.*)[}"],?\\s*$`, "m").exec(body)?.[1] ?? "";
      const names = field("author").split(/\s+and\s+/).map((name) => name.split(",")[0].replace(/[{}\\'"`^~]/g, ""));
      const authors = names.length > 2 ? `${names[0]} et al.` : names.join(" and ");
      found[key] = [authors, field("year")];
    }
    return found;
  }

  function show(known) {
    for (const node of document.querySelectorAll(UNKNOWN)) {
      const [authors, year] = known[node.textContent.trim()] ?? [];
      if (!authors || node.dataset.cited) continue;
      node.dataset.cited = node.closest(".parenthetical") ? `${authors}, ${year}` : `${authors} (${year})`;
      node.title = node.textContent.trim();
    }
  }

  async function activate(app) {
    const file = await app.serviceManager.contents.get("references.bib", { content: true });
    const known = works(file.content);
    document.head.append(Object.assign(document.createElement("style"), { textContent: STYLE }));
    new MutationObserver(() => show(known)).observe(document.body, { childList: true, subtree: true });
    show(known);
  }

  const plugin = { id: "sentlab-citations:plugin", autoStart: true, activate };
  (globalThis._JUPYTERLAB ??= {})["sentlab-citations"] = {
    init: () => {},
    get: () => Promise.resolve(() => ({ __esModule: true, default: plugin })),
  };
})();

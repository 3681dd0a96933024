// JupyterLab's MyST knows neither a bibliography nor glued numbers: it marks each citation as a mistake, shows a
// number's name, and leads from a term to nowhere. This shows author and year, the number once its cell has run, and
// opens the glossary.
"use strict";

(() => {
  const UNKNOWN = 'span[title="Citation Not Found"]';
  const STYLE = `
    [data-shown] { color: inherit !important; font-size: 0; }
    [data-shown] > svg { display: none !important; }
    [data-shown]::after { content: attr(data-shown) !important; font-size: var(--jp-content-font-size1); }`;
  const GLUED = /\{glue:text\}`([^`]+)`/g;
  const VALUE = "application/papermill.record/text/plain";

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

  function cite(known) {
    for (const node of document.querySelectorAll(UNKNOWN)) {
      const [authors, year] = known[node.textContent.trim()] ?? [];
      if (!authors || node.dataset.shown) continue;
      node.dataset.shown = node.closest(".parenthetical") ? `${authors}, ${year}` : `${authors} (${year})`;
      node.title = node.textContent.trim();
    }
  }

  // a number as Python's format would write it, with digits behind the point and commas; texts as they are
  function written(value, form = "") {
    const [, sign, comma, , digits] = /^([+ ]?)z?(,?)(\.(\d+)f)?$/.exec(form) ?? [];
    if (!form || Number.isNaN(Number(value)) || comma === undefined) return value.replace(/^(['"])(.*)\1$/, "$2");
    return Number(value).toLocaleString("en-US", {
      minimumFractionDigits: digits ?? 0,
      maximumFractionDigits: digits ?? 20,
      roundingMode: "halfEven",
      signDisplay: sign === "+" ? "always" : "negative",
      useGrouping: comma === ",",
    });
  }

  function number(app) {
    for (const { content } of app.shell.widgets("main")) {
      const cells = content?.widgets?.filter((cell) => cell.model?.sharedModel) ?? [];
      const texts = cells.filter((cell) => cell.model.type === "markdown" && cell.model.sharedModel.source.match(GLUED));
      if (!texts.length) continue;
      const values = {};
      for (const output of cells.flatMap((cell) => cell.model.outputs?.toJSON() ?? [])) {
        const name = output.metadata?.scrapbook?.name;
        if (name) values[name] = [output.data[VALUE]].flat().join("");
      }
      for (const cell of texts) {
        const keys = new Set([...cell.model.sharedModel.source.matchAll(GLUED)].map((match) => match[1]));
        for (const node of cell.node.querySelectorAll("span:not([class])")) {
          if (node.childElementCount || !keys.has(node.textContent)) continue;
          const [name, form] = node.textContent.split(/:(.*)/);
          const shown = name in values ? written(values[name], form) : "…";
          if (node.dataset.shown !== shown) node.dataset.shown = shown; // else it would call itself again
        }
      }
    }
  }

  async function activate(app) {
    const file = await app.serviceManager.contents.get("references.bib", { content: true });
    const known = works(file.content);
    document.head.append(Object.assign(document.createElement("style"), { textContent: STYLE }));
    const show = () => {
      cite(known);
      number(app);
    };
    // a term's explanation is on another page, which MyST does not look for: its links lead nowhere
    document.body.addEventListener("click", (event) => {
      if (!event.target.closest?.('a.hover-link[href="#"]')) return;
      event.preventDefault();
      app.commands.execute("docmanager:open", { path: "glossary.md" });
    });
    new MutationObserver(show).observe(document.body, { childList: true, subtree: true });
    show();
  }

  const plugin = { id: "sentlab-myst:plugin", autoStart: true, activate };
  (globalThis._JUPYTERLAB ??= {})["sentlab-myst"] = {
    init: () => {},
    get: () => Promise.resolve(() => ({ __esModule: true, default: plugin })),
  };
})();

// Paper is white, and unfolds: a page prints as it looks in light mode, with all tables.
const page = document.documentElement;
let theme;
let folded = [];
addEventListener("beforeprint", () => {
  theme = page.dataset.theme;
  page.dataset.theme = "light";
  folded = [...document.querySelectorAll("details.below-input:not([open])")];
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => {
  page.dataset.theme = theme;
  for (const one of folded) one.open = false;
});

// A link into a folded block opens it.
const unfold = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const block = target && target.closest("details");
  if (!block || block.open) return;
  block.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", unfold);
addEventListener("DOMContentLoaded", unfold);

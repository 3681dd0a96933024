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

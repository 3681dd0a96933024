// Paper is white: a page that is read in dark mode prints as it looks in light mode.
const page = document.documentElement;
let theme;
addEventListener("beforeprint", () => {
  theme = page.dataset.theme;
  page.dataset.theme = "light";
});
addEventListener("afterprint", () => {
  page.dataset.theme = theme;
});

// Looks for what is wrong with any page of ours.
async () => {
  const faults = new Set(), all = (what) => [...document.querySelectorAll(what)], brief = (e) => e.outerHTML.slice(0, 100);
  const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  await frames();

  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    const wide = all("body *").filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest(".scroll,.pan,pre,nav"));
    faults.add(`it is ${root.scrollWidth} wide on a screen of ${root.clientWidth}: ${wide.slice(0, 3).map(brief)}`);
  }

  // What is below the screen is drawn when somebody scrolls there; a picture needs it now.
  all("details.task").forEach((d) => { d.style.contentVisibility = "visible"; });
  await frames();
  for (const e of all("header,section,h1,h2,svg,footer")) {
    const box = e.getBoundingClientRect();
    if (e.checkVisibility() && (box.width < 1 || box.height < 1)) faults.add(`nothing is drawn of ${brief(e)}`);
  }

  // Whoever cannot see the page hears what each control is for, and finds a heading.
  const label = (e) => (e.getAttribute("aria-label") || document.getElementById(e.getAttribute("aria-labelledby"))?.textContent ||
    e.labels?.[0]?.textContent || (e.matches("input,select,textarea") ? "" : e.textContent) || e.title || e.querySelector?.("title")?.textContent || "").trim();
  for (const e of all("a[href],button,input:not([type=hidden]),select,textarea,summary,[tabindex]:not([tabindex='-1']),iframe")) {
    if (e.checkVisibility() && !label(e)) faults.add(`it has no name: ${brief(e)}`);
  }
  for (const e of all("img:not([alt])")) faults.add(`it has no description: ${brief(e)}`);
  if (!root.lang) faults.add("the page does not say which language it is in");
  if (all("h1").length !== 1) faults.add(`the page has ${all("h1").length} headings of the first rank`);
  if (!document.title.trim()) faults.add("the page has no title");
  const ids = new Set();
  for (const e of all("[id]")) {
    if (ids.has(e.id)) faults.add(`two elements are called ${e.id}`);
    ids.add(e.id);
  }

  // Text must differ from what is behind it as WCAG 2 wants it: 4.5 to 1.
  const colour = (text) => text.match(/[\d.]+/g).map(Number);
  const mix = (top, below, share) => below.map((v, i) => top[i] * share + v * (1 - share));
  const light = (c) => c.reduce((sum, v, i) => sum + [0.2126, 0.7152, 0.0722][i] * ((v / 255 + 0.055) / 1.055) ** 2.4, 0.05);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = colour(getComputedStyle(e).backgroundColor);
      if (c[3] !== 0) return c.slice(0, 3);
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  };
  const kinds = new Set(), kind = (e) => e === document.body ? "" : `${kind(e.parentElement)} ${e.localName} ${e.getAttribute("class")}`;
  for (const e of all("body *:not(title,script)")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || kinds.has(kind(e)) || !e.checkVisibility()) continue;
    kinds.add(kind(e));
    const box = e.closest(".n") && e.parentElement.querySelector("rect"), style = getComputedStyle(e);
    let share = 1, ground = behind(e);
    for (let up = e; up; up = up.parentElement) share *= getComputedStyle(up).opacity;
    if (box) ground = mix(colour(getComputedStyle(box).fill), ground, getComputedStyle(box).opacity);
    const ink = mix(colour(e.closest("svg") ? style.fill : style.color), ground, share), [a, b] = [light(ink), light(ground)];
    const contrast = Math.max(a, b) / Math.min(a, b);
    if (contrast < 4.5) faults.add(`a contrast of ${contrast.toFixed(1)} only: ${brief(e)}`);
  }

  // In a box of the graph no text runs into another one.
  for (const more of all("svg.graph .more")) {
    const facts = more.previousElementSibling;
    if (more.checkVisibility() && facts.getBoundingClientRect().right > more.getBoundingClientRect().left) faults.add(`${more.textContent} is written over ${facts.textContent}`);
  }
  return { Faults: [...faults].slice(0, 20), Width: root.clientWidth, Height: root.scrollHeight };
}

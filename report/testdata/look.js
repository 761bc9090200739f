async (unfold) => {
  const faults = new Set(), all = (what) => [...document.querySelectorAll(what)], brief = (e) => e.outerHTML.slice(0, 80);
  const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  if (unfold) all("details").forEach((d) => { d.open = true; });
  await frames();

  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    const wide = all("body *").filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest(".scroll,.pan,pre"));
    faults.add(`it is ${root.scrollWidth} wide on a screen of ${root.clientWidth}: ${wide.slice(0, 3).map(brief)}`);
  }

  // What is below the screen is drawn when somebody scrolls there; a picture needs it now.
  all("details.task").forEach((d) => { d.style.contentVisibility = "visible"; });
  await frames();
  for (const e of all("header,section,h1,h2,svg,footer")) {
    const box = e.getBoundingClientRect();
    if (e.checkVisibility() && (box.width < 1 || box.height < 1)) faults.add(`nothing is drawn of ${brief(e)}`);
  }
  const whole = document.querySelector(".pan svg"), get = (name) => whole.getAttribute(name);
  if (unfold && whole && get("viewBox") === `0 0 ${get("width")} ${get("height")}`) faults.add("the script did not move the whole graph");

  // Every command and every text that is seen can be copied.
  for (const e of all(".steps code, pre")) if (e.checkVisibility() && !e.dataset.copy) faults.add(`it cannot be copied: ${brief(e)}`);
  const copy = document.querySelector("button.copy");
  if (copy) {
    copy.click();
    for (let i = 0; i < 100 && copy.textContent !== "copied"; i++) await frames();
    if (copy.textContent !== "copied") faults.add("nothing was copied");
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
    return [255, 255, 255];
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

  // The page is all there is.
  for (const e of performance.getEntriesByType("resource")) faults.add(`it asks for ${e.name}`);
  return { Faults: [...faults].slice(0, 20), Width: root.clientWidth, Height: root.scrollHeight };
}

"use strict";
(() => {
  // Commands and texts can be copied. What is folded gets its button when it is unfolded.
  const write = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  const copyable = (e) => {
    if (e.dataset.copy) return;
    e.dataset.copy = "yes";
    const button = document.createElement("button");
    button.type = "button";
    button.className = e.localName === "pre" ? "copy text" : "copy";
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      await write(e.textContent);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 2000);
    });
    if (e.localName === "pre") e.before(button); else e.after(" ", button);
  };
  const unfolded = (box) => { for (const e of box.querySelectorAll(".steps code, pre")) if (e.checkVisibility()) copyable(e); };
  document.addEventListener("toggle", (e) => { if (e.target.open) unfolded(e.target); }, true);
  unfolded(document);
  // Links to a task open what tells about it.
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const near = target && target.closest("details");
    for (let box = near; box; box = box.parentElement.closest("details")) box.open = true;
    if (near) near.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
})();

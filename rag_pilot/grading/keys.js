// Which key presses and clicks belong to the form. Decides nothing else: Python answers every message and redraws.
const SCROLLS = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "]);

function render({ model, el }) {
  const sends = new Set(model.get("sent")); // keys that reach Python; a button sends its own whatever it is
  const visits = model.get("visits"); // key -> name of the field that it leads to
  const view = Math.random().toString(36).slice(2);
  const open = new Set(); // ids of messages that Python has not answered
  const scrolled = new Map(); // how far the boxes that outlive a drawing were read
  let sent = 0, blocking = null, timer = 0, first = true, gone = false, drawn = 0;

  const root = () => el.closest(".rp-form");
  const find = (selector) => root()?.querySelector(selector);
  const inside = (event) => event.target instanceof Element && root()?.contains(event.target);
  const isField = (target) => target.matches("textarea, input:not([type=checkbox])");
  const focus = () => root()?.focus({ preventScroll: true });

  function send(key) { // a second press on the same screen is dropped by Python
    const id = `${view}-${++sent}`;
    const fields = {};
    for (const f of root().querySelectorAll("[name]")) fields[f.name] = f.type === "checkbox" ? f.checked : f.value;
    open.add(id);
    timer ||= setTimeout(() => { // the notice, and the page usable again so that a note can be copied
      el.textContent = model.get("notice");
      el.scrollIntoView({ block: "nearest" });
      if (find(".rp-page")) find(".rp-page").inert = false;
    }, 2000);
    if (key !== "fields") {
      blocking = id;
      for (const box of root().querySelectorAll("[data-keep]")) scrolled.set(box.dataset.keep, box.scrollTop);
      if (!first) focus();
      if (find(".rp-page")) find(".rp-page").inert = true;
    }
    model.send({ id, key, screen: Number(find("[data-screen]")?.dataset.screen ?? -1), fields });
  }

  function onDone({ done }) {
    if (!open.delete(done)) return;
    if (!open.size) {
      clearTimeout(timer);
      timer = 0;
      el.textContent = "";
    }
    if (done !== blocking) return;
    blocking = null;
    drawn = performance.now();
    if (find(".rp-page")) find(".rp-page").inert = false;
    for (const box of root().querySelectorAll("[data-keep]")) {
      const mark = "source" in box.dataset && box.querySelector("mark");
      box.scrollTop = scrolled.get(box.dataset.keep) ?? (mark ? mark.offsetTop - box.clientHeight / 3 : 0);
    }
    find(".rp-status[role=alert]")?.scrollIntoView({ block: "nearest" });
    if (!first) return;
    first = false;
    root().scrollIntoView({ block: "nearest" });
    if (!document.activeElement?.closest("input, textarea, [contenteditable=true]")) focus();
  }

  function visit(field) { // to a field; or, into one that takes them, the words selected in the document
    const words = getSelection();
    const chosen = !words.isCollapsed && find("[data-source]")?.contains(words.getRangeAt(0).commonAncestorContainer);
    if (chosen && field?.hasAttribute("data-takes")) {
      field.value = words.toString().trim();
      words.removeAllRanges();
      send("fields");
    } else field?.focus();
  }

  function tick() {
    const clock = find("[data-seconds]");
    if (clock) clock.textContent = Math.round(Number(clock.dataset.seconds) + (performance.now() - drawn) / 1000);
  }

  function act(key, clicked) {
    const help = find(".rp-help");
    if (key === "?" && help) help.hidden = !help.hidden;
    else if (key === "Escape" && help) help.hidden = true;
    else if (key in visits) visit(find(`[name="${visits[key]}"]`));
    else if (clicked || sends.has(key)) send(key);
  }

  function onKey(event) {
    if (!inside(event) || event.isComposing) return;
    const { key, code, shiftKey, target } = event;
    const chord = event.ctrlKey || event.metaKey || event.altKey;
    const runs = key === "Enter" && (chord || (shiftKey && !isField(target))); // the cell, in JupyterLab
    const submits = runs ? sends.has("Enter") && "Enter" : key === "Enter" && isField(target) && target.dataset.enter;
    if (submits) { // running the cell would draw the form anew without what is not saved yet
      event.stopImmediatePropagation();
      event.preventDefault();
      if (!event.repeat) send(submits);
      return;
    }
    if (chord || runs || key === "Tab") return;
    event.stopImmediatePropagation(); // JupyterLab never hears of it
    if (isField(target)) {
      if (key === "Escape") focus();
      return;
    }
    if (SCROLLS.has(key) || (key === "Enter" && target.closest("a, button, summary"))) return; // the element's own
    event.preventDefault();
    const digit = !shiftKey && /^Digit[0-9]$/.test(code) ? code.slice(5) : null; // AZERTY needs Shift for digits
    if (!event.repeat) act(digit ?? (key.length === 1 ? key.toLowerCase() : key));
  }

  function onClick(event) {
    if (!inside(event)) return;
    const button = event.target.closest("[data-key]");
    if (button && event.detail < 2) act(button.dataset.key, true); // the second click of a double click is not a choice
    if (button && button.dataset.key in visits) return; // its field has the focus now
    if (button || !event.target.closest("a, input, textarea, label, summary")) focus();
  }

  function onPress(event) { // a button that takes the selected words must not clear the selection
    if (inside(event) && event.target.closest("[data-key]")?.dataset.key in visits) event.preventDefault();
  }

  const onChange = (event) => inside(event) && event.target.name && send("fields");

  function start() {
    if (gone) return;
    if (!root()) return void setTimeout(start, 50);
    root().tabIndex = -1;
    send("ready");
  }

  const listeners = { keydown: onKey, mousedown: onPress, click: onClick, change: onChange };
  for (const [name, listener] of Object.entries(listeners)) window.addEventListener(name, listener, true);
  model.on("msg:custom", onDone);
  el.setAttribute("role", "alert");
  el.classList.add("rp-notice");
  const clock = setInterval(tick, 1000);
  start();
  return () => {
    gone = true;
    clearTimeout(timer);
    clearInterval(clock);
    model.off("msg:custom", onDone);
    for (const [name, listener] of Object.entries(listeners)) window.removeEventListener(name, listener, true);
  };
}

export default { render };

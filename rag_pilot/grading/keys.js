// Which key presses and clicks belong to the form. Decides nothing else: Python answers every message and redraws.
const SENT = new Set([..."123456789us", "ArrowLeft", "ArrowRight"]);
const SCROLLS = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "]);

function render({ model, el }) {
  const view = Math.random().toString(36).slice(2);
  const open = new Set(); // ids of messages that Python has not answered
  let sent = 0, blocking = null, timer = 0, first = true, gone = false;

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
    if (find(".rp-page")) find(".rp-page").inert = false;
    find(".rp-status[role=alert]")?.scrollIntoView({ block: "nearest" });
    if (!first) return;
    first = false;
    root().scrollIntoView({ block: "nearest" });
    if (!document.activeElement?.closest("input, textarea, [contenteditable=true]")) focus();
  }

  function act(key) {
    const help = find(".rp-help");
    if (key === "?" && help) help.hidden = !help.hidden;
    else if (key === "Escape" && help) help.hidden = true;
    else if (key === "n") find("[name=note]")?.focus();
    else if (SENT.has(key)) send(key);
  }

  function onKey(event) {
    if (!inside(event) || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const { key, code, shiftKey, target } = event;
    if (key === "Tab" || (key === "Enter" && shiftKey && !isField(target))) return; // Shift+Enter runs the cell
    event.stopImmediatePropagation(); // JupyterLab never hears of it
    if (isField(target)) {
      if (key === "Escape") focus();
      return;
    }
    if (SCROLLS.has(key) || (key === "Enter" && target.closest("a, button, summary"))) return; // the element's own
    event.preventDefault();
    const digit = !shiftKey && /^Digit[1-9]$/.test(code) ? code.slice(5) : null; // AZERTY needs Shift for digits
    if (!event.repeat) act(digit ?? (key.length === 1 ? key.toLowerCase() : key));
  }

  function onClick(event) {
    if (!inside(event)) return;
    const button = event.target.closest("[data-key]");
    if (button && event.detail < 2) act(button.dataset.key); // the second click of a double click is not a choice
    if (button || !event.target.closest("a, input, textarea, label, summary")) focus();
  }

  const onChange = (event) => inside(event) && event.target.name && send("fields");

  function start() {
    if (gone) return;
    if (!root()) return void setTimeout(start, 50);
    root().tabIndex = -1;
    send("ready");
  }

  const listeners = { keydown: onKey, click: onClick, change: onChange };
  for (const [name, listener] of Object.entries(listeners)) window.addEventListener(name, listener, true);
  model.on("msg:custom", onDone);
  el.setAttribute("role", "alert");
  el.classList.add("rp-notice");
  start();
  return () => {
    gone = true;
    clearTimeout(timer);
    model.off("msg:custom", onDone);
    for (const [name, listener] of Object.entries(listeners)) window.removeEventListener(name, listener, true);
  };
}

export default { render };

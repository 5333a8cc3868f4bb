// Small questions to the reader: confirm, or enter a text.

import { byId } from "./dom.js";
import { say } from "./i18n.js";

/** Whether the reader confirms. */
export async function confirm(titleKey, textKey, params, actionKey) {
  byId("prompt-field").hidden = true;
  byId("prompt-input").required = false;
  say(byId("prompt-text"), textKey, params).hidden = false;
  return (await show(titleKey, actionKey, "button-danger")) === "yes";
}

/** The text that the reader enters; null when cancelled. */
export async function askText(titleKey, labelKey, value, actionKey) {
  const input = byId("prompt-input");
  byId("prompt-text").hidden = true;
  byId("prompt-field").hidden = false;
  say(byId("prompt-label"), labelKey);
  input.required = true;
  input.value = value;
  const answer = show(titleKey, actionKey, "button-primary");
  input.select();
  return (await answer) === "yes" ? input.value.trim() || null : null;
}

function show(titleKey, actionKey, style) {
  const dialog = byId("prompt");
  say(byId("prompt-title"), titleKey);
  say(byId("prompt-yes"), actionKey).className = `button ${style}`;
  dialog.returnValue = "";
  byId("prompt-no").onclick = () => dialog.close();
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
  });
}

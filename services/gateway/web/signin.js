// Signing in with a key.

import { byId } from "./dom.js";
import { say } from "./i18n.js";
import { problemText } from "./problems.js";

const UNAUTHORISED = 401;

/** A key given in the address, which is removed from there; null without one. */
export function takeKeyFromAddress() {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (key !== null) history.replaceState(null, "", location.pathname + location.search);
  return key;
}

/** Show the form until a key is accepted; gives who that is. */
export function askForKey(api) {
  const [screen, form, input, error] = ["sign-in", "sign-in-form", "key", "sign-in-error"].map(byId);
  screen.hidden = false;
  input.focus();
  return new Promise((resolve) => {
    form.onsubmit = async (event) => {
      event.preventDefault();
      error.hidden = true;
      try {
        const me = await api.signIn(input.value.trim());
        input.value = "";
        screen.hidden = true;
        resolve(me);
      } catch ({ problem }) {
        const [key, params] = problem.status === UNAUTHORISED ? ["keyRefused"] : problemText(problem);
        say(error, key, params).hidden = false;
        input.select();
      }
    };
  });
}

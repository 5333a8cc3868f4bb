// Wires the page together.

import { Api } from "./api.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { byId, el } from "./dom.js";
import { say, switchLanguage, tellAll } from "./i18n.js";
import { KbChooser, allKbs, rememberKbs } from "./kbs.js";
import { Library } from "./library.js";
import { ModelSettings } from "./models.js";
import { PassageReader } from "./passage.js";
import { notice, problemText } from "./problems.js";
import { Follower } from "./scroll.js";
import { SessionList } from "./sessions.js";
import { askForKey, takeKeyFromAddress } from "./signin.js";

const UNAUTHORISED = 401;
const NOT_FOUND = 404;
const SETTINGS = "#settings";

const api = new Api();
const chooser = new KbChooser(byId("kbs"), byId("kbs-hint"));
const passage = new PassageReader(api);
const follower = new Follower(byId("thread"), byId("turns"), byId("to-latest"));
const library = new Library(api, readKbs);
const models = new ModelSettings(api, () => markSession(conversation.sessionId));
const sessions = new SessionList(api, { open: openSession, removed: sessionRemoved, problem: showProblem });
const composer = new Composer({ onAsk: ask, onStop: stop });
const conversation = new Conversation(api, {
  passage,
  announce: (key, params) => say(byId("status"), key, params),
  add: addTurn,
  clear: clearTurns,
  toEnd: follower.toEnd,
  setRunning: (isRunning) => composer.setRunning(isRunning),
  setScope: (kbIds) => (kbIds === null ? chooser.open() : chooser.fix(kbIds)),
  scope: () => chooser.kbIds,
  refuse(question, problem) {
    composer.restore(question);
    showProblem({ problem });
  },
  openSession: markSession,
  sessionsChanged: () => sessions.refresh(),
});
let me = null;
let isStarted = false;

function addTurn(turn) {
  byId("welcome").hidden = true;
  byId("turns").append(turn);
}

function clearTurns() {
  byId("turns").replaceChildren();
  byId("welcome").hidden = false;
  clearProblem();
}

function ask(question) {
  clearProblem();
  conversation.ask(question);
}

function stop() {
  conversation.stop().catch((error) => {
    composer.allowStop();
    showProblem(error);
  });
}

/** Tell a problem above the question box; gives nothing, so that it can stand in a `catch`. */
function showProblem({ problem }) {
  // Without identity the sign-in form says what is needed.
  if (problem.status === UNAUTHORISED) return;
  byId("problem").replaceChildren(notice("error", ...problemText(problem)));
}

function clearProblem() {
  byId("problem").replaceChildren();
}

function markSession(sessionId) {
  sessions.mark(sessionId);
  const hash = sessionId ? `#session=${sessionId}` : "";
  history.replaceState(null, "", location.pathname + location.search + hash);
}

async function openSession(sessionId) {
  closeDrawer();
  markSession(sessionId);
  try {
    await conversation.open(sessionId);
  } catch (error) {
    if (!error.problem) throw error;
    if (error.status === NOT_FOUND) startNew();
    if (error.status === NOT_FOUND) byId("problem").replaceChildren(notice("warn", "errorNotFound"));
    else showProblem(error);
  }
}

function sessionRemoved(sessionId) {
  if (sessionId === conversation.sessionId) startNew();
}

function startNew() {
  closeDrawer();
  markSession(null);
  conversation.startNew();
  composer.focus();
}

async function readKbs() {
  const earlier = new Set(allKbs().map((kb) => kb.kb_id));
  const kbs = await api.kbs().catch(showProblem);
  if (!kbs) return;
  rememberKbs(kbs);
  if (chooser.isFixed) return;
  chooser.refresh(earlier);
  byId("welcome-kbs").replaceChildren(...kbs.map(kbCard));
  byId("no-kbs").hidden = kbs.length > 0;
}

function kbCard({ title, description, documents }) {
  return el(
    "li",
    { class: "kb-card" },
    el("strong", { dir: "auto" }, title),
    description && el("span", { class: "muted", dir: "auto" }, description),
    say(el("span", { class: "muted" }), "documentCount", { n: documents }),
  );
}

const drawer = { toggle: byId("drawer-toggle"), shade: byId("drawer-shade") };

function setDrawer(isOpen) {
  document.body.classList.toggle("has-drawer", isOpen);
  drawer.toggle.setAttribute("aria-expanded", String(isOpen));
  if (isOpen) byId("new-conversation").focus();
}

function closeDrawer() {
  if (document.body.classList.contains("has-drawer")) setDrawer(false);
}

function listen() {
  byId("language").addEventListener("click", switchLanguage);
  byId("sign-out").addEventListener("click", signOut);
  byId("manage").addEventListener("click", () => library.open(me));
  byId("models-open").addEventListener("click", () => (location.hash = SETTINGS));
  byId("new-conversation").addEventListener("click", startNew);
  drawer.toggle.addEventListener("click", () => setDrawer(!document.body.classList.contains("has-drawer")));
  drawer.shade.addEventListener("click", closeDrawer);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !document.body.classList.contains("has-drawer")) return;
    closeDrawer();
    drawer.toggle.focus();
  });
  window.addEventListener("hashchange", () => {
    showSettings();
    const sessionId = sessionInAddress();
    if (sessionId && sessionId !== conversation.sessionId) openSession(sessionId);
  });
}

/** The settings have an address, for those who may change them; going back closes them. */
function showSettings() {
  const isWanted = location.hash === SETTINGS && me?.role === "administrator";
  if (isWanted && !models.isOpen) models.open();
  if (!isWanted && models.isOpen) models.close();
}

const sessionInAddress = () => new URLSearchParams(location.hash.slice(1)).get("session");

async function signOut() {
  await api.signOut().catch(showProblem);
  sessionStorage.clear();
  // A fresh page holds nothing of the last user.
  location.replace(location.pathname);
}

/** Who we are: by cookie, by the key in the address, or by the form. */
async function identify() {
  const key = takeKeyFromAddress();
  const attempts = key === null ? [() => api.me()] : [() => api.signIn(key), () => api.me()];
  for (const attempt of attempts) {
    try {
      return await attempt();
    } catch (error) {
      if (error.status !== UNAUTHORISED) throw error;
    }
  }
  return askForKey(api);
}

async function start() {
  listen();
  tellAll();
  try {
    me = await identify();
  } catch (error) {
    if (!error.problem) throw error;
    // Nothing works without the server; a reload tries again.
    byId("app").hidden = false;
    showProblem(error);
    return;
  }
  byId("user").textContent = me.user;
  byId("models-open").hidden = me.role !== "administrator";
  byId("app").hidden = false;
  await readKbs();
  chooser.open();
  isStarted = true;
  sessions.refresh();
  composer.focus();
  const sessionId = sessionInAddress();
  if (sessionId) await openSession(sessionId);
  showSettings();
  await conversation.resume();
}

api.onSignedOut = () => {
  if (!isStarted) return;
  isStarted = false;
  askForKey(api).then((again) => {
    // Somebody else's key: nothing of the last user may stay on the page.
    if (again.user !== me.user) location.replace(location.pathname);
    else location.reload();
  });
};

start();

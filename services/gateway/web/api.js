// The gateway's HTTP interface. Errors are RFC 9457 problems, thrown as ProblemError.

const NETWORK = { type: "network", status: 0 };

/** An answer of the server that is no success, or no answer at all (`status` 0). */
export class ProblemError extends Error {
  constructor(problem) {
    super(problem.detail || problem.title || problem.type);
    this.problem = problem;
    this.status = problem.status;
  }
}

export class Api {
  #csrfToken = null;
  /** Called when the server no longer knows who we are. */
  onSignedOut = () => {};

  async me() {
    return this.#remember(await this.#json("GET", "/v1/me"));
  }

  async signIn(key) {
    return this.#remember(await this.#json("POST", "/v1/sign-in", { key }));
  }

  signOut = () => this.#json("POST", "/v1/sign-out");
  kbs = async () => (await this.#json("GET", "/v1/kbs")).kbs;
  createKb = (kb) => this.#json("POST", "/v1/kbs", kb);
  contexts = (kbId) => this.#json("GET", `/v1/kbs/${kbId}/contexts`);
  summarise = (kbId) => this.#json("POST", `/v1/kbs/${kbId}/contexts`);
  documents = (kbId, cursor) => this.#json("GET", `/v1/kbs/${kbId}/documents?limit=100${cursorQuery(cursor)}`);
  document = (kbId, docId) => this.#json("GET", `/v1/kbs/${kbId}/documents/${docId}`);
  removeDocument = (kbId, docId) => this.#json("DELETE", `/v1/kbs/${kbId}/documents/${docId}`);
  page = (kbId, docId, number) => this.#json("GET", `/v1/kbs/${kbId}/documents/${docId}/pages/${number}`);
  text = (kbId, docId) => this.#json("GET", `/v1/kbs/${kbId}/documents/${docId}/text`);
  sessions = (cursor) => this.#json("GET", `/v1/sessions?limit=50${cursorQuery(cursor)}`);
  session = (id, cursor) => this.#json("GET", `/v1/sessions/${id}?limit=50${cursorQuery(cursor)}`);
  renameSession = (id, title) => this.#json("PATCH", `/v1/sessions/${id}`, { title });
  deleteSession = (id) => this.#json("DELETE", `/v1/sessions/${id}`);
  question = (id) => this.#json("GET", `/v1/questions/${id}`);
  stop = (id) => this.#json("POST", `/v1/questions/${id}/stop`);

  modelSettings = () => this.#json("GET", "/v1/settings/model");
  putProvider = (name, provider) => this.#json("PUT", providerPath(name), provider);
  removeProvider = (name) => this.#json("DELETE", providerPath(name));
  checkProvider = (name) => this.#json("POST", `${providerPath(name)}/check`);

  upload(kbId, file) {
    const form = new FormData();
    form.append("file", file);
    return this.#json("POST", `/v1/kbs/${kbId}/documents`, form);
  }

  /** Ask; the response is the open event stream. The same key never starts a second run. */
  ask(body, key, signal) {
    return this.request("POST", "/v1/questions", { body, signal, headers: { "Idempotency-Key": key } });
  }

  /** The event stream of a question, after frame `lastId` (0: from the start). */
  events(id, lastId, signal) {
    const headers = lastId > 0 ? { "Last-Event-ID": String(lastId) } : {};
    return this.request("GET", `/v1/questions/${id}/events`, { headers, signal });
  }

  /** A successful response; raises ProblemError, or AbortError when `signal` fires. */
  async request(method, path, { body, headers = {}, signal } = {}) {
    const isForm = body instanceof FormData;
    const response = await fetch(path, {
      method,
      signal,
      credentials: "same-origin",
      headers: { ...this.#changeHeaders(method, body, isForm), ...headers },
      body: body === undefined || isForm ? body : JSON.stringify(body),
    }).catch((error) => {
      throw error.name === "AbortError" ? error : new ProblemError(NETWORK);
    });
    if (response.ok) return response;
    if (response.status === 401 && path !== "/v1/sign-in") this.onSignedOut();
    throw new ProblemError(await readProblem(response));
  }

  async #json(method, path, body) {
    const response = await this.request(method, path, { body });
    if (response.status === 204) return null;
    return response.json().catch(() => {
      throw new ProblemError(NETWORK);
    });
  }

  #changeHeaders(method, body, isForm) {
    if (method === "GET") return {};
    const headers = this.#csrfToken ? { "X-CSRF-Token": this.#csrfToken } : {};
    // A form's own content type carries its boundary: the browser sets it.
    return body === undefined || isForm ? headers : { ...headers, "Content-Type": "application/json" };
  }

  #remember(me) {
    this.#csrfToken = me.csrf_token;
    return me;
  }
}

const providerPath = (name) => `/v1/settings/model/providers/${encodeURIComponent(name)}`;

const cursorQuery = (cursor) => (cursor ? `&cursor=${encodeURIComponent(cursor)}` : "");

async function readProblem(response) {
  const problem = await response.json().catch(() => ({}));
  const retryAfter = Number(response.headers.get("Retry-After")) || null;
  return { type: "unknown", ...problem, status: response.status, retry_after: problem.retry_after ?? retryAfter };
}

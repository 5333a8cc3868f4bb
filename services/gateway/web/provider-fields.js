// The fields of a model provider: how each is shown, read and sent.
//
// `kind` is text, number, choice or switch. Each field has a text `field_<name>` and a help text `help_<name>`. What was
// typed for a number and is none goes out as it is: the server says what is wrong with it.

export const GROUPS = [
  {
    title: "groupServer",
    fields: [
      { name: "address", kind: "text", mode: "url", placeholder: "https://host/v1" },
      { name: "protocol", kind: "choice", options: ["responses", "chat"] },
      { name: "profile", kind: "choice", options: ["compatible", "openai", "deepseek", "bailian"] },
    ],
  },
  {
    title: "groupModels",
    fields: [
      { name: "model", kind: "text" },
      { name: "auto_query_model", kind: "text" },
      { name: "fallback_model", kind: "text" },
    ],
  },
  {
    title: "groupPurposes",
    fields: ["enabled", "use_for_ask", "use_for_rewrite", "use_for_contextual"].map((name) => ({ name, kind: "switch" })),
  },
  {
    title: "groupAnswers",
    isFolded: true,
    fields: [
      { name: "form", kind: "choice", options: ["inline", "structured"] },
      { name: "sends_temperature", kind: "switch" },
      { name: "temperature", kind: "number" },
      { name: "context_tokens", kind: "number" },
      { name: "max_output_tokens", kind: "number" },
    ],
  },
  {
    title: "groupLimits",
    isFolded: true,
    fields: [
      { name: "connect_timeout", kind: "number" },
      { name: "first_token_timeout", kind: "number" },
      { name: "idle_timeout", kind: "number" },
      { name: "total_timeout", kind: "number" },
      { name: "max_retries", kind: "number" },
    ],
  },
];

const FIELDS = GROUPS.flatMap((group) => group.fields);

/** What a form sends; a number that is left empty takes its default. */
export function valuesOf(form) {
  const values = {};
  for (const { name, kind } of FIELDS) {
    const control = form.elements[name];
    if (kind === "switch") values[name] = control.checked;
    else if (kind !== "number") values[name] = control.value.trim();
    else if (control.value.trim()) values[name] = numberOf(control.value.trim());
  }
  return values;
}

const numberOf = (typed) => (Number.isFinite(Number(typed)) ? Number(typed) : typed);
